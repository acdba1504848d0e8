"""Stored configurations with plain line ends, as every door writes them now.

Browsers sent CRLF from their text boxes, so that a prompt from a form and the same prompt from a
file were two prompts to the models and to the cache. Configurations are templates for runs to come:
they are mended. The documents of runs, their candidates, the versions of datasets and cached replies
stay as they are: they say what was sent, and their keys and digests were made of it.
"""

from django.db import migrations
from django.db.models import F


def plain(value):
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def mend(apps, schema_editor):
    Configuration = apps.get_model("runs", "Configuration")
    for pk, document in Configuration.objects.values_list("pk", "document"):
        mended = plain(document)
        if mended != document:  # another document is another version, as when a person changes it
            Configuration.objects.filter(pk=pk).update(document=mended, version=F("version") + 1)


class Migration(migrations.Migration):

    dependencies = [
        ("runs", "0016_dataset_expected_column"),
    ]

    operations = [
        migrations.RunPython(mend, migrations.RunPython.noop),
    ]
