"""The prompt library: versions that never change, who sees them, and what runs keep of them."""

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from runs.models import AuditEntry, Prompt, Run
from runs.roles import Role
from runs.services.configurations import save_configuration
from runs.services.people.sharing import share_prompt
from runs.services.prompts import delete_prompt, save_prompt
from runs.services.runs import create_run
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    run_document,
)
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

PLAIN = {"system": "Be brief.", "user": "{{question}}"}
TALK = {
    "messages": [
        {"role": "user", "content": [{"text": "2 + 2?"}]},
        {"role": "assistant", "content": [{"text": "4"}]},
        {"role": "user", "content": [{"text": "{{question}}"}]},
    ]
}
HOSTILE = "<script>alert(1)</script>\"'{% raw %}"


@pytest.fixture
def ann() -> Any:
    make_endpoint()
    return make_person("ann")


def launch(person: Any, *prompts: dict[str, Any]) -> Run:
    dataset = make_dataset(person) if not Run.objects.exists() else Run.objects.latest("pk").dataset
    return create_run(person, run_document(dataset, prompts=list(prompts)))


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_another_text_is_another_version_and_the_same_is_not(ann: Any) -> None:
    first = save_prompt(ann, "triage", PLAIN)
    again = save_prompt(ann, " triage ", {"user": "{{question}}", "system": "Be brief."})
    second = save_prompt(ann, "triage", {"user": "Sort: {{question}}\r\n"}, "shorter", share=True)
    assert (first.version, again.pk, second.version) == (1, first.pk, 2)
    assert second.content == {"system": "", "user": "Sort: {{question}}\n"}
    first.refresh_from_db()
    assert (first.content, first.is_shared) == (PLAIN, True)  # shared as a whole
    assert actions() == ["prompt.saved", "prompt.shared", "prompt.saved"]


