"""Our statistics give what scipy, statsmodels and textbooks give, and intervals that hold.

Those are imported where they are used: together they take 3 s of every process that runs tests.
"""

import itertools
import math
from itertools import product
from random import Random

import numpy
import pytest

from tests.engine.running import known
from tests.harness.table import row, table
from workers.engine.statistics import paired
from workers.engine.statistics.agreement import differ, distance, krippendorff_alpha
from workers.engine.statistics.bootstrap import bootstrap_mean
from workers.engine.statistics.clusters import Clusters, estimate_clustered, variance_of_mean
from workers.engine.statistics.distributions import (
    Z,
    deviate_of_pairs,
    largest_of_pairs,
    t_quantile,
    two_sided,
)
from workers.engine.statistics.intervals import estimate_mean, wilson
from workers.engine.statistics.repeats import Folded, figures_at, fold, pass_at_k, pass_hat_k
from workers.engine.statistics.separating import cases_needed, holm, separate

EXACT = 1e-9
TRIALS = 100  # of a simulation


def quantiles_and_tails_are_those_of_scipy():
    from scipy import stats

    assert pytest.approx(stats.norm.ppf(0.975), abs=EXACT) == Z
    for freedom in (*range(1, 60), 99, 299, 300, 301, 302, 999, 10**6):
        for level in (0.9, 0.95, 0.99):
            ours = t_quantile(freedom, level)
            assert ours == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), abs=EXACT)
    for z in (0.0, 0.3, 1.96, 5.0):
        assert two_sided(z) == pytest.approx(2 * stats.norm.sf(z), abs=EXACT)


def shares_and_means_have_the_intervals_of_statsmodels_and_scipy():
    from scipy import stats
    from statsmodels.stats.proportion import proportion_confint

    for right, n in ((0, 5), (3, 10), (17, 20), (850, 1000), (7, 7)):
        theirs = proportion_confint(right, n, method="wilson")
        assert wilson(right / n, n) == pytest.approx(theirs, abs=EXACT)
        assert estimate_mean(n, right, right) == (right / n, *wilson(right / n, n), n)
    values = [0.1, 0.4, 0.4, 0.9, 0.35]
    found = known(estimate_mean(5, sum(values), sum(value * value for value in values)))
    theirs = stats.t.interval(0.95, 4, loc=numpy.mean(values), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx(theirs, abs=EXACT)


def paired_tests_are_those_of_scipy():
    from scipy import stats

    for better, worse in ((0, 0), (5, 0), (9, 2), (30, 31), (120, 90)):
        theirs = stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
        assert paired.sign_test(better, worse) == pytest.approx(theirs, abs=EXACT)
        assert paired.sign_test(worse, better) == paired.sign_test(better, worse)
    assert paired.sign_test(600, 700) == pytest.approx(0.00603, rel=0.01)  # by the normal law
    changes = [0.4, -0.1, 0.3, 0.25, -0.05, 0.7, 0.15, 0.2]
    exact = {"permutation_type": "samples", "n_resamples": numpy.inf}
    theirs = stats.permutation_test((changes,), numpy.mean, **exact)
    assert paired.flip_signs(changes) == pytest.approx(theirs.pvalue, abs=EXACT)
    for many, p in itertools.product((2, 3, 10, 50), (0.05, 0.001, 1e-5, 1e-9)):
        width = stats.norm.isf(p / 2) * math.sqrt(2)
        theirs = stats.studentized_range.sf(width, many, numpy.inf)
        assert largest_of_pairs(p, many) == pytest.approx(theirs, abs=1e-9), (many, p)


def the_correction_for_many_candidates_is_that_of_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p_values = [0.04, 0.001, 0.2, 0.03, 0.001, 0.8, 0.012]
    theirs = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(theirs), abs=EXACT)
    assert holm([]) == []


def the_variance_of_repeats_is_that_of_statsmodels():
    import statsmodels.api

    random = Random(5)
    by_case = [[random.random() for _ in range(random.randint(1, 6))] for _ in range(40)]
    values = [value for case in by_case for value in case]
    groups = [place for place, case in enumerate(by_case) for _ in case]
    model = statsmodels.api.OLS(values, numpy.ones(len(values)))
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": groups}).bse[0]
    found = Clusters.of(by_case)
    assert math.sqrt(variance_of_mean(found)) == pytest.approx(theirs, abs=EXACT)
    estimate = known(estimate_clustered(found))
    assert estimate.value == pytest.approx(numpy.mean(values), abs=EXACT)


def the_number_of_cases_that_would_separate_is_that_of_statsmodels():
    from statsmodels.stats.power import TTestPower

    random = Random(1)
    by_case = [random.gauss(0.1, 0.5) for _ in range(50)]
    size = abs(numpy.mean(by_case)) / numpy.std(by_case, ddof=1)
    theirs = TTestPower().solve_power(effect_size=size, alpha=0.05, power=0.8)
    assert cases_needed(by_case) == pytest.approx(theirs, abs=3)  # theirs is by Student's t
    level = two_sided(deviate_of_pairs(10, 0.05))
    theirs = TTestPower().solve_power(effect_size=size, alpha=level, power=0.8)
    assert cases_needed(by_case, 10) == pytest.approx(theirs, abs=6)
    assert cases_needed([0.0, 0.0]) is None
    assert cases_needed([0.3]) is None


