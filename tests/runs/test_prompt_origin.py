"""A prompt that a run found becomes one of the library, and says where it was found."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.models import AuditEntry, Prompt, Run
from runs.services.people.sharing import share_prompt
from runs.services.prompts import save_prompt
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person, make_run
from tests.runs.evolution_parts import make_evolution

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    person = make_person("ada")
    make_endpoint()
    make_dataset(person, rows=10)
    return person


@pytest.fixture
def run(ada: User) -> Run:
    return make_evolution(ada)


def best_of(run: Run) -> Any:
    assert run.chosen is not None
    return run.candidates.get(position=run.chosen)


def save(person: User, run: Run, key: str, name: str, **changes: str) -> Any:
    words = run.candidates.get(key=key).document["prompt"]
    sent = {
        "prompt-0-name": name,
        "prompt-0-system": words["system"],
        "prompt-0-user": words["user"],
        "save": "1",
        **changes,
    }
    address = f"{reverse('prompt_new')}?run={run.pk}&candidate={key}"
    return client_of(person).post(address, sent, follow=True)


def test_the_best_is_saved_with_a_link_back(ada: User, run: Run) -> None:
    best = best_of(run)
    address = f"{reverse('prompt_new')}?run={run.pk}&candidate={best.key}"
    page = client_of(ada).get(address)
    assert page.context["prompt"].system == best.document["prompt"]["system"]
    assert run.get_absolute_url() in page.content.decode()
    shown = save(ada, run, best.key, "sums").content.decode()
    saved = Prompt.objects.get()
    assert (saved.run, saved.candidate, saved.owner) == (run, best.key, ada)
    assert "Where it was found" in shown
    assert run.get_absolute_url() in shown
    entry = AuditEntry.objects.filter(action="prompt.saved").get()
    assert f"run {run.pk}" in entry.detail


def test_a_known_name_gets_another_version_and_other_words_no_link(ada: User, run: Run) -> None:
    save_prompt(ada, "sums", {"system": "Old.", "user": "{{question}}"})
    save(ada, run, best_of(run).key, "sums")
    assert [one.version for one in Prompt.objects.order_by("version")] == [1, 2]
    save(ada, run, best_of(run).key, "other", **{"prompt-0-system": "I wrote this."})
    assert Prompt.objects.get(name="other").run is None


def test_a_stranger_neither_saves_nor_sees_where_it_was_found(ada: User, run: Run) -> None:
    eve, key = make_person("eve"), best_of(run).key
    address = f"{reverse('prompt_new')}?run={run.pk}&candidate={key}"
    assert client_of(eve).get(address).status_code == 404
    assert client_of(ada).get(address.replace(key, "absent")).status_code == 404
    save(ada, run, key, "sums")
    saved = Prompt.objects.get()
    share_prompt(saved, ada, is_shared=True)
    page = client_of(eve).get(saved.get_absolute_url()).content.decode()
    assert "Where it was found" not in page
    assert Asker(eve).get("/prompts/sums").json()["run"] is None
    run.delete()
    saved.refresh_from_db()
    assert saved.run is None


def test_a_program_names_the_run_instead_of_the_words(ada: User, run: Run) -> None:
    asker, best = Asker(ada), best_of(run)
    made = asker.post("/prompts", {"name": "sums", "run": run.pk}).json()
    assert (made["run"], made["candidate"]) == (run.pk, best.key)
    assert made["content"]["system"] == best.document["prompt"]["system"]
    other = run.candidates.get(name="p1")
    named = {"name": "first", "run": run.pk, "candidate": other.key}
    assert asker.post("/prompts", named).json()["candidate"] == other.key


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "content"),
        ({"run": True, "content": {"user": "x"}}, "content"),
        ({"run": True, "candidate": "absent"}, "candidate"),
    ],
)
def test_a_program_is_told_what_is_missing(
    ada: User, run: Run, body: dict[str, Any], path: str
) -> None:
    sent = {**body, "name": "sums", **({"run": run.pk} if "run" in body else {})}
    answer = Asker(ada).post("/prompts", sent)
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["path"] == path
    assert not Prompt.objects.exists()


def test_prompts_that_were_compared_can_be_saved_too(ada: User) -> None:
    compared = make_run(ada, make_dataset(ada, "few"))
    save(ada, compared, "key0", "plain")
    assert Prompt.objects.get().run == compared
