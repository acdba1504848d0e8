"""The runs list: counters that lead to what they count, pages, and a fixed number of queries.

And the jump box, which finds what a person may see, by name or number."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Run, RunState
from runs.selectors.health import forget_troubles
from runs.selectors.runs import run_list
from runs.services.board_figures import keep_figures
from tests.harness.factories import (
    add_candidate,
    client_of,
    make_dataset,
    make_endpoint,
    make_run,
    run_document,
)
from tests.harness.table import table
from tests.runs.comparing_parts import count
from tests.runs.conftest import show
from tests.runs.test_pages_hostile import batched, foreign_markup

pytestmark = pytest.mark.django_db

MOST_QUERIES = 10  # whatever is listed


def ids_on(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'class="primary" href="/runs/(\d+)/"', page)]


def test_the_demo_is_the_one_filled_button_of_a_first_visit_and_stays_reachable(alice, browser):
    page = browser.get(reverse("runs")).text
    assert "No runs yet" in page
    assert page.count("button-primary") == 1
    assert re.search(r"button-primary[^>]*>.*Run the demo", page, re.DOTALL)
    make_run(alice, make_dataset(alice))
    page = browser.get(reverse("runs")).text
    assert re.search(r"Try a demo</summary>.*Run the demo.*</details>", page, re.DOTALL)
    assert "No runs yet" not in page


@table(("mutate", "Find rewrites that break a model", 320), ("rollout", "Play a mission", 54))
def test_the_empty_page_offers_a_demo_of_other_kinds(browser, kind, offer, planned):
    Run.objects.all().delete()
    assert offer in browser.get(reverse("runs")).text
    answer = browser.post(reverse("run_demo"), {"kind": kind})
    run = Run.objects.get()
    assert answer.headers["Location"] == run.get_absolute_url()
    assert (run.kind, run.planned) == (kind, planned)


def test_the_number_of_queries_does_not_grow_with_the_runs(alice):
    dataset, client = make_dataset(alice), client_of(alice)

    def queries_with(view, make, number: int) -> int:
        shown = [make(alice, dataset).pk for _ in range(number)]
        forget_troubles()  # so that the health strip asks every time, not now and then
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(reverse(view), {"run": shown, "newest": shown[-1]})
        assert answer.status_code == 200
        return len(captured)

    for view, make in (("runs", make_run), ("runs_news", running)):
        queries_with(view, make, 1)  # the first visit stores the session
        assert queries_with(view, make, 2) == queries_with(view, make, 30) <= MOST_QUERIES


@pytest.mark.usefixtures("still_clock")
def test_each_counter_leads_to_the_runs_it_counts(alice):
    dataset, client = make_dataset(alice), client_of(alice)
    for state in RunState:
        make_run(alice, dataset, state=state, ended=None if state in RunState.live() else now())
    make_run(alice, dataset, state=RunState.COMPLETED, ended=now() - timedelta(days=2))
    counters = client.get(reverse("runs")).context["counters"]
    for name in ("running", "queued", "attention", "today"):
        page = client.get(reverse("runs"), {"state": name}).text
        assert len(ids_on(page)) == getattr(counters, name) > 0, name


def test_paging_there_and_back_shows_every_run_once(alice, set_constant):
    set_constant(run_list, "PAGE_SIZE", 3)
    dataset, client = make_dataset(alice), client_of(alice)
    made = [make_run(alice, dataset).pk for _ in range(8)]
    address, pages = reverse("runs"), []
    while address:
        page = client.get(address)
        pages.append((ids_on(page.text), page.context["page"].newer))
        older = page.context["page"].older
        address = f"{reverse('runs')}?before={older}" if older else ""
    assert [number for numbers, _ in pages for number in numbers] == made[::-1]
    assert len(pages) == 3
    assert ids_on(client.get(reverse("runs"), {"after": pages[-1][1]}).text) == pages[-2][0]


@pytest.mark.postgresql("types: numbers that no column can hold, and the sign that ends a text")
def test_filters_are_in_the_address_combine_and_can_be_cleared_and_mangled_ones_are_no_error(alice):
    dataset, client = make_dataset(alice), client_of(alice)
    named = (("Needle", "failed"), ("needle", "completed"), ("hay", "failed"))
    runs = [make_run(alice, dataset, name=name, state=state) for name, state in named]
    page = client.get(reverse("runs"), {"q": "NEEDLE", "state": "failed", "kind": "evaluate"})
    assert ids_on(page.text) == [runs[0].pk]
    nothing = client.get(reverse("runs"), {"q": "no such run"}).text
    assert "No runs match" in nothing
    assert "Clear the filters" in nothing
    lists = [
        *({"before": before} for before in ("x", "9" * 40)),
        *({"q": text} for text in ("\x00", "%")),
        {"state": "nonsense"},
        {"after": "-1"},
        {"kind": "'; drop"},
    ]
    assert [one for one in lists if client.get(reverse("runs"), one).status_code != 200] == []
    for query in ({"run": ["x", "9" * 30]}, {"newest": "-1"}, {"run": ["1"] * 500}):
        news = show(alice, "runs_news", **query)
        assert "data-new=" in news
        assert set(ids_on(news)) <= {run.pk for run in runs}


def running(owner, dataset, **fields):
    given = {"state": RunState.RUNNING, "started": now() - timedelta(seconds=100), "ended": None}
    return make_run(owner, dataset, **{**given, **fields})


@pytest.mark.usefixtures("still_clock")
def test_rows_come_with_what_became_of_them_and_new_runs_are_counted_by_the_filters(alice):
    dataset = make_dataset(alice)
    run = running(alice, dataset, planned=400, done=100, cached=50)
    done = make_run(alice, dataset)
    run.samples.create(second=3, fresh=75)  # long ago
    run.samples.create(second=98, fresh=5, cached=14, failed=1)
    page = show(alice, "runs_news", state="running", run=[run.pk, done.pk], newest=done.pk)
    assert ids_on(page) == [done.pk, run.pk], "a row stays when its run leaves the filter"
    assert ">12.5/min<" in page  # 20 since the second 3, 96 s ago
    assert re.search(r"100<span class=\"muted\"> / 400", page)
    assert page.count("data-is-live") == 1
    assert 'data-new="0"' in page
    newer = [running(alice, dataset).pk for _ in range(2)]
    make_run(alice, dataset)  # which the filter leaves out
    assert 'data-new="2"' in show(alice, "runs_news", state="running", newest=run.pk)
    assert 'data-new="0"' in show(alice, "runs_news", state="running")
    page = client_of(alice).get(reverse("runs"), {"state": "running"}).text
    assert f"newest={newer[-1]}" in page


def test_runs_of_others_are_not_listed_found_handed_out_or_started_from(alice, bob):
    run, client = running(alice, make_dataset(alice, "d"), name="secret"), client_of(bob)
    page = show(bob, "runs_news", run=[run.pk], newest=0)
    assert ids_on(page) == []
    assert 'data-new="0"' in page
    assert "secret" not in client.get(reverse("runs")).text
    assert "secret" in client_of(alice).get(reverse("runs")).text
    assert found(bob, "secret") == found(bob, str(run.pk)) == []
    assert client.get(reverse("run_new"), {"run": run.pk}).status_code == 404
    answer = client_of(alice).post(reverse("run_cancel", args=[run.pk]))  # its owner cancels it
    assert answer["Location"] == run.get_absolute_url()
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "Cancelled by alice.")


def found(person, text):
    return re.findall(r'href="([^"]+)"', show(person, "jump", q=text))


@pytest.mark.postgresql("types: a number that no column can hold, and the sign that ends a text")
def test_everything_is_found_by_a_part_of_its_name_or_number_and_strange_text_is_text(alice):
    make_dataset(alice, "Great sums", rows=2)
    dataset, endpoint = make_dataset(alice, "Great sums"), make_endpoint("greater")
    run = make_run(alice, dataset, name="the GREAT run")
    places = [item.get_absolute_url() for item in (run, dataset, endpoint)]
    assert found(alice, "great") == places, "only the newest version of a dataset"
    assert found(alice, "BENCH") == [reverse("benchmarks")]
    assert found(alice, "nowhere") == []
    assert set(places) < set(found(alice, ""))
    assert found(alice, f"#{run.pk}") == found(alice, str(run.pk)) == places[:1]
    dataset, client, markup = make_dataset(alice), client_of(alice), {}
    for text in ("\x00", "#", "9" * 40, "%", "²"):
        assert client.get(reverse("jump"), {"q": text}).status_code == 200
    for texts in batched(2):  # as many as a name has room for
        text = " ".join(texts)[:100]
        make_run(alice, dataset, name=text)
        markup[text] = foreign_markup(client.get(reverse("jump"), {"q": text}).text)
    assert {text: tags for text, tags in markup.items() if tags} == {}


# --- A run of 10,000 trials: its pages stay small and ask few questions

PAGES = [
    *("", "scores/", "scores/?each=1", "scores/?sort=-score&status=wrong", "scores/?case=17"),
    *("errors/", "events/", "configuration/", "leaderboard/", "pictures/", "heatmap/"),
    "tries/3/17/",
]
MOST_QUESTIONS = 20  # to the database, of any page
MOST_BYTES = 150_000
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
    """Stored by one statement: workers would need minutes for it."""
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


def test_the_pages_of_a_large_run_are_small_and_ask_little(alice, browser):
    run = make_large_run(alice, candidates=20, cases=250, repeats=2)
    told = {}
    for path in PAGES:
        with CaptureQueriesContext(connection) as asked:
            answer = browser.get(f"/runs/{run.pk}/{path}", headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200, path
        told[path] = (len(asked), len(answer.content))
    assert max(asked for asked, _ in told.values()) <= MOST_QUESTIONS, told
    assert max(size for _, size in told.values()) <= MOST_BYTES, told
    last = browser.get(f"/runs/{run.pk}/scores/?after=4949.0~4949")
    assert [row.score.position for row in last.context["rows"]] == list(range(4_950, 5_000))
    assert last.context["page"].next is None
    drawn = browser.get(f"/runs/{run.pk}/heatmap/").json()
    assert (len(drawn["rows"]), len(drawn["columns"])) == (20, 200)
    assert sum(sum(row["tries"]) for row in drawn["rows"]) == run.scored


def test_a_leaderboard_of_many_candidates_is_cut_until_all_are_asked_for(alice, browser):
    run = make_large_run(alice, candidates=100, cases=3, repeats=1)
    page = browser.get(f"/runs/{run.pk}/")
    text = page.text
    assert len(page.context["leaderboard"].rows) == 40
    assert "The best 40 of 100 candidates are shown." in text
    assert 'href="?all=1">Show all' in text
    assert len(page.content) <= MOST_BYTES
    whole = browser.get(f"/runs/{run.pk}/?all=1")
    assert len(whole.context["leaderboard"].rows) == 100
    assert f'data-leaderboard="/runs/{run.pk}/leaderboard/?all=1"' in whole.text


def test_the_errors_tab_says_why_a_run_waits_although_no_trial_has_failed(alice):
    reason = "local/large is failing; it is tried again soon. The last error: connection refused"
    run = make_run(alice, make_dataset(alice), state=RunState.RUNNING, ended=None, reason=reason)
    told = client_of(alice).get(reverse("run_errors", args=[run.pk])).text
    assert reason in told
    assert "No errors" not in told
    Run.objects.filter(pk=run.pk).update(reason="")
    assert "No errors" in client_of(alice).get(reverse("run_errors", args=[run.pk])).text