def agreement_is_krippendorffs():
    from krippendorff import alpha

    random = Random(3)
    units: list[list[float | None]] = []
    for _ in range(60):
        truth = random.choice([0.0, 0.25, 0.5, 1.0])
        seen = [truth if random.random() < 0.8 else random.choice([0.0, 0.5, 1.0]) for _ in "abc"]
        units.append([value if random.random() < 0.9 else None for value in seen])
    data = numpy.array(units, dtype=float).T
    labels = alpha(reliability_data=data, level_of_measurement="nominal")
    assert krippendorff_alpha(units, differ) == pytest.approx(labels, abs=EXACT)
    scale = alpha(reliability_data=data, level_of_measurement="interval")
    assert krippendorff_alpha(units, distance) == pytest.approx(scale, abs=EXACT)
    assert krippendorff_alpha([[1.0, 1.0], [1.0, 1.0]]) is None
    assert krippendorff_alpha([[1.0, None]]) is None


def test_our_numbers_are_those_of_the_libraries():
    """All in one test: a process that loads the libraries needs 3 s for it."""
    quantiles_and_tails_are_those_of_scipy()
    shares_and_means_have_the_intervals_of_statsmodels_and_scipy()
    paired_tests_are_those_of_scipy()
    the_correction_for_many_candidates_is_that_of_statsmodels()
    the_variance_of_repeats_is_that_of_statsmodels()
    the_number_of_cases_that_would_separate_is_that_of_statsmodels()
    agreement_is_krippendorffs()


def test_repeats_that_all_agree_tell_no_more_than_their_cases():
    one_each = known(estimate_clustered(Clusters.of([[1.0]] * 15 + [[0.0]] * 5)))
    ten_each = known(estimate_clustered(Clusters.of([[1.0] * 10] * 15 + [[0.0] * 10] * 5)))
    as_if_independent = known(estimate_mean(200, 150, 150))
    assert ten_each.high - ten_each.low >= one_each.high - one_each.low
    assert ten_each.high - ten_each.low > 2 * (as_if_independent.high - as_if_independent.low)
    all_right = known(estimate_clustered(Clusters.of([[1.0] * 10] * 20)))
    assert (all_right.low, all_right.high) == wilson(1.0, 20)


@table(*product([20, 100, 1000], [1, 5]))
def test_an_interval_of_95_percent_holds_in_95_percent(cases, repeats):
    random = numpy.random.default_rng(cases + repeats)
    held, times = 0, 1000
    truths = random.uniform(0.2, 0.8, (times, 1))
    of_case = random.beta(3 * truths, 3 * (1 - truths), (times, cases))  # some are easy, some hard
    for truth, right in zip(truths[:, 0], random.binomial(repeats, of_case), strict=True):
        clusters = Clusters(
            cases=cases,
            n=cases * repeats,
            total=float(right.sum()),
            total_squares=float((right**2).sum()),
            n_squares=float(cases * repeats**2),
            products=float((right * repeats).sum()),
            square_total=float(right.sum()),
        )
        found = known(estimate_clustered(clusters))
        held += found.low <= truth <= found.high
    assert 0.93 <= held / times <= 0.97


def test_the_bootstrap_is_close_to_the_exact_interval_and_repeatable():
    found = known(bootstrap_mean([[1.0]] * 70 + [[0.0]] * 30))
    assert (found.low, found.high) == pytest.approx(wilson(0.7, 100), abs=0.02)
    uneven = [[case / 37] for case in range(37)]
    assert bootstrap_mean(uneven) == bootstrap_mean(uneven)
    assert bootstrap_mean(uneven) != bootstrap_mean(uneven, seed=1)
    assert bootstrap_mean([[], []]) is None
    # The bootstrap draws cases with all their repeats.
    narrow = known(bootstrap_mean([[1.0]] * 150 + [[0.0]] * 50))
    wide = known(bootstrap_mean([[1.0] * 10] * 15 + [[0.0] * 10] * 5))
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_a_candidate_is_separable_although_its_interval_overlaps():
    """Both find the same cases hard, and one is right on eight more of them."""
    best = {case: float(case < 60) for case in range(100)}
    worse = {case: float(case < 52) for case in range(100)}
    alike = {case: float(case < 59) for case in range(100)}
    found = separate(best, {"worse": worse, "alike": alike, "unasked": {}})
    assert found["worse"].is_separable
    assert found["worse"].p == pytest.approx(largest_of_pairs(paired.sign_test(8, 0), 3))
    assert not found["alike"].is_separable
    assert found["alike"].cases_needed is not None
    assert found["alike"].cases_needed > 100
    assert found["unasked"] == (None, 1.0, None)
    assert wilson(0.52, 100)[1] > wilson(0.6, 100)[0]


