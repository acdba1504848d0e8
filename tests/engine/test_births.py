"""Candidates that are born while a run goes on, and targets with values of their own."""

import os
from typing import ClassVar

import orjson
import pytest

from tests.engine.running import run_document, table_of
from tests.harness.factories import toy_document
from tests.harness.table import row, table
from tests.toy_kind import Climb, Toy
from workers.engine.errors import BadRecord, ConfigurationError
from workers.engine.kinds import KINDS, read_configuration
from workers.engine.records import EVALUATE, PROPOSE, Candidate, Case, Outcome, Reply, Request
from workers.engine.score_records import LARGEST_RECORD, encode_record
from workers.engine.session import Session
from workers.engine.strategies import Strategy
from workers.engine.targets import Ask, Target, TargetParts

ROUNDS = 4


@pytest.fixture
def toy(document, monkeypatch):
    monkeypatch.setitem(KINDS, "toy", Toy)
    return toy_document(document, rounds=ROUNDS)


def replayed(toy, cases, scores):
    session = Session(read_configuration(toy).open_strategy(len(cases)))
    session.replay(len(scores), scores)
    return session


def roles_of(candidates):
    return [candidate.role for candidate in candidates]


async def test_each_round_tries_the_prompt_that_a_model_wrote_at_any_speed(toy, cases, simulator):
    scores = await run_document(toy, cases, simulator.url)
    session = replayed(toy, cases, scores)
    candidates = session.candidates
    assert roles_of(candidates) == [EVALUATE, *[PROPOSE, EVALUATE] * (ROUNDS - 1)]
    assert len(scores) == ROUNDS * len(cases) + ROUNDS - 1
    assert not [score for score in scores if score.error]
    answers = {score.trial.candidate: score for score in scores}
    for proposal, child in zip(candidates[1::2], candidates[2::2], strict=True):
        told = answers[proposal.key]
        assert (told.value, told.passed, told.judgements) == (1.0, None, ())
        assert child.document["prompt"]["system"] == told.answer
    # A replay bears the same.
    keys = list(dict.fromkeys(score.trial.candidate for score in scores))
    assert [candidate.key for candidate in candidates] == keys
    assert session.plan(100) == []
    assert session.is_finished
    toy["limits"] = {**toy["limits"], "max_concurrent": 1}
    assert table_of(await run_document(toy, cases, simulator.url)) == table_of(scores)


@table(
    row({"do": "status", "status": 400}, id="it fails"),
    row({"do": "answer", "answer": "Say {{expected}}."}, id="it names another column"),
)
async def test_a_proposal_of_no_use_has_no_child_and_ends_nothing(toy, cases, simulator, fault):
    simulator.play({"match": {"contains": "Rewrite"}, **fault})
    toy["fail_on_error"] = 0.01  # of evaluations
    scores = await run_document(toy, cases, simulator.url)
    candidates = replayed(toy, cases, scores).candidates
    assert roles_of(candidates)[:4] == [EVALUATE, PROPOSE, PROPOSE, EVALUATE]
    assert roles_of(candidates).count(EVALUATE) == ROUNDS - 1


class Careless(Climb):
    """Lets a model name a column that there is not."""

    def __init__(self, toy: Toy, cases: int) -> None:
        super().__init__(toy, cases)
        self._allowed |= {"nothing"}


class CarelessToy(Toy):
    def open_strategy(self, cases: int) -> Strategy:
        return Careless(self, cases)


async def test_a_birth_that_no_case_can_fill_is_refused_at_once(toy, cases, simulator, monkeypatch):
    monkeypatch.setitem(KINDS, "toy", CarelessToy)
    simulator.play({"match": {"contains": "Rewrite"}, "do": "answer", "answer": "Say {{nothing}}."})
    with pytest.raises(ConfigurationError, match=r"child 1: \{\{nothing\}\} is not a column"):
        await run_document(toy, cases, simulator.url)


async def test_a_strategy_is_told_no_answer_it_did_not_ask_for(toy, cases, simulator, set_constant):
    """Or it would learn here what no replay can tell it."""
    set_constant(Climb, "hears", frozenset())
    scores = await run_document(toy, cases, simulator.url)
    assert len(scores) == len(cases) + ROUNDS - 1


async def test_a_value_is_not_judged_again_and_its_record_is_kept(toy, cases, simulator):
    first, second = await run_document({**toy, "rounds": 1}, cases[:2], simulator.url)
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


REPLY, SILENCE = Reply("5", 0.0), Reply("", 0.0, flaw="no_text")
TOO_LARGE = "The record has 1,000,002 bytes. At most 1,000,000 are kept."


@table(
    row(Outcome(REPLY, 1.0, record="x" * LARGEST_RECORD), "bad_record", TOO_LARGE, id="too large"),
    row(Outcome(REPLY, 1.0, record=object()), "bad_record", "is not JSON", id="not JSON"),
    row(Outcome(REPLY, float("nan")), "scorer_error", "the value nan", id="no number"),
    row(Outcome(SILENCE), "no_text", "no text", id="no text"),
    row(Outcome(SILENCE, 3.5, passed=True), "", "", id="a value needs no text"),
)
async def test_what_is_not_kept_says_why(toy, cases, simulator, monkeypatch, outcome, error, told):
    monkeypatch.setitem(KINDS, "toy", GivingToy)
    monkeypatch.setattr(Giving, "outcome", outcome, raising=False)
    [score] = await run_document({**toy, "rounds": 1}, cases[:1], simulator.url)
    kept = (None, None) if error else (3.5, True)
    assert (score.value, score.passed, score.error, score.record) == (*kept, error, None)
    assert told in score.message


def test_the_largest_record_is_kept():
    assert len(encode_record("x" * (LARGEST_RECORD - 2)) or b"") == LARGEST_RECORD
    with pytest.raises(BadRecord):
        encode_record("x" * (LARGEST_RECORD - 1))
    assert encode_record(None) is None
