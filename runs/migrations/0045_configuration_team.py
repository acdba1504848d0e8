import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("runs", "0044_deleted_configurations"),
    ]

    operations = [
        migrations.AddField(
            model_name='configuration',
            name='team',
            field=models.ForeignKey(blank=True, editable=False, help_text='Whose members may see and launch it, too.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.team'),
        ),
    ]
