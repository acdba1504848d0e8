"""Runs that named no preset keep the numbers they were launched with.

No preset meant `balanced`, and now means that the endpoint's limits hold. `two_level` did nothing
for the order of a selection, and two fields of candidates did nothing without it; those runs keep
their order, so that they can be replayed. Configurations are templates for runs to come and follow
the new rules.
"""

from django.db import migrations

OF_CANDIDATES = {
    "max_concurrent_genomes": "max_concurrent_candidates",
    "genome_batch_size": "candidate_batch_size",
}


def frozen(kind, limits):
    """The same limits, by names and defaults that are read alike before and after."""
    kept = {OF_CANDIDATES.get(name, name): value for name, value in (limits or {}).items()}
    if kept.get("max_concurrent", 0) is None:  # it was as good as nothing
        del kept["max_concurrent"]
    each = kept.pop("max_concurrent_requests", None)
    if isinstance(each, int):
        kept.setdefault("max_concurrent", each * (kept.get("max_concurrent_candidates") or 1))
    kept["preset"] = kept.get("preset") or "balanced"
    kept.pop("candidate_batch_size", None)  # nobody read it
    if kept.get("schedule") == "two_level" and kind != "select":
        return {"max_concurrent_candidates": None, **kept, "candidate_batch_size": None}
    if kept.get("schedule") == "two_level" or "max_concurrent_candidates" in kept:
        kept["schedule"] = "work_conserving"
    return kept


def freeze(apps, schema_editor):
    Run = apps.get_model("runs", "Run")
    for pk, kind, document in Run.objects.values_list("pk", "kind", "document").iterator():
        mended = {**document, "limits": frozen(kind, document.get("limits"))}
        Run.objects.filter(pk=pk).update(document=mended)


class Migration(migrations.Migration):

    dependencies = [
        ("runs", "0023_made_cases"),
    ]

    operations = [
        migrations.RunPython(freeze, migrations.RunPython.noop),
    ]
