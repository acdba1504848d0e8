"""Two runs compared trial by trial, gates, and the numbers that are drawn."""

from dataclasses import replace
from itertools import permutations
from random import Random

import numpy
import pytest

from tests.engine.running import known
from tests.harness.table import row, table
from workers.engine.statistics import intervals
from workers.engine.statistics.boxes import MOST_OUTSIDE, box_of
from workers.engine.statistics.columns import Result, columns_of
from workers.engine.statistics.comparing import PlacePair, compare, match_candidates
from workers.engine.statistics.gates import Exit, GateError, Gates, Outcome, exit_of, judge
from workers.engine.statistics.pareto import Point, dominates, front_of
from workers.engine.statistics.percentiles import FEWEST_CASES, compare_percentiles

SAME = [PlacePair(0, 0)]


def rows(*values, candidate=0, repeat=0):
    return [
        Result(candidate, case, repeat, value, None if value is None else value >= 0.5, case)
        for case, value in enumerate(values)
    ]


def results(*values):
    return columns_of(rows(*values))


@table(row({"1": "x"}, {"1": "x"}, [("1", "1")], id="the same"),
        row({"1": "x", "2": "y"}, {"3": "x", "2": "y"}, [("2", "2"), ("1", "3")], id="ed"),
        row({"1": "x"}, {"2": "y"}, [("1", "2")], id="lone ones"),
        row({"1": "x", "2": "y"}, {"3": "z"}, [], id="strangers"),
        row({"1": "x", "2": "x"}, {"3": "x"}, [], id="a name that is not unique"),
)  # fmt: skip
def test_candidates_match(before, after, pairs):
    assert match_candidates(before, after) == pairs


def test_regressions_come_first_and_failed_and_missing_trials_are_no_pairs():
    found = compare(results(1, 1, 0, 0.6, 0), results(1, 0, 1, 0.4, 0), SAME)
    assert found.changed_before.tolist() == found.changed_after.tolist() == [1, 3, 2]
    assert found.fallen == 2
    assert (found.pairs, found.regressions, found.improvements) == (5, 2, 1)
    assert known(found.overall).mean == pytest.approx((-1 - 0.2 + 1) / 5)
    # Failed and missing trials are no pairs.
    found = compare(results(1, None, 1, None), results(1, 1, None, None, 1), SAME)
    assert (found.pairs, found.failed_before, found.failed_after, found.unmatched) == (1, 1, 1, 1)
    # A case that failed every time is no zero.
    found = compare(results(1, 1), results(None, 0.5), SAME)
    overall = known(found.overall)
    assert (overall.mean, overall.cases) == (-0.5, 1)
    assert found.cells_after.failed_share.tolist() == [1.0, 0.0]


def test_repeats_of_a_case_count_as_one_case_also_where_one_run_has_more():
    before = columns_of(r for repeat in range(3) for r in rows(1, 1, repeat=repeat))
    after = columns_of(r for repeat in range(3) for r in rows(0, 1, repeat=repeat))
    found = compare(before, after, SAME)
    assert (found.pairs, found.regressions) == (6, 3)
    overall = known(found.overall)
    assert (overall.mean, overall.cases, overall.p) == (-0.5, 2, 1.0)
    # All repeats count where one run has more of them.
    before = columns_of(r for repeat in range(2) for r in rows(1, 1, repeat=repeat))
    after = columns_of(r for repeat in range(4) for r in rows(repeat % 2, 1, repeat=repeat))
    found = compare(before, after, SAME)
    assert known(found.overall).mean == pytest.approx(-0.25)
    assert (found.pairs, found.regressions) == (4, 1)
    assert found.cells_after.passed.tolist() == [0.5, 1.0]


def test_each_candidate_has_its_own_difference():
    pairs = [PlacePair(0, 0), PlacePair(1, 2)]
    before = columns_of([*rows(1, 1), *rows(1, 1, candidate=1)])
    after = columns_of([*rows(1, 1), *rows(0, 0, candidate=2), *rows(1, 1, candidate=1)])
    found = compare(before, after, pairs)
    means = [difference.mean for difference in found.by_candidate if difference]
    assert means == [0.0, -1.0]
    assert (found.pairs, found.unmatched) == (4, 2)


GOOD = Outcome("finished", "", 100, 100, 0, intervals.Estimate(0.9, 0.8, 0.95, 100), 0.9, cost=0.5)
FAILING = replace(GOOD, failed=20, value_failures_wrong=0.72)
WORSE = compare(results(*[1] * 20), results(*[1] * 10, *[0] * 10), SAME)
EQUAL = compare(results(1, 1, 0), results(1, 0, 1), SAME)
LOST = compare(results(*[1] * 8, 0), results(*[1] * 6, None, None, None), SAME)
HARDLY = compare(results(*[1] * 9), results(*[1] * 4, *[None] * 5), SAME)
NOTHING = compare(results(), results(), SAME)
ALL_FAILED = replace(GOOD, failed=100, score=None, value_failures_wrong=0.0)
NOTHING_DONE = replace(GOOD, done=0, score=None, value_failures_wrong=None)
UNPRICED = replace(GOOD, unpriced=3)
STOPPED = {end: replace(GOOD, ending=end) for end in ("budget", "errors", "failed", "cancelled")}


