"""The compare page: comparability first, then figures, then the cases, regressions first."""

import re
from html import unescape

import pytest
from django.utils.http import urlencode

from runs.models import Dataset, Run, RunState
from runs.roles import Role
from tests.harness.factories import add_candidate, client_of, make_dataset, make_person
from tests.runs.comparing_parts import make_scored

pytestmark = pytest.mark.django_db

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def client(alice):
    return client_of(alice)


@pytest.fixture
def questions(alice):
    return make_dataset(alice, "questions", rows=12)


@pytest.fixture
def pair(alice, questions):
    """Two fell, one rose, one failed in each, one is only in the base."""
    base = make_scored(alice, questions, [1, 1, 0, 1, None, 1, 1, 1, 1, 1, 1, 1])
    return base, make_scored(alice, questions, [0, 0, 1, None, 1, 1, 1, 1, 1, 1, 1])


def show(client, base, *others, status=200, **query):
    given = {"base": base, "with": ",".join(map(str, others)), **query}
    answer = client.get(f"/compare/?{urlencode(given)}")
    assert answer.status_code == status, answer.content
    return " ".join(unescape(answer.text).split())


def cases_in(page):
    return [int(case) for case in re.findall(r"Show the answers to case (\d+) here", page)]


def test_it_says_first_whether_they_can_be_compared_and_cases_are_filtered(client, pair):
    base, other = pair
    wanted = {
        "regressed": [0, 1],
        "improved": [2],
        "different": [0, 1, 2],
        "errored": [3, 4],  # in either
        "missing": [11],
        "nonsense": [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 2],  # all, falls first
    }
    pages = {name: show(client, base.pk, other.pk, show=name) for name in wanted}
    assert {name: cases_in(page) for name, page in pages.items()} == wanted
    page = pages["nonsense"]
    said = [
        "11 of 12 cases shared; 1 only in the base is not counted as a pass.",
        "2 trials are left out, since they failed in one of the runs (1 in the base, 1 in the "
        "other).",
        "Same dataset: questions@1.",
        f"No clear difference between run {other.pk} and run {base.pk}: -0.111",
        *("Score", "Error share", "Cost per 1,000 answers", "Latency, p95"),
        "1 better, 2 worse, 6 same",
        "no clear difference",
        "Nothing: their configurations are the same.",
    ]
    assert [text for text in said if text not in page] == []
    assert page.index("Can they be compared?") < page.index('id="verdict"') < page.index("Figures")
    assert "provisional" not in page
    [address] = re.findall(r'data-open="(/compare/trials/\?of=\d+-0&of=\d+-0)"', pages["regressed"])
    part = client.get(address, headers={"X-Part": "row"}).text
    assert ("<html" in part, "What is 0 + 1?" in part) == (False, True)
    assert f"The answer of run {base.pk} is 1." in part
    assert f"[gone: </span>{base.pk}" in part
    assert f"[new: </span>{other.pk}" in part
    assert b"<h1>Answers compared</h1>" in client.get(address).content


def test_repeats_of_a_case_are_one_row(client, alice, questions):
    first, second = (make_scored(alice, questions, [of]) for of in ([1, 1, 1], [1, 0, None]))
    page = show(client, first.pk, second.pk)
    assert cases_in(page) == [0]
    assert "3 of 3 passed" in page
    assert "1 of 3 passed" in page
    assert "−0.500 regressed" in page


def test_candidates_and_datasets_that_differ_are_matched_and_warned_of(client, alice, questions):
    moved = make_dataset(alice, "moved", rows=3)
    base = make_scored(alice, questions, [1.0] * 12, [0.0] * 12)
    other = make_scored(alice, moved, [0.0] * 3)
    page = show(client, base.pk, other.pk)
    assert "The datasets differ (questions@1 and moved@1): only cases with the same fields" in page
    assert "3 of 12 cases shared; 9 only in the base are not counted as passes." in page
    assert "Only in the base, and not compared: prompt 1 · simulated/sim-small ." in page
    assert cases_in(show(client, base.pk, other.pk, show="missing")) == list(range(3, 12))
    of_run = show(client, f"{base.pk}:1", f"{base.pk}:0")
    assert "prompt 1 · simulated/sim-small" in of_run
    assert "scores higher than candidate prompt 1" in of_run


def test_a_run_that_goes_on_is_marked_and_only_other_keys_are_shown(client, alice, questions, pair):
    document = {**pair[0].document, "prompts": [{"name": "plain", "user": "Say: {{question}}"}]}
    going = {"document": {**document, "repeats": 2}, "state": RunState.RUNNING, "ended": None}
    other = make_scored(alice, questions, [1.0] * 12, **going)
    page = show(client, pair[0].pk, other.pk)
    assert "provisional" in page
    assert f"Run {other.pk} still goes on" in page
    table = page.partition("What was set up differently")[2]
    said = ("prompts[0].user", "Say: {{question}}", "repeats", "scorers")
    assert [text in table for text in said] == [True, True, True, False]


