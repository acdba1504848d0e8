"""What passes, what does not, and with which exit code."""

from dataclasses import replace

import pytest

from tests.engine.test_comparing import SAME, results
from workers.engine.statistics.comparing import compare
from workers.engine.statistics.gates import Exit, GateError, Gates, Outcome, exit_of, judge
from workers.engine.statistics.intervals import Estimate

GOOD = Outcome("finished", "", 100, 100, 0, Estimate(0.9, 0.8, 0.95, 100), 0.9, cost=0.5)
FAILING = replace(GOOD, failed=20, value_failures_wrong=0.72)
WORSE = compare(results(*[1] * 20), results(*[1] * 10, *[0] * 10), SAME)
EQUAL = compare(results(1, 1, 0), results(1, 0, 1), SAME)
NOTHING = compare(results(), results(), SAME)


@pytest.mark.parametrize(
    ("gates", "outcome", "comparison", "exit"),
    [
        pytest.param(Gates(), GOOD, None, Exit.PASSED, id="nothing asked"),
        pytest.param(Gates(min_score=0.9), GOOD, None, Exit.PASSED, id="just enough"),
        pytest.param(Gates(min_score=0.91), GOOD, None, Exit.GATE_FAILED, id="too low"),
        pytest.param(Gates(min_score=0.8), FAILING, None, Exit.GATE_FAILED, id="failing"),
        pytest.param(Gates(max_error_rate=0.2), FAILING, None, Exit.PASSED, id="errors allowed"),
        pytest.param(Gates(max_error_rate=0.1), FAILING, None, Exit.TOO_MANY_ERRORS, id="errors"),
        pytest.param(Gates(max_error_rate=0), GOOD, None, Exit.PASSED, id="no errors"),
        pytest.param(
            Gates(), replace(GOOD, failed=100, score=None, value_failures_wrong=0.0), None,
            Exit.TOO_MANY_ERRORS, id="all failed",
        ),
        pytest.param(
            Gates(min_score=0.1), replace(GOOD, done=0, score=None, value_failures_wrong=None),
            None, Exit.GATE_FAILED, id="nothing done",
        ),
        pytest.param(Gates(max_cost=0.5), GOOD, None, Exit.PASSED, id="cheap enough"),
        pytest.param(Gates(max_cost=0.4), GOOD, None, Exit.GATE_FAILED, id="too dear"),
        pytest.param(
            Gates(max_cost=9), replace(GOOD, unpriced=3), None, Exit.GATE_FAILED, id="who knows"
        ),
        pytest.param(Gates(), GOOD, EQUAL, Exit.PASSED, id="no worse than the baseline"),
        pytest.param(Gates(), GOOD, WORSE, Exit.GATE_FAILED, id="worse than the baseline"),
        pytest.param(Gates(alpha=0.001), GOOD, WORSE, Exit.PASSED, id="not that sure"),
        pytest.param(Gates(), GOOD, NOTHING, Exit.GATE_FAILED, id="nothing to compare"),
        pytest.param(Gates(max_regressions=1), GOOD, EQUAL, Exit.PASSED, id="one may regress"),
        pytest.param(Gates(max_regressions=0), GOOD, EQUAL, Exit.GATE_FAILED, id="none may"),
        pytest.param(
            Gates(min_score=0.95), replace(GOOD, ending="budget"), None, Exit.BUDGET_STOP, id="$"
        ),
        pytest.param(
            Gates(min_score=0.95), replace(GOOD, ending="errors"), None, Exit.TOO_MANY_ERRORS,
            id="paused for errors",
        ),
        pytest.param(Gates(), replace(GOOD, ending="failed"), None, Exit.OUR_FAULT, id="ours"),
        pytest.param(Gates(), replace(GOOD, ending="cancelled"), None, Exit.OUR_FAULT, id="gone"),
    ],
)  # fmt: skip
def test_exit_codes(gates: Gates, outcome: Outcome, comparison: object, exit: Exit) -> None:
    checks = judge(gates, outcome, comparison)  # type: ignore[arg-type]
    assert exit_of(checks) == exit
    assert all(check.told.strip() for check in checks)


def test_what_was_asked_and_found_is_told_in_plain_words() -> None:
    gates = Gates(max_error_rate=0.05, max_regressions=0)
    told = {check.name: check.told for check in judge(gates, GOOD, WORSE)}
    assert told["errors"] == "0 of 100 trials failed (0.0 %); at most 5.0 % allowed."
    assert told["baseline"].endswith(": significantly worse at alpha 0.05.")
    assert told["regressions"].endswith("; at most 0 allowed.")


@pytest.mark.parametrize(
    ("gates", "has_baseline"),
    [
        (Gates(max_error_rate=5), False),
        (Gates(alpha=0), True),
        (Gates(alpha=0.05), False),
        (Gates(max_regressions=0), False),
        (Gates(max_regressions=-1), True),
        (Gates(max_cost=-1), False),
    ],
)
def test_impossible_gates_are_refused(gates: Gates, has_baseline: bool) -> None:
    with pytest.raises(GateError, match="--"):
        gates.check(has_baseline=has_baseline)


def test_a_score_is_told_with_that_of_held_out_cases() -> None:
    """Who is best of many was lucky: no gate judges by it alone, and none hides what came later."""
    told = "The best, terse: 0.860 where it was chosen, 0.810 on 40 cases."
    plain, checks = (judge(Gates(min_score=0.5), GOOD, EQUAL, text) for text in ("", told))
    assert [check.passed for check in checks] == [check.passed for check in plain]
    assert [check.name for check in checks if told in check.told] == ["score", "baseline"]