@table(
    row(Gates(), GOOD, None, Exit.PASSED, id="nothing asked"),
    row(Gates(min_score=0.9), GOOD, None, Exit.PASSED, id="just enough"),
    row(Gates(min_score=0.91), GOOD, None, Exit.GATE_FAILED, id="too low"),
    row(Gates(0.8, 0.2), FAILING, None, Exit.GATE_FAILED, id="failing"),
    row(Gates(), FAILING, None, Exit.TOO_MANY_ERRORS, id="an outage"),
    row(Gates(), replace(GOOD, failed=5), None, Exit.PASSED, id="some errors"),
    row(Gates(max_error_rate=0.2), FAILING, None, Exit.PASSED, id="errors allowed"),
    row(Gates(max_error_rate=0.1), FAILING, None, Exit.TOO_MANY_ERRORS, id="errors"),
    row(Gates(max_error_rate=0), GOOD, None, Exit.PASSED, id="no errors"),
    row(Gates(), ALL_FAILED, None, Exit.TOO_MANY_ERRORS, id="all failed"),
    row(Gates(min_score=0.1), NOTHING_DONE, None, Exit.GATE_FAILED, id="nothing done"),
    row(Gates(max_cost=0.5), GOOD, None, Exit.PASSED, id="cheap enough"),
    row(Gates(max_cost=0.4), GOOD, None, Exit.GATE_FAILED, id="too dear"),
    row(Gates(max_cost=9), UNPRICED, None, Exit.GATE_FAILED, id="who knows"),
    row(Gates(), GOOD, EQUAL, Exit.PASSED, id="no worse than the baseline"),
    row(Gates(), GOOD, WORSE, Exit.GATE_FAILED, id="worse than the baseline"),
    row(Gates(alpha=0.001), GOOD, WORSE, Exit.PASSED, id="not that sure"),
    row(Gates(), GOOD, NOTHING, Exit.GATE_FAILED, id="nothing to compare"),
    row(Gates(max_regressions=1), GOOD, EQUAL, Exit.PASSED, id="one may regress"),
    row(Gates(max_regressions=0), GOOD, EQUAL, Exit.GATE_FAILED, id="none may"),
    row(Gates(max_regressions=1), GOOD, LOST, Exit.GATE_FAILED, id="failing regresses"),
    row(Gates(max_regressions=2), GOOD, LOST, Exit.PASSED, id="so much may fail"),
    row(Gates(), GOOD, HARDLY, Exit.GATE_FAILED, id="too few to compare"),
    row(Gates(min_score=0.95), STOPPED["budget"], None, Exit.BUDGET_STOP, id="$"),
    row(Gates(min_score=0.95), STOPPED["errors"], None, Exit.TOO_MANY_ERRORS, id="paused"),
    row(Gates(), STOPPED["failed"], None, Exit.OUR_FAULT, id="ours"),
    row(Gates(), STOPPED["cancelled"], None, Exit.OUR_FAULT, id="gone"),
)
def test_exit_codes(gates, outcome, comparison, exit):
    checks = judge(gates, outcome, comparison)
    assert exit_of(checks) == exit
    assert all(check.told.strip() for check in checks)


def test_what_was_asked_and_found_is_told_in_plain_words():
    gates = Gates(max_error_rate=0.05, max_regressions=0)
    told = {check.name: check.told for check in judge(gates, GOOD, WORSE)}
    assert told["errors"] == "0 of 100 trials failed (0.0 %); at most 5.0 % allowed."
    assert told["baseline"].endswith(": significantly worse at alpha 0.05.")
    assert told["regressions"].endswith("; at most 0 allowed.")
    # Who is best of many was lucky: no gate judges by it alone, and none hides what came later.
    best = "The best, terse: 0.860 where it was chosen, 0.810 on 40 cases."
    plain, checks = (judge(Gates(min_score=0.5), GOOD, EQUAL, text) for text in ("", best))
    assert [check.passed for check in checks] == [check.passed for check in plain]
    assert [check.name for check in checks if best in check.told] == ["score", "baseline"]


@table(
    (Gates(max_error_rate=5), False),
    (Gates(alpha=0), True),
    (Gates(alpha=0.05), False),
    (Gates(max_regressions=0), False),
    (Gates(max_regressions=-1), True),
    (Gates(max_cost=-1), False),
)
def test_impossible_gates_are_refused(gates, has_baseline):
    with pytest.raises(GateError, match="--"):
        gates.check(has_baseline=has_baseline)


