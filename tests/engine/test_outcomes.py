"""Targets that give a value of their own, or keep a record beside it, in one process."""

import os
from typing import Any, ClassVar

import orjson
import pytest

from tests.engine.running import run_document
from tests.toy_kind import Toy
from workers.engine.errors import BadRecord
from workers.engine.kinds import KINDS
from workers.engine.records import Candidate, Case, Outcome, Reply, Request
from workers.engine.score_records import LARGEST_RECORD, encode_record
from workers.engine.targets import Ask, Target, TargetParts
from workers.simulator.testing import SimulatorClient


@pytest.fixture
def toy(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(KINDS, "toy", Toy)
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    return {**kept, "kind": "toy", "prompt": prompt, "model": "simulated/sim-small", "rounds": 1}


async def test_a_value_is_not_judged_again_and_its_record_is_kept(
    toy: dict[str, Any], cases: list[Case], simulator: SimulatorClient
) -> None:
    first, second = await run_document(toy, cases[:2], simulator.url)
    assert (first.value, first.passed, first.judgements) == (0.5, None, ())
    steps = [{"asked": cases[0].fields["question"], "answered": first.answer}]
    record = orjson.loads(first.record or b"")
    assert record.pop("process") != os.getpid()  # away from the loop of all calls
    assert record == {"steps": steps}
    assert (len(second.judgements), second.record) == (1, None)


class Giving:
    """Gives what a test wants of it, without a call."""

    is_one_call: ClassVar[bool] = False
    outcome: ClassVar[Outcome]

    def __init__(self, parts: TargetParts) -> None:
        pass

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request | None:
        return None

    async def answer(
        self, opening: Request | None, candidate: Candidate, case: Case, repeat: int, ask: Ask
    ) -> Outcome:
        return self.outcome


class GivingToy(Toy):
    target: ClassVar[type[Target]] = Giving


TOO_LARGE = "x" * LARGEST_RECORD


@pytest.mark.parametrize(
    ("outcome", "error", "told"),
    [
        pytest.param(
            Outcome(Reply("5", 0.0), 1.0, record=TOO_LARGE),
            "bad_record",
            "The record has 1,000,002 bytes. At most 1,000,000 are kept.",
            id="too large",
        ),
        pytest.param(
            Outcome(Reply("5", 0.0), 1.0, record={"at": object()}),
            "bad_record",
            "The record is not JSON",
            id="not JSON",
        ),
        pytest.param(
            Outcome(Reply("5", 0.0), float("nan")), "scorer_error", "the value nan", id="no number"
        ),
        pytest.param(Outcome(Reply("", 0.0, flaw="no_text")), "no_text", "no text", id="no text"),
    ],
)
async def test_what_cannot_be_kept_is_an_error_that_says_why(
    toy: dict[str, Any],
    cases: list[Case],
    simulator: SimulatorClient,
    monkeypatch: pytest.MonkeyPatch,
    outcome: Outcome,
    error: str,
    told: str,
) -> None:
    monkeypatch.setitem(KINDS, "toy", GivingToy)
    monkeypatch.setattr(Giving, "outcome", outcome, raising=False)
    [score] = await run_document(toy, cases[:1], simulator.url)
    assert (score.value, score.error, score.record) == (None, error, None)
    assert told in score.message


async def test_a_value_needs_no_text(
    toy: dict[str, Any],
    cases: list[Case],
    simulator: SimulatorClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(KINDS, "toy", GivingToy)
    monkeypatch.setattr(
        Giving, "outcome", Outcome(Reply("", 0.0, flaw="no_text"), 3.5, passed=True), raising=False
    )
    [score] = await run_document(toy, cases[:1], simulator.url)
    assert (score.value, score.passed, score.error) == (3.5, True, "")


def test_the_largest_record_is_kept() -> None:
    assert len(encode_record("x" * (LARGEST_RECORD - 2)) or b"") == LARGEST_RECORD
    with pytest.raises(BadRecord):
        encode_record("x" * (LARGEST_RECORD - 1))
    assert encode_record(None) is None
