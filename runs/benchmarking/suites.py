"""The suites with bars, by name. The suite `speed` has curves instead."""

from runs.benchmarking.evolution.rows import EVOLUTION_ROWS
from runs.benchmarking.limits.row import Row
from runs.benchmarking.limits.rows import ROWS
from runs.benchmarking.mutation.rows import MUTATION_ROWS

SPEED, LIMITS, EVOLUTION, MUTATION = "speed", "limits", "evolution", "mutation"
SUITES: dict[str, dict[str, Row]] = {
    LIMITS: ROWS,
    EVOLUTION: EVOLUTION_ROWS,
    MUTATION: MUTATION_ROWS,
}
