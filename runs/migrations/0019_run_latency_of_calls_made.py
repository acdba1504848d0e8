from django.db import migrations


def count_calls_made(apps, schema_editor):
    """A run's latencies are those of the calls it made, as its samples have always counted them."""
    runs = apps.get_model("runs", "Run").objects.filter(cached__gt=0)
    samples = apps.get_model("runs", "RunSample").objects
    for run in runs.only("latency_bins").iterator(chunk_size=100):
        run.latency_bins = {}
        bins_of_seconds = samples.filter(run_id=run.pk).values_list("latency_bins", flat=True)
        for bins in bins_of_seconds.iterator(chunk_size=1000):
            for name, count in bins.items():
                run.latency_bins[name] = run.latency_bins.get(name, 0) + count
        run.save(update_fields=["latency_bins"])


class Migration(migrations.Migration):
    dependencies = [("runs", "0018_archived_and_updated_by")]

    operations = [migrations.RunPython(count_calls_made, migrations.RunPython.noop)]
