"""Which column of a dataset is the expected answer: guessed by its name, or said by a person."""

from collections.abc import Collection, Sequence

from workers.engine.errors import Problem

USUAL_NAMES = ("expected", "answer", "target", "label", "output")  # in this order


def guess_expected(columns: Sequence[str]) -> str:
    """The column with a usual name, in whatever case; empty if there is none."""
    for usual in USUAL_NAMES:
        found = [column for column in columns if column.strip().lower() == usual]
        if found:
            return usual if usual in found else found[0]
    return ""


def expected_problems(
    expected: str, comparing: Sequence[str], columns: Sequence[str], used: Collection[str]
) -> list[Problem]:
    """What is wrong with the column that scorers compare with. `comparing`: their names; `used`:
    the columns in prompts."""
    listed = f"Its columns: {', '.join(columns)}."
    if expected and expected not in columns:
        return [Problem("expected", f"The dataset has no column {expected!r}. {listed}")]
    needing = list(dict.fromkeys(comparing))
    if expected or not needing:
        return []
    which = f"The scorer {needing[0]} compares"
    if len(needing) > 1:
        which = f"The scorers {' and '.join(needing)} compare"
    rest = [column for column in columns if column not in used]
    what = f"Say which one it is: expected: {rest[-1]}." if rest else "Import it with one."
    told = f"{which} with an expected answer, and the dataset has no such column. {listed} {what}"
    return [Problem("expected", told)]