@table(2, 10, 40)
def test_of_equal_candidates_the_luckiest_is_rarely_called_better(many):
    random, claims = Random(many), 0
    for _ in range(TRIALS):
        values = {
            key: {case: float(random.random() < 0.7) for case in range(60)} for key in range(many)
        }
        best = max(values, key=lambda key: sum(values[key].values()))
        found = separate(values.pop(best), values)
        claims += any(one.is_separable for one in found.values())
    assert claims <= 0.05 * TRIALS


@table((5, 2, 1), (5, 2, 3), (6, 5, 2), (4, 0, 2))
def test_one_of_k_and_all_of_k_count_every_choice_of_k_tries(tries, passed, k):
    outcomes = [True] * passed + [False] * (tries - passed)
    chosen = list(itertools.combinations(outcomes, k))
    assert pass_at_k(tries, passed, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(tries, passed, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_the_repeats_of_a_case_fold_into_one():
    assert fold([(1.0, True), (None, None), (0.0, False), (1.0, True)]) == Folded(3, 2, 2 / 3)
    assert fold([(None, None)]) is None
    assert not Folded(4, 2, 0.5).by_majority
    found = known(figures_at(2, [Folded(2, 2, 1.0), Folded(2, 1, 0.5), Folded(1, 1, 1.0)]))
    assert (found.cases, found.mean, found.majority) == (2, 0.75, 0.5)
    assert (found.pass_at_k, found.pass_hat_k) == (1.0, 0.5)
    assert figures_at(3, [Folded(2, 2, 1.0)]) is None


# Darwin's maize, crossed minus self-fertilised, in eighths of an inch. Fisher (1935) counted
# 863 + 863 of the 32,768 ways to sign them as at least as far from 0; his interval by t is
# 0.03 to 41.8.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_signs_are_flipped_as_fisher_did_and_the_interval_of_a_difference_is_students():
    assert paired.flip_signs(MAIZE) == 2 * 863 / 2**15
    assert paired.approximate_flips(MAIZE) == pytest.approx(0.0527, abs=0.004)
    changes = [math.sin(n) for n in range(1, 19)]
    every_way = paired.flip_signs(changes)
    assert paired.approximate_flips(changes) == pytest.approx(every_way, abs=0.05)
    assert paired.judge_flips(changes)[0] == pytest.approx(every_way, abs=1e-3)
    # One large change among many small ones is all that the normal law would see.
    assert paired.judge_flips([10.0] + [0.1] * 16) == (2 / 2**17, paired.SIGN_FLIPS)
    assert paired.judge_flips([1e6] + [1e4] * 16) == (2 / 2**17, paired.FINE_FLIPS)
    assert paired.judge_flips([n % 7 / 4 - 0.5 for n in range(18)]) == (
        paired.flip_signs([n % 7 / 4 - 0.5 for n in range(18)]),
        paired.SIGN_FLIPS,
    )
    # (10 - 2) / 30 -+ 1.96 sqrt(.3289 / 30)
    low, high = paired.bonett_price(better=9, worse=1, n=28)
    assert [low, high] == pytest.approx([0.0614, 0.4719], abs=1e-3)
    found = known(paired.estimate_difference(MAIZE))
    assert found.mean == pytest.approx(20.933, abs=0.001)
    assert [found.low, found.high] == pytest.approx([0.03, 41.84], abs=0.02)
    assert (found.method, found.cases) == (paired.SIGN_FLIPS, 15)
    # No change has an interval that shrinks with more cases.
    few, many = (known(paired.estimate_difference([0.0] * n)) for n in (10, 1000))
    assert few.mean == 0.0
    assert few.p == many.p == 1.0
    assert few.low < many.low < 0 < many.high < few.high
    # One case of a lone size says hardly anything.
    found = known(paired.estimate_difference([-1.0]))
    assert (found.p, found.low) == (1.0, -1.0)
    assert found.high > 0
    assert paired.estimate_difference([]) is None


@table(
    row([0, 0, 1, -1, 1], paired.SIGN_TEST, id="right and wrong"),
    row([0.5, -0.5, 0.5, 0], paired.SIGN_TEST, id="one size"),
    row([0.5, 1, 0], paired.SIGN_FLIPS, id="several sizes"),
    row([0.1 * n for n in range(1, 30)], paired.SIGN_FLIPS, id="many of few values"),
    row([math.sin(n) for n in range(1, 30)], paired.FINE_FLIPS, id="many of all values"),
    row([math.sin(n) for n in range(1, 2500)], paired.NORMAL_FLIPS, id="very many"),
    row([1.0, -1.0] * 501, paired.NORMAL_SIGNS, id="very many of one size"),
)
def test_the_method_fits_the_differences(by_case, method):
    found = known(paired.estimate_difference(by_case))
    assert found.method == method
    assert found.low <= found.mean <= found.high
    assert 0 < found.p <= 1
