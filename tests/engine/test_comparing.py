"""Two runs compared trial by trial."""

import pytest

from workers.engine.statistics.comparing import CandidatePair, Result, compare, match_candidates

SAME = [CandidatePair("a", "a")]


def results(*values: float | None, candidate: str = "a", repeat: int = 0) -> list[Result]:
    return [
        Result(candidate, case, repeat, value, None if value is None else value >= 0.5, case)
        for case, value in enumerate(values)
    ]


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
    assert [(pair.before.case, pair.is_regression) for pair in found.changed] == [
        (1, True),
        (3, True),
        (2, False),
    ]
    assert (found.pairs, found.regressions, found.improvements) == (5, 2, 1)
    assert found.overall is not None
    assert found.overall.mean == pytest.approx((-1 - 0.2 + 1) / 5)


def test_failed_and_missing_trials_are_no_pairs_but_are_told() -> None:
    found = compare(results(1, None, 1, None), results(1, 1, None, None, 1), SAME)
    assert (found.pairs, found.failed_before, found.failed_after, found.unmatched) == (1, 1, 1, 1)


def test_repeats_and_candidates_of_a_case_count_as_one_case() -> None:
    before = [r for repeat in range(3) for r in results(1, 1, repeat=repeat)]
    after = [r for repeat in range(3) for r in results(0, 1, repeat=repeat)]
    found = compare(before, after, SAME)
    assert (found.pairs, found.regressions) == (6, 3)
    assert found.overall is not None
    assert (found.overall.mean, found.overall.cases, found.overall.p) == (-0.5, 2, 1.0)


def test_each_candidate_has_its_own_difference() -> None:
    pairs = [CandidatePair("a", "a"), CandidatePair("b", "c")]
    before = [*results(1, 1), *results(1, 1, candidate="b")]
    after = [*results(1, 1), *results(0, 0, candidate="c")]
    found = compare(before, after, pairs).by_candidate
    means = [difference.mean for difference in found.values() if difference]
    assert means == [0.0, -1.0]
