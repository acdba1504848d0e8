"""What others add - scorers and strategies of an installed package, scorers written as code, and a
kind that only the tests know - at every door."""

import re
from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.urls import reverse

from runs.api.openapi import add_schema
from runs.forms.starting_points import from_document
from runs.models import Configuration, Run
from runs.roles import Role
from runs.selectors.comparing.comparison import compare_runs
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from runs.views.configuration_docs import parts
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_person, run_document, toy_document
from tests.runs.comparing_parts import make_selection, store_outcomes
from tests.runs.new_run_parts import small_form
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import KINDS
from workers.engine.plugins import PLUGINS, install_plugins
from workers.engine.registries import REGISTRIES
from workers.engine.scorers import Scorer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoint")]

PACKAGE = "tests.toy_things"
SCORER = f"{PACKAGE}.Closing"
STRATEGY = f"{PACKAGE}.FirstFew"
SLOW = "(?:a?){1000}X" * 60  # took RE2 five seconds on an answer of 4 KB


@pytest.fixture(autouse=True)
def installed():
    install_plugins([PACKAGE])
    parts.cache_clear()  # a process has the plug-ins that it was started with
    yield
    PLUGINS.clear()
    parts.cache_clear()


def test_they_are_offered_with_their_options_and_described(browser):
    """In the form, in the reference and in the schema of the API."""
    page = browser.get(reverse("run_new"), {"kind": "select"}).text
    for shown in (
        f'name="scorers" value="{SCORER}"',
        f'<select id="id_scorer-{SCORER}-spaces" name="scorer-{SCORER}-spaces"',
        f'name="strategy" value="{STRATEGY}"',
        f'name="strategy-{STRATEGY}-few" value="2"',
    ):
        assert shown in page, shown
    page = browser.get(reverse("configuration_docs")).text
    for place in (f"scorer-{SCORER}", f"strategy-{STRATEGY}", f"agent-{PACKAGE}.Echo"):
        assert f'id="{place}"' in page, place
    schemas: dict[str, Any] = {}
    add_schema(schemas, KINDS["evaluate"])
    for shown in (f"'{SCORER}'", "Whether spaces at the end count."):
        assert shown in str(schemas["ScorerChoice"])


def test_a_form_that_names_them_becomes_their_run(alice, dataset):
    step = {"steps": ["0"], "step-0-name": "solver", "step-0-user": "{{question}}"}
    step["step-0-models"] = ["simulated/sim-small", "simulated/sim-large"]
    strategy = {"strategy": STRATEGY, f"strategy-{STRATEGY}-few": "1"}
    scorer = {"scorers": [SCORER], f"scorer-{SCORER}-spaces": "kept"}
    sent = small_form(kind="select", **step, **strategy, **scorer)
    client_of(alice).post(reverse("run_new"), sent)
    run = Run.objects.get()
    assert run.document["strategy"] == {"name": STRATEGY, "few": 1}
    assert run.document["scorers"] == [{SCORER: {"spaces": "kept"}}]
    again = from_document(run.document)
    assert again.mode == "form"
    for part in ("scorers", "strategy"):
        assert again.document()[part] == run.document[part]


def test_what_is_wrong_with_them_is_said_before_anything_is_stored(alice, asker, dataset):
    for scorers, path, told in (
        ([{SCORER: {"spaces": "some"}}], "scorers.0", "'kept' or 'ignored'"),
        ([{SCORER: {"space": "kept"}}], "scorers.0", "It takes: spaces, not, weight"),
        (["exact", "no_such.Scorer"], "scorers.1", "EVALSITE_PLUGINS"),
        ([{"regex": {"pattern": SLOW}}], "scorers.0", "more than 10,000 instructions"),
    ):
        answer = asker.post("/runs", {"configuration": run_document(dataset, scorers=scorers)})
        assert answer.status_code == 422
        (found,) = answer.json()["problems"]
        assert found["path"].endswith(path)
        assert told in found["message"]
    document = run_document(dataset, scorers=[SCORER])
    PLUGINS.clear()
    for door in (create_run, partial(save_configuration, name="fan")):
        with pytest.raises(ConfigurationError, match=f"Unknown scorer '{SCORER}'") as caught:
            door(alice, document=document)
        assert [problem.path for problem in caught.value.problems] == ["scorers.0"]
    assert not Run.objects.exists()


def test_a_run_can_be_looked_at_without_them(alice, browser, dataset):
    run = make_selection(alice, dataset, scorers=[SCORER], strategy=STRATEGY)
    assert run.chosen is not None
    PLUGINS.clear()
    page = browser.get(run.get_absolute_url()).text
    assert f"The strategy {STRATEGY} is not installed here." in page
    assert "Chosen: solver=sim-large" in page
    for name in ("run_scores", "run_configuration", "run_leaderboard"):
        assert browser.get(reverse(name, args=[run.pk])).status_code == 200
    answer = Asker(alice).get(f"/runs/{run.pk}/combinations")
    assert [row["is_best"] for row in answer.json()["combinations"]] == [True, False]
    shown = browser.get(reverse("run_new"), {"run": run.pk}).context["filled"]
    assert shown.mode == "yaml"
    assert SCORER in shown.yaml


