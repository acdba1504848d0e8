"""The prompt library: versions that never change, who sees them, and what runs keep of them."""

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
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_person, make_run, run_document
from tests.harness.table import table
from tests.runs.new_run_parts import problems_of, small_form
from tests.runs.test_pages_evolve import make_evolution
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

PLAIN = {"system": "Be brief.", "user": "{{question}}"}
SAID = (("user", "2 + 2?"), ("assistant", "4"), ("user", "{{question}}"))
TALK = {"messages": [{"role": role, "content": [{"text": text}]} for role, text in SAID]}
NOT_YET = {"version": 7}
HOSTILE = "<script>alert(1)</script>\"'{% raw %}"


@pytest.fixture
def launch(alice, dataset):
    def launch_with(*prompts):
        return create_run(alice, run_document(dataset, prompts=list(prompts)))

    return launch_with


def actions():
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


@pytest.mark.postgresql("locks: versions of a name are counted one after the other")
def test_another_text_is_another_version_and_the_same_is_not(alice):
    first = save_prompt(alice, "triage", PLAIN)
    again = save_prompt(alice, " triage ", {"user": "{{question}}", "system": "Be brief."})
    second = save_prompt(alice, "triage", {"user": "Sort: {{question}}\r\n"}, "shorter", share=True)
    assert (first.version, again.pk, second.version) == (1, first.pk, 2)
    assert second.content == {"system": "", "user": "Sort: {{question}}\n"}
    first.refresh_from_db()
    assert (first.content, first.is_shared) == (PLAIN, True)  # shared as a whole
    assert actions() == ["prompt.saved", "prompt.shared", "prompt.saved"]


@table(
    ("", PLAIN, "name"),
    ("triage@3", PLAIN, "name"),
    ("a\nb", PLAIN, "name"),
    ("triage", {}, "content"),
    ("triage", [], "content"),
    ("triage", {**PLAIN, "library": "other"}, "content.library"),
    ("triage", {"messages": [{"role": "assistant", "content": "x"}]}, "content.messages"),
    ("triage", {"user": "x", "tool_choice": "required"}, "content"),
    ("triage", {"messages": [{"role": "user", "content": "x" * 90_000}] * 3}, "content"),
)
def test_what_is_no_prompt_is_not_stored(alice, name, content, path):
    with pytest.raises(ConfigurationError) as caught:
        save_prompt(alice, name, content)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert not Prompt.objects.exists()


def test_a_run_freezes_the_newest_version_and_keeps_it(alice, dataset, launch):
    save_prompt(alice, "triage", PLAIN)
    stored = save_prompt(alice, "triage", TALK)
    run = launch({"library": "triage"}, {"library": "triage", "version": 1})
    newest, first = run.document["prompts"]
    assert newest == {"library": "triage", "name": "triage", "version": 2, **TALK}
    assert first == {"library": "triage", "name": "triage v1", "version": 1, **PLAIN}
    written = {"name": "triage v1", **PLAIN}
    candidates = [one.document["prompt"] for one in run.candidates.order_by("position")]
    assert candidates == [{"name": "triage", **TALK}, written]
    same = launch(written)  # the same words are the same candidate, wherever they come from
    assert same.candidates.get().key == run.candidates.get(position=1).key
    assert launch(first).document["prompts"][0]["library"] == "triage"
    changed = launch({**first, "system": "Be long."}).document["prompts"][0]
    assert not {"library", "version"} & set(changed), "a changed copy is not the library's"
    step = {"name": "solver", "library": "triage", "models": ["simulated/sim-small"]}
    document = {**run_document(dataset), "kind": "select", "steps": [step]}
    del document["prompts"], document["models"]
    piped = create_run(alice, document)
    assert piped.document["steps"][0]["version"] == 2
    assert piped.candidates.get().document["steps"][0]["messages"] == TALK["messages"]
    page = client_of(alice).get(reverse("run_configuration", args=[run.pk])).text
    assert f'href="/prompts/{stored.pk}/"' in page
    delete_prompt(stored, alice)
    repeated = create_run(alice, run.document)  # what it froze can be launched again
    assert repeated.document["prompts"][0] == {"name": "triage", **TALK}  # nobody knows of a v2
    page = client_of(alice).get(reverse("run_configuration", args=[run.pk])).text
    assert "triage v2, which you cannot open" in page


