"""The pictures of an evolution: fitness over its generations, and the one that is being tried.

Places are in percent of a picture, so that plain SVG draws them without a script.
"""

from collections.abc import Sequence
from typing import NamedTuple

from runs import formatting
from runs.kinds.lines import STEPS, Line, Points, area, line, places, round_ticks, step_of
from runs.kinds.plots import Tick
from runs.kinds.scales import Scale, scale_of
from workers.engine.kinds.evolve.report import GenerationRow, GenomeProgress

FEWEST_CELLS = 20  # that a strip has room for: few genomes need no broad ones
MOST_CELLS = 200  # of a strip; of more genomes, neighbours share a cell
GAP = 0.2  # of a cell


class Curve(NamedTuple):
    lines: list[Line]  # the band is from the tenth to the ninetieth of a hundred
    told: str  # instead of the picture
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    begins: str  # the lowest number of the axis, if it is not 0
    failed: list[Tick]  # genomes without a fitness, from each tick to the next


class Strip(NamedTuple):
    """A cell for each genome, filled from below as its trials are done. Paths in 100 by 10."""

    empty: str
    begun: str
    done: str


def draw(rows: Sequence[GenerationRow], word: str) -> Curve:
    """`word`: what a generation is called."""
    known = [row for row in rows if row.best is not None]
    edges = [edge for row in known for edge in (row.low, row.best_so_far) if edge is not None]
    scale = scale_of(edges)  # not from 0: what is gained in a generation would hardly be seen
    last = max(1, rows[-1].number)
    return Curve(
        lines=[
            Line("evolution-band", area(highs(known), lows(known), scale, last)),
            Line("evolution-diversity", line(diversities(rows), Scale((0.0, 1.0)), last)),
            Line("evolution-mean", line([(row.number, row.mean) for row in known], scale, last)),
            Line(STEPS, steps([(row.number, row.best_so_far) for row in known], scale, last)),
        ],
        told=f"Best fitness so far {formatting.score(rows[-1].best_so_far)} "
        f"after {word} {rows[-1].number + 1}; the data table has all.",
        x_ticks=round_ticks(last),
        y_ticks=[Tick(scale.place(tick), f"{tick:.2g}") for tick in scale.ticks],
        begins=f"{scale.ticks[0]:.2g}" if scale.ticks[0] else "",
        failed=list(count_failed(rows, step_of(last), last)),
    )


def count_failed(rows: Sequence[GenerationRow], step: int, last: int) -> list[Tick]:
    counts = [
        (start, sum(row.failed for row in rows[start : start + step]))
        for start in range(0, len(rows), step)
    ]
    return [Tick(round(100 * start / last, 2), str(failed)) for start, failed in counts if failed]


def steps(points: Points, scale: Scale, last: int) -> str:
    """What was best stays best until something better is there."""
    if not points:
        return ""
    (x, y), *rest = places(points, scale, last)
    return f"M{x} {y}" + "".join(f" H{x} V{y}" for x, y in rest)


def highs(rows: Sequence[GenerationRow]) -> Points:
    return [(row.number, row.high) for row in rows]


def diversities(rows: Sequence[GenerationRow]) -> Points:
    return [(row.number, row.diversity) for row in rows]


def lows(rows: Sequence[GenerationRow]) -> Points:
    return [(row.number, row.low) for row in rows]


def draw_strip(genomes: Sequence[GenomeProgress]) -> Strip:
    share = max(1, -(-len(genomes) // MOST_CELLS))
    cells = [genomes[start : start + share] for start in range(0, len(genomes), share)]
    width = 100 / max(FEWEST_CELLS, len(cells))
    paths: dict[str, list[str]] = {"empty": [], "begun": [], "done": []}
    for place, cell in enumerate(cells):
        done, planned = sum(one.done for one in cell), sum(one.planned for one in cell)
        x = place * width
        paths["empty"].append(box(x, width, 10.0))
        if done:
            paths["done" if done >= planned else "begun"].append(box(x, width, 10 * done / planned))
    return Strip(**{name: "".join(parts) for name, parts in paths.items()})


def box(x: float, width: float, height: float) -> str:
    inner = round(width * (1 - GAP), 2)
    return f"M{x:.2f} {10 - height:.1f}h{inner}v{height:.1f}h-{inner}z"
