"""Whether the trained policy is better than the others, in sentences."""

from collections.abc import Mapping, Sequence

from runs import formatting
from workers.engine.kinds.mutate.report import MutationReport
from workers.engine.statistics.paired import Difference, in_agreement
from workers.engine.statistics.separating import holm

ALPHA = 0.05  # of all comparisons together


def sentences_of(report: MutationReport) -> list[str]:
    """One for each rival, the p-values corrected for there being several."""
    if not report.held_out:
        return []
    known = {name: one for name, one in report.versus.items() if one is not None}
    corrected = dict(zip(known, holm([one.p for one in known.values()]), strict=True))
    trained = report.held_out[0].name
    return [sentence(trained, name, one, corrected) for name, one in known.items()]


def sentence(trained: str, rival: str, one: Difference, corrected: Mapping[str, float]) -> str:
    p = corrected[rival]
    shown = in_agreement(one._replace(p=p))
    interval = formatting.signed_interval(shown.low, shown.high)
    told = (
        f"{formatting.signed(one.mean)} ({interval}) query by query on "
        f"{formatting.counted(one.cases, 'held-out query', 'held-out queries')}, "
        f"p {formatting.p_value(p)}"
    )
    return f"{trained} is {verdict(one.mean, p)} {rival}: {told}."


def verdict(mean: float, p: float) -> str:
    if p >= ALPHA:
        return "not shown to be better than" if mean > 0 else "not better than"
    return "better, beyond chance, than" if mean > 0 else "worse, beyond chance, than"


def failures_of(failures: Mapping[str, int]) -> list[str]:
    """What failed, the most frequent first, as in `the mutator: malformed answer (40)`."""
    ordered: Sequence[tuple[str, int]] = sorted(failures.items(), key=lambda one: -one[1])
    found = []
    for name, count in ordered:
        role, _, error = name.partition("/")
        found.append(f"{role}: {error.replace('_', ' ')} ({formatting.count(count)})")
    return found
