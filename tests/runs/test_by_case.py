"""Scores added up by candidate and case."""

from collections import defaultdict

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.models import Score
from runs.selectors.scores.by_case import CaseTally, tally_by_case
from tests.harness.factories import add_candidate, make_dataset, make_run, new_score

pytestmark = pytest.mark.django_db

CASES, REPEATS = 7, 3


@pytest.fixture
def run(alice):
    """Two candidates, three repeats: every fifth trial failed, values are 0, 0.5 and 1."""
    dataset = make_dataset(alice, rows=CASES)
    run = make_run(alice, dataset, planned=2 * CASES * REPEATS)
    candidates = [run.candidates.get(), add_candidate(run, "terse")]
    scores: list[Score] = []
    for repeat in range(REPEATS):
        for case in dataset.cases.all():
            for candidate in candidates:
                at = len(scores)
                value = {"value": at % 3 / 2, "passed": at % 3 == 2}
                fields = value if at % 5 else {"error_class": "timeout"}
                scores.append(new_score(run, case, candidate, at, repeat=repeat, **fields))
    Score.objects.bulk_create(scores)
    return run


@pytest.mark.postgresql("SQL: sums by candidate and case, in one query")
def test_every_candidate_and_case_is_added_up_in_one_query(run):
    by_hand: dict[tuple[int, int], list[Score]] = defaultdict(list)
    for score in run.scores.all():
        by_hand[score.candidate_id, score.case_id].append(score)
    with CaptureQueriesContext(connection) as asked:
        found = tally_by_case(run)
    assert len(asked) == 1
    assert [(each.candidate_id, each.case_id) for each in found] == sorted(by_hand)
    for each in found:
        scores = by_hand[each.candidate_id, each.case_id]
        values = [score.value for score in scores if score.value is not None]
        assert each.n == len(values)
        assert each.total == sum(values)
        assert each.passes == sum(bool(score.passed) for score in scores)
        assert (each.failures, each.done) == (len(scores) - len(values), REPEATS)
        assert each.mean == (sum(values) / len(values) if values else None)


def test_a_case_that_only_failed_has_no_mean_and_other_candidates_are_left_out(run):
    first = run.scores.order_by("candidate_id", "case_id")[0]
    alike = run.scores.filter(candidate=first.candidate, case=first.case)
    alike.update(value=None, passed=None, error_class="timeout")
    tally = tally_by_case(run)[0]
    assert tally == CaseTally(first.candidate_id, first.case_id, 0, 0.0, 0, REPEATS)
    assert tally.mean is None
    make_run(run.owner, run.dataset)
    wanted = run.candidates.get(position=1).pk
    assert [each.candidate_id for each in tally_by_case(run, [wanted])] == [wanted] * CASES
