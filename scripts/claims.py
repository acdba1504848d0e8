"""How often equal candidates are called different, and how many cases a difference really needs.

`python scripts/claims.py`: with seeds, so that it prints the same again.
"""

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent))

from workers.engine.statistics.separating import separate

RUNS = 1000
CASES = 100
RIGHT = 0.7  # how likely a candidate is right on a case


def main() -> None:
    print("equal candidates   runs that call one worse")
    for many in (2, 5, 10, 20, 50):
        print(f"{many:16}   {100 * false_claims(many):.1f} %")
    print("candidates   cases said to be needed   power there (80 % is meant)")
    for many in (2, 10):
        needed, power = power_at_needed(many)
        print(f"{many:10}   {needed:23,}   {100 * power:.0f} %")


def false_claims(many: int) -> float:
    random = Random(many)
    return sum(is_one_called_worse(answers(random, [RIGHT] * many)) for _ in range(RUNS)) / RUNS


def answers(random: Random, shares: list[float], cases: int = CASES) -> list[dict[int, float]]:
    return [{case: float(random.random() < share) for case in range(cases)} for share in shares]


def is_one_called_worse(values: list[dict[int, float]], worst: int | None = None) -> bool:
    """Of all, or of the one at this place."""
    best = max(range(len(values)), key=lambda place: sum(values[place].values()))
    found = separate(values[best], {p: own for p, own in enumerate(values) if p != best})
    return any(one.is_behind for p, one in found.items() if worst in (None, p))


def power_at_needed(many: int) -> tuple[int, float]:
    """One is worse by 0.15 than others that are equal: asked as many cases as a pilot said."""
    random, shares = Random(many), [0.8] * (many - 1) + [0.65]
    pilot = answers(random, shares, 20_000)
    found = separate(pilot[0], dict(enumerate(pilot[1:])))
    needed = found[many - 2].cases_needed or 0
    runs = [answers(random, shares, needed) for _ in range(RUNS // 2)]
    return needed, sum(is_one_called_worse(one, many - 1) for one in runs) / len(runs)


if __name__ == "__main__":
    main()