def test_what_is_not_there_for_a_person_is_refused_by_name(alice, bob, launch):
    save_prompt(alice, "triage", PLAIN)
    save_prompt(bob, "private", PLAIN)
    taken_back = save_prompt(bob, "taken back", PLAIN, share=True)
    assert share_prompt(taken_back, bob, is_shared=False)
    assert not share_prompt(taken_back, bob, is_shared=False)
    for name, version in (
        ("nothing", {}),
        ("private", {}),
        ("taken back", {}),
        ("triage", NOT_YET),
    ):
        with pytest.raises(ConfigurationError) as caught:
            launch({"library": name, **version})
        (problem,) = caught.value.problems
        assert problem.path == "prompts.0.library"
        assert repr(name) in problem.message


def test_pages_of_the_library(alice, dataset):
    """Written, edited, compared, shared and deleted through its pages, hostile texts and all."""
    client, bob = client_of(alice), client_of(make_person("bob", role=Role.VIEWER))
    sent = {"prompt-0-name": "triage", "prompt-0-system": HOSTILE, "prompt-0-user": "{{question}}"}
    page = client.post("/prompts/new/", {**sent, "note": "the first"}, follow=True)
    first = Prompt.objects.get()
    assert page.redirect_chain[-1][0] == f"/prompts/{first.pk}/"
    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)" in client.get(f"/prompts/{first.pk}/edit/").text
    sent = {"prompt-0-system": "Be brief.", "prompt-0-user": "{{question}}", "note": "brief"}
    client.post(f"/prompts/{first.pk}/edit/", sent)
    second = Prompt.objects.get(version=2)
    assert second.name == "triage"
    compared = client.get(f"/prompts/{second.pk}/?against=1").text
    assert "From v1 to v2" in compared
    assert ("<ins" in compared, "<script>alert" in compared) == (True, False)
    assert client.get(f"/prompts/{second.pk}/?against=99").status_code == 200
    client.post(f"/prompts/{second.pk}/share/", {"share": "yes"})
    taken = {"prompt-0-name": "triage", "prompt-0-user": "mine"}
    page = client_of(make_person("carl")).post("/prompts/new/", taken)
    assert (page.status_code, Prompt.objects.count()) == (400, 2)
    assert "taken by somebody else" in page.text
    seen = bob.get(f"/prompts/{second.pk}/").text
    assert "&lt;script&gt;" not in seen  # the newest version
    assert "New version" not in seen
    save_configuration(alice, "nightly", run_document(dataset, prompts=[{"library": "triage"}]))
    assert "nightly" in client.get(f"/prompts/{second.pk}/remove/").text
    assert client.post(f"/prompts/{second.pk}/remove/", {"typed": "x"}).status_code == 400
    assert Prompt.objects.count() == 2
    client.post(f"/prompts/{second.pk}/remove/", {"typed": "triage"})
    assert not Prompt.objects.exists()
    assert "prompt.removed" in actions()


def messages_of(prompt, said):
    """As a form sends them."""
    fields = {f"{prompt}-messages": [str(number) for number in said]}
    for number, (role, text) in said.items():
        row = f"{prompt}-message-{number}"
        fields |= {f"{row}-role": role, f"{row}-text": text}
    return fields


