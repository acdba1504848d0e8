"""Two runs compared trial by trial."""

import pytest

from workers.engine.statistics.columns import Columns, Result, columns_of
from workers.engine.statistics.comparing import PlacePair, compare, match_candidates

SAME = [PlacePair(0, 0)]


def rows(*values: float | None, candidate: int = 0, repeat: int = 0) -> list[Result]:
    return [
        Result(candidate, case, repeat, value, None if value is None else value >= 0.5, case)
        for case, value in enumerate(values)
    ]


def results(*values: float | None) -> Columns:
    return columns_of(rows(*values))


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        pytest.param({"1": "x"}, {"1": "x"}, [("1", "1")], id="the same"),
        pytest.param({"1": "x", "2": "y"}, {"3": "x", "2": "y"}, [("2", "2"), ("1", "3")], id="ed"),
        pytest.param({"1": "x"}, {"2": "y"}, [("1", "2")], id="lone ones"),
        pytest.param({"1": "x", "2": "y"}, {"3": "z"}, [], id="strangers"),
        pytest.param({"1": "x", "2": "x"}, {"3": "x"}, [], id="a name that is not unique"),
    ],
)  # fmt: skip
def test_candidates_match(
    before: dict[str, str], after: dict[str, str], pairs: list[tuple[str, str]]
) -> None:
    assert match_candidates(before, after) == pairs


def test_regressions_come_first_and_are_counted() -> None:
    found = compare(results(1, 1, 0, 0.6, 0), results(1, 0, 1, 0.4, 0), SAME)
    assert found.changed_before.tolist() == found.changed_after.tolist() == [1, 3, 2]
    assert found.fallen == 2
    assert (found.pairs, found.regressions, found.improvements) == (5, 2, 1)
    assert found.overall is not None
    assert found.overall.mean == pytest.approx((-1 - 0.2 + 1) / 5)


def test_failed_and_missing_trials_are_no_pairs_but_are_told() -> None:
    found = compare(results(1, None, 1, None), results(1, 1, None, None, 1), SAME)
    assert (found.pairs, found.failed_before, found.failed_after, found.unmatched) == (1, 1, 1, 1)


def test_repeats_and_candidates_of_a_case_count_as_one_case() -> None:
    before = columns_of(r for repeat in range(3) for r in rows(1, 1, repeat=repeat))
    after = columns_of(r for repeat in range(3) for r in rows(0, 1, repeat=repeat))
    found = compare(before, after, SAME)
    assert (found.pairs, found.regressions) == (6, 3)
    assert found.overall is not None
    assert (found.overall.mean, found.overall.cases, found.overall.p) == (-0.5, 2, 1.0)


def test_each_candidate_has_its_own_difference() -> None:
    pairs = [PlacePair(0, 0), PlacePair(1, 2)]
    before = columns_of([*rows(1, 1), *rows(1, 1, candidate=1)])
    after = columns_of([*rows(1, 1), *rows(0, 0, candidate=2), *rows(1, 1, candidate=1)])
    found = compare(before, after, pairs)
    means = [difference.mean for difference in found.by_candidate if difference]
    assert means == [0.0, -1.0]
    assert (found.pairs, found.unmatched) == (4, 2)


def test_all_repeats_count_where_one_run_has_more_of_them() -> None:
    before = columns_of(r for repeat in range(2) for r in rows(1, 1, repeat=repeat))
    after = columns_of(r for repeat in range(4) for r in rows(repeat % 2, 1, repeat=repeat))
    found = compare(before, after, SAME)
    assert found.overall is not None
    assert found.overall.mean == pytest.approx(-0.25)
    assert (found.pairs, found.regressions) == (4, 1)
    assert found.cells_after.passed.tolist() == [0.5, 1.0]


def test_a_case_that_failed_every_time_is_no_zero() -> None:
    found = compare(results(1, 1), results(None, 0.5), SAME)
    assert found.overall is not None
    assert (found.overall.mean, found.overall.cases) == (-0.5, 1)
    assert found.cells_after.failed_share.tolist() == [1.0, 0.0]
