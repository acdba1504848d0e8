"""Keeps answers that are not judged yet, over a retry or an interruption, in the chunk that judges
them again."""

import json
from collections.abc import Mapping
from typing import Any

from runs.models import Chunk, ChunkState, Score
from workers.engine.json_text import to_json
from workers.engine.records import TRUNCATED, Attempt, KeptAnswer, Reply, StepCall, Trial

Document = dict[str, Any]
ANEW: Document = {"anew": True}  # in the place of an answer: a person wants another one


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


def keep_unjudged(chunk_id: int, token: int, answers: Mapping[Trial, KeptAnswer]) -> None:
    """Of a chunk that is given back: also without a cache nobody asks for them again."""
    held = Chunk.objects.filter(pk=chunk_id, token=token, state=ChunkState.LEASED)
    for chunk in held:
        kept = {str(trial.position): written(answer) for trial, answer in answers.items()}
        held.update(kept={**(chunk.kept or {}), **kept})


def written(answer: KeptAnswer) -> Document:
    reply = answer.reply
    return {
        "answer": reply.text,
        "reply": (reply.latency_ms, reply.tokens_in, reply.tokens_out),
        "cached": reply.cached,
        "truncated": reply.truncated,
        "attempts": answer.attempts,
        "calls": answer.calls,
        "cost": answer.cost,
        "full_cost": answer.full_cost,
        "record": None if answer.record is None else json.loads(answer.record),
        "calls_sent": answer.calls_sent,
        "cost_saved": answer.cost_saved,
        "unpriced": answer.unpriced,
        "is_counted": answer.is_counted,
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
        calls_sent=document.get("calls_sent", 0),
        cost_saved=document.get("cost_saved", 0.0),
        unpriced=document.get("unpriced", 0),
        is_counted=document.get("is_counted", True),
    )


def kept_in(documents: dict[str, Document] | None) -> dict[int, KeptAnswer]:
    known = (documents or {}).items()
    return {int(position): read_kept(one) for position, one in known if one != ANEW}


def anew_in(documents: dict[str, Document] | None) -> frozenset[int]:
    """Positions whose answer is asked for past the cache."""
    return frozenset(int(position) for position, one in (documents or {}).items() if one == ANEW)