def test_messages_are_added_on_the_page_without_a_script(browser):
    typed = {"prompt-0-name": "talk", "prompt-0-system": "Sort.", "prompt-0-user": "{{question}}"}
    page = browser.post("/prompts/new/", {**typed, "add_message": "prompt-0"}).text
    assert page.count('name="prompt-0-messages"') == 2  # one for each text
    assert "No prompts yet" in browser.get("/prompts/").text
    said = {0: ("system", "Sort."), 4: ("column", "{{history}}"), 7: ("user", "What is it?")}
    rows = {**messages_of("prompt-0", said), "prompt-0-message-7-image": "{{picture}}"}
    fewer = browser.post("/prompts/new/", {**typed, **rows, "remove_message": "prompt-0-4"}).text
    assert fewer.count('name="prompt-0-messages"') == 2
    browser.post("/prompts/new/", {**typed, **rows, "prompt-0-tools": "- {name: look_up}"})
    stored = Prompt.objects.get()
    assert stored.content["messages"] == [
        {"role": "system", "content": [{"text": "Sort."}]},
        {"messages": "{{history}}"},
        {"role": "user", "content": [{"text": "What is it?"}, {"image": "{{picture}}"}]},
    ]
    assert stored.content["tools"][0]["name"] == "look_up"
    assert browser.get(f"/prompts/{stored.pk}/edit/").text.count('name="prompt-0-messages"') == 3
    wrong = browser.post("/prompts/new/", {**typed, **rows, "prompt-0-tools": "]["})
    assert (wrong.status_code, "valid list" in wrong.text) == (400, True)


def test_the_new_run_form_offers_the_library_and_shows_messages(alice, browser, bob, dataset):
    save_prompt(alice, "triage", PLAIN)
    save_prompt(bob, "private", PLAIN)
    said = {0: ("system", "Sort."), 1: ("user", "{{question}}")}
    prompts = {"prompts": ["0", "1"], "prompt-0-library": "triage", "prompt-1-name": "talk"}
    sent = small_form(**prompts, **messages_of("prompt-1", said))
    del sent["prompt-0-name"], sent["prompt-0-user"]
    more = browser.post("/runs/new/", {**sent, "add_message": "prompt-1"}).text
    assert more.count('name="prompt-1-messages"') == 3
    assert ('value="triage"' in more, "private" in more) == (True, False)
    assert not Run.objects.exists()
    (refused,) = problems_of(alice, {**sent, "prompt-1-message-1-role": "assistant"})
    assert "Begin with the user" in refused.message
    browser.post("/runs/new/", sent)
    run = Run.objects.get()
    by_name, talk = run.document["prompts"]
    assert (by_name["name"], by_name["version"], by_name["system"]) == ("triage", 1, "Be brief.")
    assert [one["role"] for one in talk["messages"]] == ["system", "user"]
    again = browser.get(f"/runs/new/?run={run.pk}")
    assert again.context["filled"].mode == "form"  # it shows all of it
    assert 'value="triage@1"' in again.text  # the copy says where it came from
    assert again.text.count('name="prompt-1-messages"') == 2


def test_the_library_over_rest(asker, bob):
    saved = asker.post("/prompts", {"name": "triage", "content": TALK, "note": "few-shot"})
    assert saved.status_code == 201, saved.content
    assert (saved.json()["version"], saved["Location"]) == (1, "/api/v1/prompts/triage%401")
    asker.post("/prompts", {"name": "triage", "content": PLAIN})
    assert [row["version"] for row in asker.get("/prompts").json()["data"]] == [2]
    shown = asker.get("/prompts/triage@1").json()
    assert (shown["content"], shown["versions"]) == (TALK, [2, 1])
    refused = asker.post("/prompts", {"name": "triage", "content": {"messages": []}})
    assert (refused.status_code, "content.messages" in refused.text) == (422, True)
    assert asker.patch("/prompts/triage", {"shared": True}).json()["changed"]
    assert Asker(bob).post("/prompts", {"name": "triage", "content": PLAIN}).status_code == 409
    assert asker.ask("delete", "/prompts/triage").json()["changed"]
    assert asker.get("/prompts/triage").status_code == 404


