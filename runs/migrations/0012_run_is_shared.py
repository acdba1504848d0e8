from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0011_webhooks'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='is_shared',
            field=models.BooleanField(default=False, help_text='Everybody on this site may see it.'),
        ),
    ]
