"""Datasets say which column is the expected answer. Those from before were compared by `expected`
only, so no other column is guessed for them: what is run on them again is judged as before."""

from django.db import migrations, models


def fill(apps, schema_editor):
    Dataset = apps.get_model("runs", "Dataset")
    columns = Dataset.objects.values_list("pk", "columns")
    named = [pk for pk, names in columns if "expected" in names]
    for start in range(0, len(named), 500):  # SQLite takes so many parameters in one statement
        part = named[start : start + 500]
        Dataset.objects.filter(pk__in=part).update(expected_column="expected")


class Migration(migrations.Migration):

    dependencies = [
        ("runs", "0015_run_chosen"),
    ]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="expected_column",
            field=models.CharField(
                blank=True,
                help_text="The column that scorers compare answers with; empty: none.",
                max_length=100,
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
