"""A run of 10,000 trials: its pages stay small and ask few questions."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.harness.factories import client_of
from tests.runs.large_runs import make_large_run

pytestmark = pytest.mark.django_db

PAGES = [
    "",
    "scores/",
    "scores/?each=1",
    "scores/?sort=-score&status=wrong",
    "scores/?case=17",
    "errors/",
    "events/",
    "configuration/",
    "leaderboard/",
    "pictures/",
    "heatmap/",
    "tries/3/17/",
]
MOST_QUESTIONS = 20  # to the database, of any page
MOST_BYTES = 150_000


def test_the_pages_of_a_large_run_are_small_and_ask_little(alice):
    run = make_large_run(alice, candidates=20, cases=250, repeats=2)
    client = client_of(alice)
    told = {}
    for path in PAGES:
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(f"/runs/{run.pk}/{path}", headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200, path
        told[path] = (len(asked), len(answer.content))
    assert max(asked for asked, _ in told.values()) <= MOST_QUESTIONS, told
    assert max(size for _, size in told.values()) <= MOST_BYTES, told
    last = client.get(f"/runs/{run.pk}/scores/?after=4949.0~4949")
    assert [row.score.position for row in last.context["rows"]] == list(range(4_950, 5_000))
    assert last.context["page"].next is None
    drawn = client.get(f"/runs/{run.pk}/heatmap/").json()
    assert (len(drawn["rows"]), len(drawn["columns"])) == (20, 200)
    assert sum(sum(row["tries"]) for row in drawn["rows"]) == run.scored


def test_a_leaderboard_of_many_candidates_is_cut_until_all_are_asked_for(alice):
    run = make_large_run(alice, candidates=100, cases=3, repeats=1)
    client = client_of(alice)
    page = client.get(f"/runs/{run.pk}/")
    text = page.content.decode()
    assert len(page.context["leaderboard"].rows) == 40
    assert "The best 40 of 100 candidates are shown." in text
    assert 'href="?all=1">Show all' in text
    assert len(page.content) <= MOST_BYTES
    whole = client.get(f"/runs/{run.pk}/?all=1")
    assert len(whole.context["leaderboard"].rows) == 100
    assert f'data-leaderboard="/runs/{run.pk}/leaderboard/?all=1"' in whole.content.decode()