def test_hostile_text_is_only_text(client, alice):
    dataset = make_dataset(alice, "evil", rows=2)
    dataset.cases.update(fields={"question": EVIL, "expected": EVIL})
    document = {"prompts": [{"name": EVIL, "user": EVIL}], EVIL: EVIL}
    runs = []
    for value in (1.0, 0.0):
        run = make_scored(alice, dataset, [value, value], name=EVIL)
        run.candidates.update(name=EVIL)
        run.scores.update(answer=f"{EVIL} {value}", details=[["exact", value, False, EVIL]])
        Run.objects.filter(pk=run.pk).update(
            document={**run.document, **document, "kind": "evaluate"},
            snapshot_of={"endpoints": {EVIL: {"kind": EVIL, "host": f"{EVIL}{value}"}}},
        )
        runs.append(run)
    base, other = (run.pk for run in runs)
    for page in (
        f"/compare/?base={base}&with={other}",
        f"/compare/?base={base}:0&with={other}:0",
        f"/compare/?with={base}",
        f"/compare/?base={EVIL}&with={base}",
        f"/compare/trials/?of={base}-0&of={other}-0",
    ):
        answer = client.get(page)
        assert answer.status_code in (200, 400), page
        assert EVIL not in answer.text, page


def test_ticks_become_an_address_or_a_choice_or_are_refused(client, alice, bob, questions, pair):
    base, other = (run.pk for run in pair)
    for ticks, address in (
        (f"run={other}&run={base}", f"base={base}&with={other}"),  # the oldest first
        (f"run={other}:0&run={base}:0", f"base={other}:0&with={base}:0"),
    ):
        assert client.get(f"/compare/?{ticks}")["Location"] == f"/compare/?{address}"
    elsewhere = make_scored(alice, make_dataset(alice, "elsewhere"), [1.0])
    hidden = make_scored(bob, questions, [1.0] * 12)
    for query in (f"run={base}", f"with={base}"):
        page = client.get(f"/compare/?{query}").text
        numbers = [int(n) for n in re.findall(r'name="run" value="(\d+)"', page)]
        assert numbers == [other, base, elsewhere.pk], "the same dataset first"
        assert re.search(rf'value="{base}"\s+checked', page)
    assert "Which runs?" in client.get("/compare/").text
    show(client, base, hidden.pk, status=404)
    assert client.get(f"/compare/trials/?of={base}-0&of={hidden.pk}-0").status_code == 404
    Run.objects.filter(pk=hidden.pk).update(is_shared=True)
    assert f"run {hidden.pk}" in show(client, base, hidden.pk)
    run = base
    many = ",".join(f"{run}:{n}" for n in range(10))
    for query, status, said in (
        (f"base={run}&with={many}", 400, "1 to 9 others"),
        ("run=x", 400, "names nothing to compare"),  # a tick
        (f"base=last&with={run}", 200, "There is no complete run of this"),  # of the first
        (f"base=999999&with={run}", 404, ""),
    ):
        answer = client.get(f"/compare/?{query}")
        found = (answer.status_code, said in unescape(answer.text))
        assert found == (status, True), query


def test_a_run_page_leads_here_and_the_cases_of_a_filter_become_a_dataset(client, alice, pair):
    base, other = pair
    add_candidate(other, "second")
    page = client.get(f"/runs/{other.pk}/").text
    assert f"/compare/?base=last&amp;with={other.pk}" in page
    assert [f'value="{other.pk}:{n}"' in page for n in (0, 1)] == [True, True]
    assert f"run {base.pk}" in show(client, "last", other.pk)
    rows = client.get("/runs/").text
    assert f'name="run" value="{base.pk}" form="chosen"' in rows
    assert 'id="chosen" method="get" action="/compare/"' in rows
    query = f"base={pair[0].pk}&with={pair[1].pk}&show=regressed"
    answer = client.post(f"/compare/dataset/?{query}", {"name": "fell"})
    made = Dataset.objects.get(name="fell")
    assert answer["Location"] == made.get_absolute_url()
    questions = [case.question for case in made.cases.order_by("position")]
    assert questions == ["What is 0 + 1?", "What is 1 + 1?"]
    assert made.owner == alice
    client.post(f"/compare/dataset/?{query.replace('regressed', 'missing')}", {"name": "fell"})
    assert Dataset.objects.filter(name="fell").latest("version").rows == 3
    refused = client.post(f"/compare/dataset/?{query}", {"name": " "}, follow=True)
    assert "Enter a name for the dataset." in refused.text
    Run.objects.update(is_shared=True)
    viewer = client_of(make_person("vera", role=Role.VIEWER))
    assert "as a dataset" not in viewer.get(f"/compare/?{query}").text


def test_a_page_stays_small_and_asks_only_so_often(client, alice, django_assert_max_num_queries):
    dataset = make_dataset(alice, "many", rows=60)
    values = [[float((case + row) % 3 > 0) for case in range(60)] for row in range(2)]
    runs = [make_scored(alice, dataset, *values) for _ in range(4)]
    for number in (2, 4):
        labels = [run.pk for run in runs[:number]]
        with django_assert_max_num_queries(12 + 5 * number):
            page = show(client, *labels, page=2)
        assert len(cases_in(page)) == 50
        assert "Page 2 of 3" in page
    ten = [f"{run.pk}:{candidate}" for run in runs for candidate in (0, 1)]
    assert len(client.get(f"/compare/?base={ten[0]}&with={','.join(ten[1:])}").content) < 150_000
