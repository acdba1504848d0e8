"""A promptfoo file through the doors: page and command."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from runs.models import Configuration, Dataset, Run
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from tests.harness.factories import client_of
from tests.runs.conftest import said_by, words_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoint")]

TEXT = """description: capitals
prompts: ["The capital of {{country}}?"]
providers: ["openai:sim-small"]
defaultTest: {assert: [{type: javascript, value: "</pre><script>alert(1)</script>"}]}
tests:
- {vars: {country: France}, assert: [{type: icontains, value: Paris}]}
- {vars: {country: Spain}, assert: [{type: icontains, value: Madrid}]}
"""


def test_the_page_shows_what_it_understood_and_stores_what_can_run_and_nothing_else(alice):
    client, address = client_of(alice), reverse("promptfoo_import")
    for text in ("prompts: [x]", "a: [", ""):
        assert client.post(address, {"text": text, "step": "import"}).status_code == 400
    binary = SimpleUploadedFile("a.yaml", b"\xff\xfe\x00")
    refused = client.post(address, {"file": binary, "step": "import"})
    assert "This is no text in UTF-8" in words_of(refused)
    assert not Configuration.objects.filter(owner=alice).exists()
    shown = words_of(client.post(address, {"text": TEXT, "step": "look"}))
    assert "2 rows, 1 prompt, 1 model, 1 scorer. Expected answer: column expected." in shown
    assert ("defaultTest.assert.0" in shown, "<script>alert" in shown) == (True, False)
    assert not Dataset.objects.exists()
    file = SimpleUploadedFile("promptfooconfig.yaml", TEXT.encode())
    done = client.post(address, {"file": file, "step": "import"})
    stored = Configuration.objects.get(name="capitals")
    assert done["Location"] == f"/runs/new/?configuration={stored.pk}"
    assert client.get(done["Location"]).context["filled"].dataset == "capitals"
    dataset = Dataset.objects.get(name="capitals")
    assert (dataset.rows, dataset.owner, dataset.origin) == (2, alice, "a promptfoo file")
    assert (create_run(alice, stored.as_document).planned, Run.objects.count()) == (2, 1)


def test_the_names_of_others_are_not_taken(alice, bob):
    client_of(bob).post(reverse("promptfoo_import"), {"text": TEXT, "step": "import"})
    refused = client_of(alice).post(reverse("promptfoo_import"), {"text": TEXT, "step": "import"})
    assert "of somebody else already" in words_of(refused)
    own = {"text": TEXT, "step": "import", "name": "mine"}
    client_of(alice).post(reverse("promptfoo_import"), own)
    owners = dict(Dataset.objects.values_list("name", "owner__username"))
    assert owners == {"capitals": "bob", "mine": "alice"}
    save_configuration(bob, "free", Configuration.objects.get(name="mine").as_document)
    Configuration.objects.filter(name="free").update(owner=bob)
    taken = {**own, "name": "free"}
    assert client_of(alice).post(reverse("promptfoo_import"), taken).status_code == 400
    assert not Dataset.objects.filter(name="free").exists()


def test_the_command_tells_what_it_did_not_understand(alice, tmp_path):
    file = tmp_path / "promptfooconfig.yaml"
    file.write_text(TEXT)
    told = said_by("import_promptfoo", file, dry_run=True, user="alice")
    assert told.startswith("capitals: 2 rows; nothing was stored.")
    assert not Dataset.objects.exists()
    told = said_by("import_promptfoo", file, name="cities", user="alice")
    assert "cities, version 1, on cities v1: 2 rows." in told
    assert "defaultTest.assert.0: 'javascript' has no equal here" in told
    file.write_text("prompts: []")
    with pytest.raises(CommandError, match="nothing here that can be used"):
        call_command("import_promptfoo", file, user="alice")


def test_rest_imports_it_and_tells_what_was_not_understood(asker):
    looked = asker.post("/promptfoo", {"text": TEXT, "dry_run": True})
    assert (looked.status_code, looked.json()["rows"], looked.json()["version"]) == (200, 2, None)
    assert not Dataset.objects.exists()
    done = asker.post("/promptfoo", {"text": TEXT, "name": "cities"})
    assert (done.status_code, done["Location"]) == (201, "/api/v1/configurations/cities")
    assert [note["path"] for note in done.json()["not_understood"]] == ["defaultTest.assert.0"]
    assert (done.json()["version"], done.json()["dataset_version"]) == (1, 1)
    assert Configuration.objects.get(name="cities").document["prompts"]
    refused = asker.post("/promptfoo", {"text": "prompts: []"})
    assert (refused.status_code, "nothing here that can be used" in refused.text) == (422, True)