def test_the_library_on_the_command_line(alice, tmp_path, capsys):
    file = tmp_path / "triage.yaml"
    file.write_text('system: Be brief.\nuser: "{{question}}"\n')
    saved = ("save_prompt", "triage", str(file), "--user", "alice")
    call_command(*saved, "--note", "first", "--share")
    call_command(*saved)
    call_command("list_prompts")
    call_command("list_prompts", "triage@1")
    told = capsys.readouterr().out
    assert "triage v1.\ntriage v1 already.\ntriage v1  alice, shared  first\n" in told
    assert "system: Be brief." in told
    with pytest.raises(CommandError, match="no prompt 'other'"):
        call_command("list_prompts", "other")


# --- A prompt that a run found becomes one of the library, and says where it was found


@pytest.fixture
def run(alice, endpoint):
    make_dataset(alice, rows=10)
    return make_evolution(alice)


def save(person, run, key, name, **changes):
    words = run.candidates.get(key=key).document["prompt"]
    typed = {"name": name, "system": words["system"], "user": words["user"]}
    sent = {**{f"prompt-0-{part}": text for part, text in typed.items()}, "save": "1", **changes}
    address = f"{reverse('prompt_new')}?run={run.pk}&candidate={key}"
    return client_of(person).post(address, sent, follow=True)


def test_what_a_run_found_is_saved_with_a_link_back_that_strangers_do_not_see(alice, bob, run):
    best = run.candidates.get(position=run.chosen)
    address = f"{reverse('prompt_new')}?run={run.pk}&candidate={best.key}"
    assert client_of(bob).get(address).status_code == 404
    assert client_of(alice).get(address.replace(best.key, "absent")).status_code == 404
    page = client_of(alice).get(address)
    assert page.context["prompt"].system == best.document["prompt"]["system"]
    assert run.get_absolute_url() in page.text
    save_prompt(alice, "sums", {"system": "Old.", "user": "{{question}}"}, share=True)
    shown = save(alice, run, best.key, "sums").text
    saved = Prompt.objects.get(version=2)
    assert (saved.run, saved.candidate, saved.owner) == (run, best.key, alice)
    assert "Where it was found" in shown
    assert run.get_absolute_url() in shown
    assert f"run {run.pk}" in AuditEntry.objects.filter(action="prompt.saved").latest("pk").detail
    save(alice, run, best.key, "other", **{"prompt-0-system": "I wrote this."})
    assert Prompt.objects.get(name="other").run is None
    compared = make_run(alice, make_dataset(alice, "few"))
    save(alice, compared, "key0", "plain")
    assert Prompt.objects.get(name="plain").run == compared, "prompts that were compared, too"
    assert "Where it was found" not in client_of(bob).get(saved.get_absolute_url()).text
    assert Asker(bob).get("/prompts/sums").json()["run"] is None
    run.delete()
    saved.refresh_from_db()
    assert saved.run is None


def test_a_program_names_the_run_instead_of_the_words(alice, run):
    asker, best = Asker(alice), run.candidates.get(position=run.chosen)
    made = asker.post("/prompts", {"name": "sums", "run": run.pk}).json()
    assert (made["run"], made["candidate"]) == (run.pk, best.key)
    assert made["content"]["system"] == best.document["prompt"]["system"]
    other = run.candidates.get(name="p1")
    named = {"name": "first", "run": run.pk, "candidate": other.key}
    assert asker.post("/prompts", named).json()["candidate"] == other.key
    for wrong, path in (
        ({}, "content"),
        ({"run": run.pk, "content": {"user": "x"}}, "content"),
        ({"run": run.pk, "candidate": "absent"}, "candidate"),
    ):
        answer = asker.post("/prompts", {**wrong, "name": "wrong"})
        assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, path)
    assert not Prompt.objects.filter(name="wrong").exists()
