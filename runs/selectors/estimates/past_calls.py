"""What past runs tell about a model: how long its calls take and how many tokens they use."""

from dataclasses import dataclass, field

from runs.models import Candidate
from workers.engine.records import JUDGED
from workers.engine.statistics.intervals import merge_bins, percentile

NEWEST_CANDIDATES = 20  # older ones say less about today


@dataclass(frozen=True)
class ModelHistory:
    """Added up over the newest candidates that used the model."""

    calls: int = 0
    latency_bins: dict[str, int] = field(default_factory=dict)
    tokens_in: float | None = None  # of a call, on average
    tokens_out: float | None = None

    def latency_ms(self, share: float) -> float | None:
        return percentile(self.latency_bins, share)


def history_of(endpoint: str, model: str, *, answering: bool = True) -> ModelHistory:
    """Of calls that answered cases, or of those that made candidates: these are much longer."""
    mine = Candidate.objects.filter(
        document__model__endpoint=endpoint, document__model__model=model, scored__gt=0
    )
    chosen = mine.filter(role__in=JUDGED) if answering else mine.exclude(role__in=JUDGED)
    rows = chosen.order_by("-pk")
    bins: dict[str, int] = {}
    calls = tokens_in = tokens_out = 0
    for row in rows.values_list("scored", "latency_bins", "tokens_in", "tokens_out")[
        :NEWEST_CANDIDATES
    ]:
        calls += row[0]
        merge_bins(bins, row[1])
        tokens_in += row[2]
        tokens_out += row[3]
    if not tokens_in:
        return ModelHistory(calls, bins)
    return ModelHistory(calls, bins, tokens_in / calls, tokens_out / calls)


def merged_latency(histories: list[ModelHistory]) -> dict[str, int]:
    bins: dict[str, int] = {}
    for history in histories:
        merge_bins(bins, history.latency_bins)
    return bins
