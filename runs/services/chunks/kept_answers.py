"""Keeps answers that could not be judged over a retry, in the chunk that judges them again."""

from typing import Any

from runs.models import Score
from workers.engine.json_text import to_json
from workers.engine.records import TRUNCATED, Attempt, KeptAnswer, Reply, StepCall

Document = dict[str, Any]


def answer_to_keep(score: Score, record: Any = None) -> Document | None:
    """None if the trial failed before it had an answer, or in an earlier version."""
    reply = (score.judging or {}).get("reply")
    if reply is None:
        return None
    return {
        "answer": score.answer,
        "reply": reply,
        "cached": score.cached,
        "truncated": score.truncated,
        "attempts": score.attempts,
        "calls": score.calls or [],
        "cost": score.cost,
        "full_cost": score.full_cost,
        "record": record,
    }


def read_kept(document: Document) -> KeptAnswer:
    latency_ms, tokens_in, tokens_out = document["reply"]
    reply = Reply(
        document["answer"],
        latency_ms,
        tokens_in,
        tokens_out,
        cached=document["cached"],
        flaw=TRUNCATED if document["truncated"] else "",
    )
    return KeptAnswer(
        reply,
        attempts=tuple(Attempt(*row) for row in document["attempts"]),
        calls=tuple(StepCall(*row) for row in document["calls"]),
        cost=document["cost"],
        full_cost=document["full_cost"],
        record=None if document["record"] is None else to_json(document["record"]),
    )


def kept_in(documents: dict[str, Document] | None) -> dict[int, KeptAnswer]:
    return {int(position): read_kept(one) for position, one in (documents or {}).items()}
