"""Scorers and strategies of an installed package, through every door that a person uses."""

from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.urls import reverse

from runs.api.api import api
from runs.forms.starting_points import from_document
from runs.models import Run
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from runs.views.configuration_docs import parts
from tests.api.asking import Asker
from tests.harness.factories import (
    client_of,
    make_dataset,
    make_endpoint,
    make_person,
    run_document,
)
from tests.runs.selection_parts import make_selection
from workers.engine.errors import ConfigurationError
from workers.engine.plugins import PLUGINS, install_plugins
from workers.engine.registries import REGISTRIES
from workers.engine.scorers import Scorer

pytestmark = pytest.mark.django_db

PACKAGE = "tests.toy_things"
SCORER = f"{PACKAGE}.Closing"
STRATEGY = f"{PACKAGE}.FirstFew"
SLOW = "(?:a?){1000}X" * 60  # took RE2 five seconds on an answer of 4 KB


@pytest.fixture
def ada() -> User:
    person = make_person("ada")
    make_endpoint()
    return person


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    install_plugins([PACKAGE])
    parts.cache_clear()  # a process has the plug-ins that it was started with
    yield
    PLUGINS.clear()
    parts.cache_clear()


def test_they_are_offered_with_their_options(ada: User) -> None:
    page = client_of(ada).get(reverse("run_new"), {"kind": "select"}).content.decode()
    for shown in (
        f'name="scorers" value="{SCORER}"',
        "<b>Closing</b>",
        "The answer ends with the expected text.",
        f'<select id="id_scorer-{SCORER}-spaces" name="scorer-{SCORER}-spaces"',
        f'name="strategy" value="{STRATEGY}"',
        "<b>The first few</b>",
        f'name="strategy-{STRATEGY}-few" value="2"',
    ):
        assert shown in page, shown


def test_a_form_that_names_them_becomes_their_run(ada: User) -> None:
    dataset = make_dataset(ada)
    filled = {
        "kind": "select",
        "name": "pick",
        "dataset": dataset.name,
        "steps": ["0"],
        "step-0-name": "solver",
        "step-0-user": "{{question}}",
        "step-0-models": ["simulated/sim-small", "simulated/sim-large"],
        "strategy": STRATEGY,
        f"strategy-{STRATEGY}-few": "1",
        "scorers": [SCORER],
        f"scorer-{SCORER}-spaces": "kept",
        "preset": "balanced",
    }
    client_of(ada).post(reverse("run_new"), filled)
    run = Run.objects.get()
    assert run.document["strategy"] == {"name": STRATEGY, "few": 1}
    assert run.document["scorers"] == [{SCORER: {"spaces": "kept"}}]
    again = from_document(run.document)
    assert again.mode == "form"
    assert again.document()["scorers"] == run.document["scorers"]
    assert again.document()["strategy"] == run.document["strategy"]


def test_they_are_in_the_reference_and_in_the_schema_of_the_api(ada: User) -> None:
    page = client_of(ada).get(reverse("configuration_docs")).content.decode()
    assert f'id="scorer-{SCORER}"' in page
    assert "Whether spaces at the end count." in page
    assert f'id="strategy-{STRATEGY}"' in page
    assert "How many cases each is tried on." in page
    assert f'id="agent-{PACKAGE}.Echo"' in page
    assert "Says what its one call says." in page
    schema = str(api.get_openapi_schema()["components"]["schemas"]["ScorerChoice"])
    assert f"'{SCORER}'" in schema
    assert "Whether spaces at the end count." in schema


@pytest.mark.parametrize(
    ("changes", "path", "told"),
    [
        ({"scorers": [{SCORER: {"spaces": "some"}}]}, "scorers.0", "'kept' or 'ignored'"),
        ({"scorers": [{SCORER: {"space": "kept"}}]}, "scorers.0", "It takes: spaces, not, weight"),
        ({"scorers": ["exact", "no_such.Scorer"]}, "scorers.1", "EVALSITE_PLUGINS"),
        ({"scorers": [{"regex": {"pattern": SLOW}}]}, "scorers.0", "more than 10,000 instructions"),
    ],
)
def test_what_is_wrong_with_them_is_said_where_a_run_is_made(
    ada: User, changes: dict[str, Any], path: str, told: str
) -> None:
    answer = Asker(ada).post("/runs", {"configuration": run_document(make_dataset(ada), **changes)})
    assert answer.status_code == 422
    (found,) = answer.json()["problems"]
    assert found["path"].endswith(path)
    assert told in found["message"]
    assert not Run.objects.exists()


def test_what_is_not_installed_is_refused_before_it_is_stored(ada: User) -> None:
    document = run_document(make_dataset(ada), scorers=[SCORER])
    PLUGINS.clear()
    refusals: list[Callable[[], object]] = [
        lambda: create_run(ada, document),
        lambda: save_configuration(ada, "fan", document),
    ]
    for refuse in refusals:
        with pytest.raises(ConfigurationError, match=f"Unknown scorer '{SCORER}'") as caught:
            refuse()
        assert [problem.path for problem in caught.value.problems] == ["scorers.0"]


def test_a_run_can_be_looked_at_without_them(ada: User) -> None:
    run = make_selection(ada, make_dataset(ada), scorers=[SCORER], strategy=STRATEGY)
    assert run.chosen is not None
    PLUGINS.clear()
    client = client_of(ada)
    page = client.get(run.get_absolute_url()).content.decode()
    assert f"The strategy {STRATEGY} is not installed here." in page
    assert "Chosen: solver=sim-large" in page
    for name in ("run_scores", "run_configuration", "run_leaderboard"):
        assert client.get(reverse(name, args=[run.pk])).status_code == 200
    answer = Asker(ada).get(f"/runs/{run.pk}/combinations")
    assert [row["is_best"] for row in answer.json()["combinations"]] == [True, False]
    shown = client.get(reverse("run_new"), {"run": run.pk}).context["filled"]
    assert shown.mode == "yaml"
    assert SCORER in shown.yaml


class Unfinished(Scorer):
    """Has no judge."""


class Odd(Scorer):
    """Has an option that no document can hold."""

    how: Callable[[str], str] = str

    def judge(self, answer: str, case: Any) -> Any:
        return self.verdict(True, self.how(answer))


def make_local() -> type[Scorer]:
    class Local(Scorer):
        """Nobody else can import it."""

        def judge(self, answer: str, case: Any) -> Any:
            return self.verdict(True, "")

    return Local


def test_the_checks_say_what_is_wrong_with_a_plugin() -> None:
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
