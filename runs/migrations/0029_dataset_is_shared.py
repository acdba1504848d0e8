from typing import Any

from django.db import migrations, models


def keep_in_sight(apps: Any, schema_editor: Any) -> None:
    """Until now everybody saw every dataset. Their owners may stop sharing them."""
    apps.get_model("runs", "Dataset").objects.filter(is_hidden=False).update(is_shared=True)


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0028_known_devices'),
    ]

    operations = [
        migrations.AddField(
            model_name='dataset',
            name='is_shared',
            field=models.BooleanField(default=False, help_text='Everybody on this site may see it, in all its versions.'),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='is_hidden',
            field=models.BooleanField(default=False, editable=False, help_text='Made for runs or pasted into one: offered nowhere, seen by whoever may see one of its runs, and removed with the last of them. Pasted rows have an owner.'),
        ),
        migrations.RunPython(keep_in_sight, migrations.RunPython.noop),
    ]