@table(
    row([], [], id="nobody"),
    row([Point(0.5, 1, 1)], [0], id="one alone"),
    row([Point(0.5, 1, 1), Point(0.6, 1, 1)], [1], id="better, else equal"),
    row([Point(0.5, 1, 1), Point(0.6, 2, 1)], [0, 1], id="better but slower"),
    row([Point(0.5, 1, 2), Point(0.5, 1, 1)], [1], id="only cheaper"),
    row([Point(0.5, 1, 1), Point(0.5, 1, 1)], [0, 1], id="equal ones both stay"),
    row([Point(0.0, 9, 9), Point(None, 1, 1)], [0], id="no quality, no place"),
    row([Point(None, None, None)], [], id="nothing known"),
    row([Point(0.6, 1, None), Point(0.5, 2, 9)], [0, 1], id="may be dearer"),
    row([Point(0.6, 1, 9), Point(0.5, 2, None)], [0], id="beaten where known"),
    row([Point(0.6, 1, None), Point(0.5, 2, None)], [0], id="price of nobody"),
)
def test_the_front(points, front):
    assert front_of(points) == front


def test_the_front_is_what_comparing_all_pairs_finds_and_no_ring_beats_everybody():
    ring = [Point(1, 1, 3), Point(1, 3, 1), Point(1, 2, None), Point(1, None, 2)]
    for order in permutations(ring):
        assert front_of(order), order
    random = Random(4)
    for _ in range(200):
        some = [random.choices([None, 1, 2, 3], k=3) for _ in range(random.randrange(12))]
        points = [Point(*values) for values in some]
        able = [place for place, point in enumerate(points) if point.quality is not None]
        beaten = [one for one in able if any(dominates(points[n], points[one]) for n in able)]
        assert front_of(points) == [place for place in able if place not in beaten]


def drawn(seed, cases=400, repeats=2, shift=0.1):
    """Latencies of two runs: hard cases are slow in both."""
    random = numpy.random.default_rng(seed)
    case = numpy.repeat(numpy.arange(cases), repeats)
    hard = random.normal(0, 0.4, cases)[case]
    before, after = (numpy.exp(6 + hard + random.normal(0, 0.4, len(case))) for _ in range(2))
    return before, case, after * numpy.exp(shift), case


def test_an_interval_is_as_wide_as_the_bootstrap_has_it_and_holds_what_it_promises():
    before, case, after, _ = drawn(seed=3)
    found = known(compare_percentiles(before, case, after, case))
    assert found.mean == pytest.approx(numpy.quantile(after, 0.95) - numpy.quantile(before, 0.95))
    random = numpy.random.default_rng(0)
    old, new = before.reshape(-1, 2), after.reshape(-1, 2)
    drawn_again = [random.integers(0, len(old), len(old)) for _ in range(400)]
    changes = [numpy.quantile(new[d], 0.95) - numpy.quantile(old[d], 0.95) for d in drawn_again]
    half = 1.96 * numpy.std(changes)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.35)
    middle = 6 + 1.6448536 * 0.32**0.5
    true = numpy.exp(middle + 0.1) - numpy.exp(middle)
    of_many = [compare_percentiles(*drawn(seed)) for seed in range(300)]
    held = sum(one.low <= true <= one.high for one in of_many if one)
    assert 0.92 <= held / 300 <= 0.99


def test_what_is_not_there_or_too_little_has_no_number_and_what_is_equal_has_one():
    few = drawn(seed=1, cases=FEWEST_CASES - 1)
    assert compare_percentiles(*few) is None
    same, cases = numpy.full(50, 100.0), numpy.arange(50)
    found = known(compare_percentiles(same, cases, same, cases))
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert intervals.estimate_mean(0, 0.0, 0.0) is None
    assert intervals.percentile({}, 0.5) is None
    assert box_of([]) is None
    # Equal scores still have a width.
    mean = known(intervals.estimate_mean(2, 1.0, 0.5))
    assert mean.low < mean.value < mean.high


@table(0.05, 0.5, 0.95)
def test_percentiles_from_bins_are_close_to_the_true_ones(share):
    random = Random(3)
    values = [random.lognormvariate(5, 1) for _ in range(5000)]
    left: dict[str, int] = {}
    right: dict[str, int] = {}
    for place, value in enumerate(values):
        intervals.add_to_bins(left if place % 2 else right, value)
    intervals.merge_bins(left, right)
    true = sorted(values)[int(share * len(values))]
    assert intervals.percentile(left, share) == pytest.approx(true, rel=0.05)


@table(
    row([3.0], (3, 3, 3, 3, 3), (), id="one value"),
    row([5.0] * 9, (5, 5, 5, 5, 5), (), id="all equal"),
    row([4.0, 2.0, 1.0, 3.0, 5.0], (1, 2, 3, 4, 5), (), id="in any order"),
    row([1, 2, 3, 4, 5, 99], (1, 2.25, 3.5, 4.75, 5), (99,), id="one outside"),
    row([0, 5, 5, 5, 5, 9], (5, 5, 5, 5, 5), (0, 9), id="both sides of no width"),
)
def test_a_box(values, five, outside):
    box = known(box_of(values))
    assert (box.low, box.first, box.median, box.third, box.high) == five
    assert box.outside == outside
    assert (box.n, box.lowest, box.highest) == (len(values), min(values), max(values))


def test_of_many_that_lie_outside_some_are_drawn_with_the_farthest():
    far = [float(number) for number in range(1000, 2000)]
    box = known(box_of([0.0, 1.0, 2.0] * 1000 + far))
    assert 2 < len(box.outside) <= MOST_OUTSIDE
    assert box.outside[-1] == box.highest == 1999
