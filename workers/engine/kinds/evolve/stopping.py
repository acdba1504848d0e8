"""When an evolution ends, and why: the first rule that holds."""

from collections.abc import Sequence
from typing import NamedTuple

LEAST_GAIN = 0.01  # that counts as getting better, for the patience
PLATEAU = 10  # generations with next to no gain
PLATEAU_GAIN = 0.001


class Progress(NamedTuple):
    """What the rules look at. `best` is the best fitness of each generation, on equal problems."""

    best: Sequence[float]
    diversity: float
    alive: int  # genomes that have a fitness
    evaluations: int = 0  # trials so far

    @property
    def generations(self) -> int:
        return len(self.best)


class Rules(NamedTuple):
    target_fitness: float | None
    max_generations: int
    patience: int | None
    least_diversity: float
    max_evaluations: int | None = None


def reason_to_stop(progress: Progress, rules: Rules) -> str:
    """Empty: go on."""
    best, target = progress.best, rules.target_fitness
    if progress.alive == 0:
        return "no genome has a fitness: all of its trials failed"
    if target is not None and best[-1] >= target:
        return f"the fitness {best[-1]:.3f} reached the target of {target:g}"
    if progress.generations >= rules.max_generations:
        return f"all {rules.max_generations} generations are done"
    if rules.max_evaluations is not None and progress.evaluations >= rules.max_evaluations:
        return f"{progress.evaluations:,} of at most {rules.max_evaluations:,} trials were made"
    if rules.patience is not None and stagnated(best, rules.patience):
        return f"nothing better by {LEAST_GAIN} for {rules.patience} generations"
    if progress.diversity < rules.least_diversity:
        return f"the genomes are alike: diversity {progress.diversity:.3f}"
    if rules.patience is not None and is_flat(best):
        return f"a plateau: less than {PLATEAU_GAIN} gained in {PLATEAU} generations"
    return ""


def is_flat(best: Sequence[float]) -> bool:
    return len(best) > PLATEAU and best[-1] - best[-1 - PLATEAU] < PLATEAU_GAIN


def stagnated(best: Sequence[float], patience: int) -> bool:
    """Whether the last gain that counts is too long ago. Small gains add up until they count."""
    record, since = best[0], 0
    for value in best[1:]:
        since += 1
        if value >= record + LEAST_GAIN:
            record, since = value, 0
    return since >= patience
