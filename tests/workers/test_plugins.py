"""Plug-ins that raise anything, or never come to an end, in a real worker."""

import time
from typing import ClassVar, Literal

import pytest

from runs.kinds.select.standing import selection_of
from runs.models import Chunk, RunState
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.control.retrying import retry_failed
from runs.services.datasets.storing import store_rows
from runs.services.runs import cancel_run, create_run
from tests import odd_scorers
from tests.harness.factories import client_of
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import wait_until_gone
from tests.harness.work import MODELS, TERSE
from tests.workers.working import finish, running_worker
from workers.engine import overtime
from workers.engine.kinds import KINDS
from workers.engine.kinds.evaluate import Evaluation
from workers.engine.plugins import PLUGINS, install_plugins
from workers.engine.records import Judgement
from workers.engine.scorers import SCORERS, AskingScorer
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Rounds
from workers.engine.targets import ChatTarget
from workers.runtime import EXIT_BROKEN

pytestmark = pytest.mark.django_db(transaction=True)

HERE = __name__  # which workers of these tests import
ODD = odd_scorers.__name__
LATE = (
    "The scorer Hangs took longer than the 0.3 s that one answer may take, so its process was "
    "ended. Make a pattern or a schema simpler, or a plug-in faster. The answer is kept."
)


class OddJudge(AskingScorer):
    name: ClassVar[str] = "odd"
    summary: ClassVar[str] = "Raises at every fourth case, each time something else."
    needs_expected: ClassVar[bool] = False

    async def judge_by_asking(self, answer, case, ask) -> Judgement:
        raised = {0: SystemExit(1), 4: KeyError("odd"), 8: RecursionError(), 12: OSError("odd")}
        if case.position in raised:
            raise raised[case.position]
        return self.verdict(True, "fine")


class OddTarget(ChatTarget):
    async def answer(self, opening, candidate, case, repeat, ask):
        raise SystemExit(1)  # as a library does that takes its process for its own


class OddKind(Evaluation):
    target: ClassVar[type[ChatTarget]] = OddTarget

    kind: Literal["odd"]  # type: ignore[assignment]


class Spins(Rounds[Options]):
    label = "Never decides"
    summary = "Computes for ever."
    options_type = Options
    planning_seconds: ClassVar[float] = 0.5

    def next_pulls(self):
        while True:
            pass


class Learns(Spins):
    """Asks for a round, and never comes to an end with what it is told."""

    def next_pulls(self):
        if self.history:
            super().next_pulls()
        return self.pulls(self.alive, 2)


class Devours(Spins):
    """Takes memory until there is none."""

    planning_seconds: ClassVar[float] = 60.0

    def next_pulls(self):
        taken = []
        while True:
            taken.append(bytearray(64 * 1024 * 1024))


class Sleeps(Spins):
    """Waits where no exception reaches it."""

    def next_pulls(self):
        overtime.GRACE_SECONDS = 0.0  # it will not end, however long one waits
        time.sleep(3600)
        return []


STRATEGIES = {f"{HERE}.{one.__name__}": one for one in (Spins, Learns, Devours, Sleeps)}


def register():
    """In a worker."""
    SCORERS.ours["odd"] = OddJudge
    KINDS["odd"] = OddKind
    PLUGINS.update(STRATEGIES)


@pytest.fixture(autouse=True)
def uninstalled():
    yield
    PLUGINS.clear()


def test_whatever_a_plug_in_raises_the_worker_goes_on(alice, few, simulator, monkeypatch):
    monkeypatch.setitem(SCORERS.ours, "odd", OddJudge)
    monkeypatch.setitem(KINDS, "odd", OddKind)
    with running_worker(also=HERE) as worker:
        run = finish(create_run(alice, {**few, "scorers": ["odd"]}))
        assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 20, 4)
        failed = run.scores.exclude(error_class="").values_list("case__position", flat=True)
        assert list(failed) == [0, 4, 8, 12]
        lost = finish(create_run(alice, {**few, "kind": "odd"}))
        assert lost.state == RunState.FAILED
        assert lost.reason.endswith("RuntimeError: The target raised SystemExit(1).")
        after = finish(create_run(alice, few))
        assert (after.state, after.done) == (RunState.COMPLETED, 20)
        assert worker.is_alive()


def test_a_strategy_that_never_ends_fails_its_own_run_only(
    alice, few, selection, simulator, monkeypatch
):
    PLUGINS.update(STRATEGIES)
    monkeypatch.setenv("EVALSITE_WORKER_MEGABYTES", "1500")
    with running_worker(also=HERE) as worker:
        for name in ("Spins", "Learns"):
            stuck = finish(create_run(alice, {**selection, "strategy": f"{HERE}.{name}"}))
            assert stuck.state == RunState.FAILED
            assert f"The strategy {name} did not come to an end within 0.5 s." in stuck.reason
        hungry = finish(create_run(alice, {**selection, "strategy": f"{HERE}.Devours"}))
        assert (hungry.state, "MemoryError" in hungry.reason) == (RunState.FAILED, True)
        other = finish(create_run(alice, few))
        assert other.state == RunState.COMPLETED
        assert worker.is_alive()
        # Where no exception reaches it, the worker ends instead of doing nothing for ever.
        asleep = create_run(alice, {**selection, "strategy": f"{HERE}.Sleeps"})
        worker.join(timeout=PATIENCE_SECONDS)
        assert worker.exitcode == EXIT_BROKEN
        assert cancel_run(asleep)


