from django.db import migrations


def remember(apps, schema_editor):
    """Beside the reference, which is emptied when the run is removed."""
    gated = apps.get_model("runs", "Configuration").objects.exclude(baseline=None)
    for stored in gated.only("baseline_id", "gates").iterator():
        stored.gates = {**stored.gates, "baseline": stored.baseline_id}
        stored.save(update_fields=["gates"])


class Migration(migrations.Migration):
    dependencies = [("runs", "0046_removed_replies")]
    operations = [migrations.RunPython(remember, migrations.RunPython.noop, elidable=True)]
