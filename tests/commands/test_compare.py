"""`manage.py compare` and the selector behind it."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Run
from runs.selectors.comparing.comparison import compare_runs
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from tests.commands.conftest import command
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = [{"question": f"What is {n} + 1?", "expected": str(n + 1)} for n in range(1, 13)]


@pytest.fixture
def base(ada: User, document: dict[str, Any], simulator: SimulatorClient) -> dict[str, Any]:
    """One prompt, one model, twelve sums that it always gets right."""
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    store_rows(ada, "plus", ROWS)
    prompt = {"name": "p", "user": "{{question}}"}
    return {**document, "dataset": "plus", "prompts": [prompt], "models": ["simulated/sim-large"]}


def run_all(ada: User, *documents: dict[str, Any]) -> list[Run]:
    with running_worker():
        return [finish(create_run(ada, document)) for document in documents]


def test_an_edited_prompt_is_compared_with_its_former_self(ada: User, base: dict[str, Any]) -> None:
    deaf = [{"name": "p", "user": "Say nothing."}]
    good, bad = run_all(ada, base, {**base, "prompts": deaf})
    found = compare_runs(good, bad)
    assert found.marks == []
    right = sum(score.passed is True for score in good.scores.all())
    assert found.regressions == right > 6
    assert found.overall is not None
    assert found.overall.p < 0.05
    assert found.overall.high < 0
    first = found.changed()[0]
    assert (first.candidate, first.before, first.after) == ("p · simulated/sim-large", 1.0, 0.0)
    assert first.question.startswith("What is ")
    back = compare_runs(bad, good)
    assert (back.improvements, back.regressions) == (right, 0)


def test_what_is_not_comparable_is_marked_and_only_equal_cases_are_compared(
    ada: User, base: dict[str, Any]
) -> None:
    moved = [{"question": "What is 50 + 1?", "expected": "51"}, *ROWS[:5]]
    failing = {**base, "models": ["simulated/sim-large", "simulated/sim-large:400"]}
    other = {**failing, "dataset": {"rows": moved}, "scorers": ["exact"]}
    first, second = run_all(ada, base, other)
    found = compare_runs(first, second)
    assert found.pairs == 5
    assert found.only_after == ["p · simulated/sim-large:400"]
    assert [mark.split(":")[0].split(" (")[0] for mark in found.marks] == [
        "The datasets differ",
        "5 of 12 cases shared; 7 only in the base are not counted as passes; 1 only in run "
        f"{second.pk} is left out.",
        "The scorers differ, so the scores cannot be compared.",
        "14 trials are only in one of the runs.",
    ]
    assert {trial.question for trial in found.changed()} <= {row["question"] for row in ROWS[:5]}


def test_failed_trials_are_marked(ada: User, base: dict[str, Any]) -> None:
    refused = {**base, "models": ["simulated/sim-large:400"]}
    first, second = run_all(ada, base, refused)
    found = compare_runs(first, second)
    assert (found.pairs, found.overall) == (0, None)
    assert any(mark.startswith("12 trials are left out, since they failed") for mark in found.marks)


def test_the_command_shows_and_tells_the_same(ada: User, base: dict[str, Any]) -> None:
    evil = {**base, "name": "[red]evil[/] \x1b[31m", "prompts": [{"name": "[b]", "user": "Hm."}]}
    first, second, third = run_all(ada, base, base, evil)
    text = command("compare", first.pk, second.pk, third.pk)
    assert text.exit_code == 0
    assert f"Run {second.pk} against run {first.pk}" in text.out
    assert "[red]evil[/]" in text.out
    assert "\x1b" not in text.out
    same, fell = command("compare", first.pk, second.pk, third.pk, "--json").lines
    assert (same["overall"]["mean"], same["comparable"]) == (0.0, True)
    assert fell["regressions"] == len(fell["changed"])
    assert fell["changed"][0]["change"] == -1.0


def test_a_strangers_run_cannot_be_compared(ada: User, base: dict[str, Any]) -> None:
    User.objects.create_user("bob")
    (run,) = run_all(ada, base)
    ran = command("compare", run.pk, run.pk, "--user", "bob")
    assert (ran.exit_code, ran.out) == (2, "")
    assert "There is no run of this number" in ran.err
