import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('runs', '0017_plain_line_ends'),
    ]

    operations = [
        migrations.AddField(
            model_name='dataset',
            name='archived',
            field=models.DateTimeField(blank=True, editable=False, help_text='Since then offered for no new run.', null=True),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='archived',
            field=models.DateTimeField(blank=True, editable=False, help_text='Since then offered for no new run.', null=True),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='updated_by',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
    ]
