"""All rows, in the order in which they are measured."""

from collections.abc import Callable
from typing import NamedTuple

from scripts.bars.cluster import PROCESSES, equal, shared
from scripts.bars.evolution import generations, sizes, wide
from scripts.bars.faults import errors, hangs
from scripts.bars.judging import Outcome
from scripts.bars.memory import million
from scripts.bars.mutation import batching
from scripts.bars.quotas import rpm600, rpm3500, rpm_unknown, tpm
from scripts.bars.speed import critics, in_flight, many, rounds, schedules
from scripts.bars.stage import Stage


class Row(NamedTuple):
    title: str
    measure: Callable[[Stage], Outcome]
    fewest_workers: int = 1


ROWS: dict[str, Row] = {
    # First: memory that other rows have used and freed would hide how much this one takes.
    "million": Row("one million planned trials", million),
    "in_flight": Row("200 ms answers, 20 to 200 in flight", in_flight),
    "critics": Row("200 ms answers, each judged by a model", critics),
    "many": Row("a thousand in flight, then from the cache", many),
    "schedules": Row("work-conserving against two-level", schedules),
    "rounds": Row("rounds of one trial", rounds),
    "errors": Row("5 % random errors", errors),
    "hangs": Row("hangs, dripping answers, resets", hangs),
    "rpm_unknown": Row("a limit on requests that only 429s tell", rpm_unknown),
    "rpm600": Row("600 requests a minute", rpm600),
    "rpm3500": Row("3,500 requests a minute", rpm3500),
    "tpm": Row("tokens a minute", tpm),
    "shared": Row("several runs and processes on one endpoint", shared, PROCESSES),
    "equal": Row("equal trials at once over several processes", equal, PROCESSES),
    "sizes": Row("evolution: population x problems, beside the guide's figures", sizes),
    "generations": Row("evolution: five generations, limits as balanced", generations),
    "wide": Row("evolution: one generation, 200 in flight", wide),
    "batching": Row("training: environments at once, beside one call at a time", batching),
}