class Unfinished(Scorer):
    """Has no judge."""


class Odd(Scorer):
    """Has an option that no document can hold."""

    how: Callable[[str], str] = str

    def judge(self, answer, case):
        return self.verdict(True, self.how(answer))


def make_local():
    class Local(Scorer):
        """Nobody else can import it."""

        def judge(self, answer, case):
            return self.verdict(True, "")

    return Local


def test_the_checks_say_what_is_wrong_with_a_plugin():
    call_command("check", stdout=StringIO())
    PLUGINS["shop.ten"] = 10
    said = StringIO()
    call_command("check", stderr=said, stdout=StringIO())
    assert "shop.ten is no scorer, strategy, agent, " in said.getvalue()
    assert f" or {REGISTRIES[-1].word}, so that no configuration can name it." in said.getvalue()
    for plugin, told in (
        (Unfinished, "does not define judge"),
        (Odd, "cannot be described"),
        (make_local(), "cannot be sent to the process that it works in"),
    ):
        PLUGINS["shop.Odd"] = plugin
        with pytest.raises((SystemCheckError, CommandError), match=told):
            call_command("check", stderr=StringIO(), stdout=StringIO())


# --- Who may run scorers that are written as code: authors and higher

SOURCE = "def score(answer, expected, case):\n    return answer == expected\n"
MAY_NOT = "You may not run scorers that you write as code. Your role is runner"


@pytest.fixture
def written(dataset):
    return run_document(dataset, scorers=["exact", {"code": {"source": SOURCE}}])


@pytest.fixture
def author(dataset):
    dataset.is_shared = True
    dataset.save()
    return make_person("arthur", role=Role.AUTHOR)


def test_a_runner_is_told_whom_to_ask_also_about_code_of_others(alice, author, written):
    (found,) = estimate(written, every_dataset(), alice).problems
    assert found.path == "scorers.1"
    assert MAY_NOT in found.message
    for door in (create_run, partial(save_configuration, name="mine")):
        with pytest.raises(ConfigurationError, match="this needs the role author"):
            door(alice, document=written)
    assert not Run.objects.exists()
    assert not Configuration.objects.exists()
    stored = save_configuration(author, "mine", written)
    with pytest.raises(ConfigurationError, match="You may not"):
        create_run(alice, {**written, **stored.document})
    assert estimate(written, every_dataset(), author).problems == []
    save_configuration(author, "mine", written)
    assert create_run(author, written).document["scorers"] == written["scorers"]
    broken = {**written, "scorers": [{"code": {"source": "def score(:"}}]}
    (found,) = estimate(broken, every_dataset(), author).problems
    assert (found.path, "It cannot be loaded" in found.message) == ("scorers.0", True)


# --- A kind that only the tests know: every page, the API and the commands take it as it is

TABS = ("run", "run_leaderboard", "run_scores", "run_errors", "run_events", "run_configuration")


@pytest.fixture
def document(dataset, toy):
    kept = toy_document(run_document(dataset, name="a toy", limits={}))
    return {name: kept[name] for name in kept if name not in {"rounds", "writer"}}


@pytest.fixture
def run(alice, document):
    return store_outcomes(create_run(alice, document), [1.0])


def test_pages_api_and_comparisons_are_those_of_most_kinds(browser, run, asker, document):
    pages = {tab: browser.get(reverse(tab, args=[run.pk])) for tab in TABS}
    assert {tab: page.status_code for tab, page in pages.items()} == dict.fromkeys(TABS, 200)
    assert "Leaderboard" in pages["run"].text
    assert re.search(r"Toy\s+#", pages["run"].text)
    listed = browser.get(reverse("runs"), {"kind": "toy"}).text
    assert "a toy" in listed
    assert ">Toy</option>" in listed
    missing = browser.get(f"/runs/{run.pk}/combinations.csv")
    assert missing.status_code == 409
    assert "of kind toy: it has no combinations.csv" in missing.text
    assert asker.get(f"/runs/{run.pk}").json()["kind"] == "toy"
    assert len(asker.get(f"/runs/{run.pk}/candidates").json()["data"]) == 1
    assert asker.get(f"/runs/{run.pk}/combinations").status_code == 409
    other = asker.post("/runs", {"configuration": document})
    assert other.status_code == 202
    assert compare_runs(run, Run.objects.get(pk=other.json()["id"])).base.n == 1


def test_it_is_written_as_yaml_where_it_has_no_form(alice, browser, run):
    blank = browser.get(reverse("run_new"), {"kind": "toy"}).context["filled"]
    assert (blank.mode, blank.kind) == ("form", "evaluate")
    kept = {"name": "kept", "kind": "toy", "document": run.document}
    stored = Configuration.objects.create(owner=alice, **kept)
    for start in ({"run": run.pk}, {"configuration": stored.pk}):
        filled = browser.get(reverse("run_new"), start).context["filled"]
        assert filled.mode == "yaml"
        assert yaml.safe_load(filled.yaml)["prompt"]["name"] == "first"
    sent = {"key": "k", "mode": "yaml", "kind": "evaluate", "yaml": filled.yaml}
    assert browser.post(reverse("run_new"), sent).status_code == 302
    assert Run.objects.filter(kind="toy").count() == 2