@pytest.fixture
def plain(few):
    return {**few, "cache": "use"}


def test_a_scorer_that_never_ends_costs_its_own_trials_only(alice, plain, simulator):
    odd_scorers.register()
    three = {"name": "sums", "first": 3}
    telling = {**plain, "scorers": [f"{ODD}.TellsProcess"]}
    with running_worker(also=ODD) as worker:
        stuck = create_run(alice, {**plain, "dataset": three, "scorers": [f"{ODD}.Hangs"]})
        other = finish(create_run(alice, plain))
        apart = finish(create_run(alice, telling))
        assert other.state == apart.state == RunState.COMPLETED
        check_stuck(finish(stuck))
        simulator.reset()
        assert retry_failed(stuck, alice) == 3
        check_stuck(finish(stuck))
        assert simulator.ledger()["total"] == 0  # the answers were kept
        # One lease for each chunk, and one more for those that were retried: none ran out.
        assert set(other.chunks.values_list("token", flat=True)) == {1}
        assert set(stuck.chunks.values_list("token", flat=True)) == {2}
        assert not Chunk.objects.exclude(deaths=0).exists()
        last = finish(create_run(alice, telling))
        children = {int(score.details[0][3]) for score in last.scores.all()}
        assert worker.pid not in children
        worker.kill()
        wait_until_gone(*children)


def check_stuck(run):
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 3, 3)
    rows = run.scores.values_list("error_class", "error_message", "value")
    assert set(rows) == {("scorer_error", LATE, None)}
    assert all(run.scores.values_list("answer", flat=True))


def test_patterns_that_a_dataset_brings_cannot_keep_the_worker(alice, plain, simulator):
    simulator.play({"times": None, "do": "answer", "answer": "a" * 5_000})
    rules = ["(?:a?){1000}X" * 60, "(?:a?){1000}X", "a+"]
    store_rows(
        alice, "rules", [{"question": f"{n}?", "rule": rule} for n, rule in enumerate(rules)]
    )
    document = {**plain, "dataset": "rules", "scorers": [{"regex": {"pattern_field": "rule"}}]}
    with running_worker():
        run = finish(create_run(alice, document))
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 3, 1)
    refused, slow, quick = run.scores.order_by("case__position")
    assert "is too large: RE2 makes a program of more than 10,000" in refused.error_message
    assert (slow.value, quick.value) == (0.0, 1.0)


INSTALLED = "tests.engine.installed_agents"


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setenv("EVALSITE_PLUGINS", INSTALLED)  # for the workers, which read it themselves
    install_plugins([INSTALLED])


@pytest.fixture
def fan(document, endpoint, installed):
    """A router that knows small numbers only, and two agents that fan out."""
    price = {"input": 1.0, "output": 2.0}
    endpoint.prices = {"sim-small": price, "sim-large": price}
    endpoint.save(update_fields=["prices"])
    draft = {"name": "draft", "system": TERSE, "user": "{{question}}", "models": MODELS}
    lone = {**draft, "models": MODELS[:1]}
    return {
        "name": "fan",
        "kind": "select",
        "dataset": {"name": document["dataset"], "first": 5},
        "scorers": document["scorers"],
        "limits": {**document["limits"], "max_concurrent": 4},
        "strategy": "brute_force",
        "steps": [
            {
                "name": "triage",
                "system": TERSE,
                "user": "What is 1 + 0?",
                "models": [MODELS[1]],
                "routes": {"1": "fan"},
                "default": "vote",
            },
            {"name": "fan", "agent": f"{INSTALLED}.fans_out", "calls": [draft]},
            {"name": "vote", "agent": "self_consistency", "calls": [lone]},
        ],
    }


def test_calls_of_agents_are_estimated_and_the_cap_holds_over_two_workers(alice, fan, simulator):
    simulator.change(latency_ms=10)
    for steps, calls in ((fan["steps"], 1 + 1 + 5), (fan["steps"][2:], 5)):
        found = estimate({**fan, "steps": steps}, every_dataset())
        assert (found.problems, found.calls_to_send) == ([], found.trials * calls)
    with running_worker(), running_worker():
        run = finish(create_run(alice, {**fan, "cache": "off"}))
    assert run.state == RunState.COMPLETED
    ledger = simulator.ledger()
    assert ledger["peak_in_flight"] <= 4
    assert ledger["total"] == run.calls_sent == run.done * 6
    assert run.calls_retried == 0


def test_each_call_is_shown_and_cached_answers_keep_their_price(alice, fan, simulator):
    with running_worker():
        first = finish(create_run(alice, fan))
        second = finish(create_run(alice, fan))
    assert first.cost > 0
    assert second.cost == 0.0
    assert prices_of(first) == prices_of(second)
    assert all(price > 0 for price in prices_of(second).values())
    score = first.scores.get(position=0)
    assert [call[0] for call in score.calls or ()] == ["triage", *["fan.draft"] * 5]
    page = client_of(alice).get(score.get_absolute_url()).text
    assert "1. triage" in page
    assert "Run again" not in page
    assert "6. fan.draft" in page
    assert "Skipped: vote." in page
    assert "A router chose another step." in page
    cached = client_of(alice).get(second.scores.get(position=0).get_absolute_url()).text
    assert "Without cache" in cached


def prices_of(run):
    return {row.name: round(row.dollars_per_sample or 0.0, 12) for row in selection_of(run).rows}