@pytest.mark.parametrize(
    ("name", "content", "path"),
    [
        ("", PLAIN, "name"),
        ("triage@3", PLAIN, "name"),
        ("a\nb", PLAIN, "name"),
        ("triage", {}, "content"),
        ("triage", [], "content"),
        ("triage", {**PLAIN, "library": "other"}, "content.library"),
        ("triage", {"messages": [{"role": "assistant", "content": "x"}]}, "content.messages"),
        ("triage", {"user": "x", "tool_choice": "required"}, "content"),
        ("triage", {"messages": [{"role": "user", "content": "x" * 90_000}] * 3}, "content"),
    ],
)
def test_what_is_no_prompt_is_not_stored(ann: Any, name: str, content: Any, path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        save_prompt(ann, name, content)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert not Prompt.objects.exists()


def test_a_run_freezes_the_newest_version_and_keeps_it(ann: Any) -> None:
    save_prompt(ann, "triage", PLAIN)
    stored = save_prompt(ann, "triage", TALK)
    run = launch(ann, {"library": "triage"}, {"library": "triage", "version": 1})
    newest, first = run.document["prompts"]
    assert newest == {"library": "triage", "name": "triage", "version": 2, **TALK}
    assert first == {"library": "triage", "name": "triage v1", "version": 1, **PLAIN}
    written = {"name": "triage v1", **PLAIN}
    candidates = [one.document["prompt"] for one in run.candidates.order_by("position")]
    assert candidates == [{"name": "triage", **TALK}, written]
    same = launch(ann, written)  # the same words are the same candidate, wherever they come from
    assert same.candidates.get().key == run.candidates.get(position=1).key

    page = client_of(ann).get(reverse("run_configuration", args=[run.pk])).content.decode()
    assert f'href="/prompts/{stored.pk}/"' in page
    delete_prompt(stored, ann)
    repeated = create_run(ann, run.document)  # what it froze can be launched again
    assert repeated.document["prompts"][0] == {"name": "triage", **TALK}  # nobody knows of a v2
    page = client_of(ann).get(reverse("run_configuration", args=[run.pk])).content.decode()
    assert "triage v2, which you cannot open" in page


def test_a_copy_that_was_changed_is_no_longer_called_that_of_the_library(ann: Any) -> None:
    save_prompt(ann, "triage", PLAIN)
    frozen = launch(ann, {"library": "triage"}).document["prompts"][0]
    assert launch(ann, frozen).document["prompts"][0]["library"] == "triage"
    changed = launch(ann, {**frozen, "system": "Be long."}).document["prompts"][0]
    assert "library" not in changed
    assert "version" not in changed


@pytest.mark.parametrize(
    "named", [{"library": "nothing"}, {"library": "triage", "version": 7}, {"library": "private"}]
)
def test_what_is_not_there_for_a_person_is_refused_by_name(ann: Any, named: Any) -> None:
    save_prompt(ann, "triage", PLAIN)
    save_prompt(make_person("bob"), "private", PLAIN)
    with pytest.raises(ConfigurationError) as caught:
        launch(ann, named)
    (problem,) = caught.value.problems
    assert problem.path == "prompts.0.library"
    assert repr(named["library"]) in problem.message


def test_a_step_of_a_pipeline_takes_its_prompt_from_the_library(ann: Any) -> None:
    save_prompt(ann, "triage", TALK)
    step = {"name": "solver", "library": "triage", "models": ["simulated/sim-small"]}
    document = {**run_document(make_dataset(ann)), "kind": "select", "steps": [step]}
    del document["prompts"], document["models"]
    run = create_run(ann, document)
    assert run.document["steps"][0]["version"] == 1
    assert run.candidates.get().document["steps"][0]["messages"] == TALK["messages"]


def test_pages_of_the_library(ann: Any) -> None:
    """Written, edited, compared, shared and deleted through its pages, hostile texts and all."""
    client, bob = client_of(ann), client_of(make_person("bob", role=Role.VIEWER))
    assert "No prompts yet" in client.get("/prompts/").content.decode()
    sent = {"prompt-0-name": "triage", "prompt-0-system": HOSTILE, "prompt-0-user": "{{question}}"}
    page = client.post("/prompts/new/", {**sent, "note": "the first"}, follow=True)
    first = Prompt.objects.get()
    assert page.redirect_chain[-1][0] == f"/prompts/{first.pk}/"
    shown = page.content.decode()
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown
    assert bob.get(f"/prompts/{first.pk}/").status_code == 404

    form = client.get(f"/prompts/{first.pk}/edit/").content.decode()
    assert "&lt;script&gt;alert(1)" in form
    sent = {"prompt-0-system": "Be brief.", "prompt-0-user": "{{question}}", "note": "brief"}
    client.post(f"/prompts/{first.pk}/edit/", sent)
    second = Prompt.objects.get(version=2)
    assert second.name == "triage"
    compared = client.get(f"/prompts/{second.pk}/?against=1").content.decode()
    assert "From v1 to v2" in compared
    assert "<ins" in compared
    assert "<script>alert" not in compared
    assert client.get(f"/prompts/{second.pk}/?against=99").status_code == 200

    client.post(f"/prompts/{second.pk}/share/", {"share": "yes"})
    seen = bob.get(f"/prompts/{second.pk}/").content.decode()
    assert "&lt;script&gt;" not in seen  # the newest version
    assert "New version" not in seen
    assert bob.post(f"/prompts/{second.pk}/edit/", sent).status_code == 403

    document = {**run_document(make_dataset(ann)), "prompts": [{"library": "triage"}]}
    save_configuration(ann, "nightly", document)
    asked = client.get(f"/prompts/{second.pk}/remove/").content.decode()
    assert "nightly" in asked
    assert client.post(f"/prompts/{second.pk}/remove/", {"typed": "x"}).status_code == 400
    assert Prompt.objects.count() == 2
    client.post(f"/prompts/{second.pk}/remove/", {"typed": "triage"})
    assert not Prompt.objects.exists()
    assert "prompt.removed" in actions()


def test_messages_are_added_on_the_page_without_a_script(ann: Any) -> None:
    client = client_of(ann)
    typed = {"prompt-0-name": "talk", "prompt-0-system": "Sort.", "prompt-0-user": "{{question}}"}
    page = client.post("/prompts/new/", {**typed, "add_message": "prompt-0"}).content.decode()
    assert page.count('name="prompt-0-messages"') == 2  # one for each text
    assert not Prompt.objects.exists()
    rows = {
        "prompt-0-messages": ["0", "4", "7"],
        "prompt-0-message-0-role": "system",
        "prompt-0-message-0-text": "Sort.",
        "prompt-0-message-4-role": "column",
        "prompt-0-message-4-text": "{{history}}",
        "prompt-0-message-7-role": "user",
        "prompt-0-message-7-text": "What is it?",
        "prompt-0-message-7-image": "{{picture}}",
    }
    fewer = client.post(
        "/prompts/new/", {**typed, **rows, "remove_message": "prompt-0-4"}
    ).content.decode()
    assert fewer.count('name="prompt-0-messages"') == 2
    tools = "- {name: look_up}"
    client.post("/prompts/new/", {**typed, **rows, "prompt-0-tools": tools})
    stored = Prompt.objects.get()
    assert stored.content["messages"] == [
        {"role": "system", "content": [{"text": "Sort."}]},
        {"messages": "{{history}}"},
        {"role": "user", "content": [{"text": "What is it?"}, {"image": "{{picture}}"}]},
    ]
    assert stored.content["tools"][0]["name"] == "look_up"
    again = client.get(f"/prompts/{stored.pk}/edit/").content.decode()
    assert again.count('name="prompt-0-messages"') == 3
    wrong = client.post("/prompts/new/", {**typed, **rows, "prompt-0-tools": "]["})
    assert wrong.status_code == 400
    assert "valid list" in wrong.content.decode()


def test_somebody_elses_name_is_taken(ann: Any) -> None:
    save_prompt(ann, "triage", PLAIN, share=True)
    bob = make_person("bob")
    sent = {"prompt-0-name": "triage", "prompt-0-user": "mine"}
    page = client_of(bob).post("/prompts/new/", sent)
    assert page.status_code == 400
    assert "taken by somebody else" in page.content.decode()
    assert Prompt.objects.count() == 1


def test_the_new_run_form_offers_the_library_and_shows_messages(ann: Any) -> None:
    save_prompt(ann, "triage", PLAIN)
    save_prompt(make_person("bob"), "private", PLAIN)
    client, dataset = client_of(ann), make_dataset(ann)
    blank = client.get("/runs/new/").content.decode()
    assert 'value="triage"' in blank
    assert "private" not in blank
    sent = {
        "name": "by name",
        "kind": "evaluate",
        "dataset": dataset.name,
        "prompts": ["0", "1"],
        "prompt-0-library": "triage",
        "prompt-1-name": "talk",
        "prompt-1-messages": ["0", "1"],
        "prompt-1-message-0-role": "system",
        "prompt-1-message-0-text": "Sort.",
        "prompt-1-message-1-role": "user",
        "prompt-1-message-1-text": "{{question}}",
        "models": ["simulated/sim-small"],
        "scorers": ["exact"],
        "preset": "endpoint",
    }
    more = client.post("/runs/new/", {**sent, "add_message": "prompt-1"}).content.decode()
    assert more.count('name="prompt-1-messages"') == 3
    assert not Run.objects.exists()
    wrong = {**sent, "prompt-1-message-1-role": "assistant"}
    refused = client.post("/runs/new/", wrong)
    assert refused.status_code == 400
    assert "Begin with the user" in refused.content.decode()
    client.post("/runs/new/", sent)
    run = Run.objects.get()
    by_name, talk = run.document["prompts"]
    assert (by_name["name"], by_name["version"], by_name["system"]) == ("triage", 1, "Be brief.")
    assert [one["role"] for one in talk["messages"]] == ["system", "user"]

    again = client.get(f"/runs/new/?run={run.pk}")
    assert again.context["filled"].mode == "form"  # it shows all of it
    assert 'value="triage@1"' in again.content.decode()  # the copy says where it came from
    assert again.content.decode().count('name="prompt-1-messages"') == 2


def test_the_library_over_rest(ann: Any, client: Any) -> None:
    api = client_of(ann)

    def send(method: str, path: str, body: Any = None) -> Any:
        options = {"data": json.dumps(body), "content_type": "application/json"} if body else {}
        return getattr(api, method)(f"/api/v1{path}", **options)

    saved = send("post", "/prompts", {"name": "triage", "content": TALK, "note": "few-shot"})
    assert saved.status_code == 201, saved.content
    assert saved.json()["version"] == 1
    assert saved["Location"] == "/api/v1/prompts/triage%401"
    send("post", "/prompts", {"name": "triage", "content": PLAIN})
    assert [row["version"] for row in send("get", "/prompts").json()["data"]] == [2]
    shown = send("get", "/prompts/triage@1").json()
    assert (shown["content"], shown["versions"]) == (TALK, [2, 1])
    refused = send("post", "/prompts", {"name": "triage", "content": {"messages": []}})
    assert refused.status_code == 422
    assert "content.messages" in refused.content.decode()
    assert send("patch", "/prompts/triage", {"shared": True}).json()["changed"]
    bob = client_of(make_person("bob"))
    taken = {"name": "triage", "content": PLAIN}
    assert bob.post("/api/v1/prompts", json.dumps(taken), "application/json").status_code == 409
    assert send("delete", "/prompts/triage").json()["changed"]
    assert send("get", "/prompts/triage").status_code == 404


def test_the_library_on_the_command_line(ann: Any, tmp_path: Any, capsys: Any) -> None:
    file = tmp_path / "triage.yaml"
    file.write_text('system: Be brief.\nuser: "{{question}}"\n')
    call_command("save_prompt", "triage", str(file), "--user", "ann", "--note", "first", "--share")
    call_command("save_prompt", "triage", str(file), "--user", "ann")
    call_command("list_prompts")
    call_command("list_prompts", "triage@1")
    told = capsys.readouterr().out
    assert "triage v1.\ntriage v1 already.\ntriage v1  ann, shared  first\n" in told
    assert "system: Be brief." in told
    with pytest.raises(CommandError, match="no prompt 'other'"):
        call_command("list_prompts", "other")


def test_who_stops_sharing_takes_it_back_from_others(ann: Any) -> None:
    prompt = save_prompt(ann, "triage", PLAIN, share=True)
    bob = make_person("bob")
    assert share_prompt(prompt, ann, is_shared=False)
    assert not share_prompt(prompt, ann, is_shared=False)
    with pytest.raises(ConfigurationError, match="triage"):
        create_run(bob, run_document(make_dataset(bob), prompts=[{"library": "triage"}]))
