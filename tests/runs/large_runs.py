"""A run with very many trials, stored by one statement: workers would need minutes for it."""

from django.contrib.auth.models import User
from django.db import connection
from django.utils.timezone import now

from runs.models import Run
from runs.services.board_figures import keep_figures
from tests.harness.factories import add_candidate, make_dataset, make_run, run_document
from tests.runs.comparing_parts import count

# In the order of Grid; every 97th trial failed, and the later a candidate comes, the worse it is.
FILL = """
WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < {last})
INSERT INTO runs_score (
    run_id, position, candidate_id, case_id, repeat, value, passed, error_class, error_message,
    answer, details, attempts, latency_ms, tokens_in, tokens_out, cost, full_cost, cached,
    truncated, calls, judging, finished)
SELECT
    {run}, i, candidate.id, sample.id, i / ({candidates} * {cases}),
    CASE WHEN i % 97 = 0 THEN NULL ELSE {right} END,
    CASE WHEN i % 97 = 0 THEN NULL ELSE {right} = 1 END,
    CASE WHEN i % 97 = 0 THEN 'timeout' ELSE '' END,
    CASE WHEN i % 97 = 0 THEN 'No answer.' ELSE '' END,
    'The answer to this question is, after all is said, number ' || i,
    '[["exact", 1.0, true, "is the expected answer"]]', '[["call", "ok", 1.0, 100.0, ""]]',
    100 + i % 50, 40, 12, 0.0001, 0.0001, {no}, {no}, NULL, NULL, %s
FROM numbers
JOIN runs_candidate AS candidate
    ON candidate.run_id = {run} AND candidate.position = i % {candidates}
JOIN runs_case AS sample
    ON sample.dataset_id = {dataset} AND sample.position = (i / {candidates}) % {cases}
"""
RIGHT = (
    "CASE WHEN (i * 7919) % 1009 < 900 - 600 * (i % {candidates}) / {candidates} THEN 1 ELSE 0 END"
)


def make_large_run(owner: User, *, candidates: int, cases: int, repeats: int) -> Run:
    dataset = make_dataset(owner, name=f"{cases} sums", rows=cases)
    trials = candidates * cases * repeats
    document = run_document(dataset, repeats=repeats)
    run = make_run(owner, dataset, planned=trials, asked=trials, document=document)
    for place in range(1, candidates):
        add_candidate(run, f"prompt {place}")
    values = {
        "run": run.pk,
        "dataset": dataset.pk,
        "candidates": candidates,
        "cases": cases,
        "last": trials - 1,
        "right": RIGHT.format(candidates=candidates),
        "no": "FALSE",
    }
    with connection.cursor() as cursor:
        cursor.execute(FILL.format(**values).replace("%", "%%").replace("%%s", "%s"), [now()])
    count(run)
    keep_figures(run.pk)
    return run
