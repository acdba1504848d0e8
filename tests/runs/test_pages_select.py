"""The page of a selection: who leads, who was given up and why, what was saved."""

import re
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.utils.timezone import now

from runs.kinds import following
from runs.kinds.select.standing import selection_of
from runs.models import Endpoint, EndpointKind, Run, RunState
from runs.models import Score as ScoreRow
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.runs import create_run
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person, make_run
from tests.runs.selection_parts import make_selection

pytestmark = pytest.mark.django_db

CASES = 30


@pytest.fixture
def ada() -> User:
    return make_person("ada")


@pytest.fixture
def selection(ada: User) -> Run:
    make_endpoint()
    return make_selection(ada, make_dataset(ada, rows=CASES))


def test_the_report_tells_who_won_and_what_was_saved(selection: Run) -> None:
    report = selection_of(selection)
    best, other = report.rows
    assert (best.name, best.is_best, best.accuracy) == ("solver=simulated/sim-large", True, 1.0)
    assert best.low is not None
    assert best.low < 1.0
    assert best.latency_ms == 120.0
    assert best.dollars_per_sample == pytest.approx(0.002)
    assert other.eliminated_in == len(report.rounds)
    assert "1.000 worse than solver=simulated/sim-large" in other.why
    assert report.evaluations == selection.done < report.brute_force == 2 * CASES
    assert report.saved_share == 1 - selection.done / (2 * CASES)
    assert report.rounds[0].split == (2, 10)  # of 40 slots: there are two, in rounds of ten cases


def test_the_page_shows_no_more_at_once_than_there_is_and_may_be(selection: Run, ada: User) -> None:
    page = client_of(ada).get(f"/runs/{selection.pk}/").content.decode()
    assert re.search(
        r'Calls at once in the last round</span>\s*<span class="tile-value">\s*2 × 10<', page
    )
    assert re.search(r"combinations\s+× cases;\s+40 calls are allowed<", page)
    selection.snapshot_of["endpoints"]["simulated"]["max_concurrent"] = (
        4  # of each of its two models
    )
    selection.save(update_fields=["snapshot_of"])
    Run.objects.filter(pk=selection.pk).update(ended=now())
    page = client_of(ada).get(f"/runs/{selection.pk}/").content.decode()
    assert re.search(r'<span class="tile-value">\s*1 × 8<', page)
    assert re.search(r"combinations\s+× cases;\s+8 calls are allowed<", page)


def test_the_page_says_when_the_two_best_are_equal(ada: User) -> None:
    make_endpoint()
    hot = {"endpoint": "simulated", "model": "sim-large", "parameters": {"temperature": 1.0}}
    models = ["simulated/sim-large", hot]
    steps = [{"name": "solver", "user": "{{question}}", "models": models}]
    tied = make_selection(ada, make_dataset(ada, rows=CASES), steps=steps)
    page = " ".join(client_of(ada).get(f"/runs/{tied.pk}/").content.decode().split())
    assert f"on the same {CASES} cases the accuracies are equal (95 % interval" in page


def test_the_page_shows_the_combinations_and_their_fate(selection: Run, ada: User) -> None:
    page = client_of(ada).get(f"/runs/{selection.pk}/").content.decode()
    assert "Combinations</h2>" in page
    assert "as set for paired elimination" in page
    assert "Chosen: solver=sim-large</b>" in page  # the endpoint that all share is left out
    assert "Given up in round" in page
    assert 'class="given-up"' in page
    assert f"{selection.done} of {2 * CASES} evaluations" in page
    assert "data-not-separable" not in page
    assert "Compared on equal data" not in page  # both saw as many cases


def test_the_pictures_show_everybody_and_mark_the_front(selection: Run, ada: User) -> None:
    page = client_of(ada).get(f"/runs/{selection.pk}/").content.decode()
    for plot in ("latency", "price"):
        assert f'data-plot="{plot}"' in page
    assert page.count("plot-point-front") == 2  # the chosen one, in both plots
    assert 'class="arm arm-best"' in page
    assert 'class="arm arm-gone"' in page
    assert "on the front</span>" in page


def test_what_is_expected_of_the_untried_is_drawn_hollow(ada: User) -> None:
    make_endpoint()
    models = ["simulated/sim-small", "simulated/sim-large"]
    steps = [
        {"name": name, "user": "{{question}}", "models": models} for name in ("one", "two", "three")
    ]
    dataset = make_dataset(ada, rows=5)
    run = make_selection(
        ada, dataset, steps=steps, strategy={"name": "bayesian", "sample_fraction": 0.5}
    )
    page = client_of(ada).get(f"/runs/{run.pk}/").content.decode()
    assert page.count('class="arm-dot arm-expected"') == 4
    assert page.count("promising</span>") == 1


def test_the_pictures_need_no_script_and_no_inline_style(selection: Run, ada: User) -> None:
    rows = client_of(ada).get(f"/runs/{selection.pk}/leaderboard/").content.decode()
    assert not re.search(r"<script|<style|\sstyle=|\son[a-z]+\s*=\s*[\"']", rows)
    assert "<svg" in rows


def test_names_that_look_like_markup_are_text(ada: User) -> None:
    make_endpoint()
    evil = "simulated/<img src=x onerror=alert(1)>"
    step = {"name": "solver", "user": "{{question}}", "models": [evil, "simulated/sim-large"]}
    run = make_selection(ada, make_dataset(ada, rows=CASES), steps=[step])
    page = client_of(ada).get(f"/runs/{run.pk}/").content.decode()
    assert page.count("&lt;img src=x") >= 5
    assert "<img src=x" not in page


def test_a_refresh_reads_only_what_is_new(
    selection: Run, django_assert_max_num_queries: Any
) -> None:
    selection_of(selection)
    Run.objects.filter(pk=selection.pk).update(state=RunState.CANCELLED)
    changed = Run.objects.select_related("dataset").get(pk=selection.pk)
    with django_assert_max_num_queries(4) as asked:
        again = selection_of(changed)
    [history] = [q["sql"] for q in asked.captured_queries if '"latency_ms"' in q["sql"]]
    assert f'"position" >= {selection.done}' in history
    assert again.evaluations == selection.done


def test_what_was_scored_anew_is_told_anew(selection: Run) -> None:
    """As after a retry: the same number of scores, and another value."""
    before = selection_of(selection).rows[-1]
    row = selection.scores.filter(candidate__key=before.key).first()
    assert row is not None
    row.delete()
    row.pk, row.value = None, 1.0
    row.save(force_insert=True)
    Run.objects.filter(pk=selection.pk).update(ended=now())
    after = selection_of(Run.objects.get(pk=selection.pk))
    found = next(one for one in after.rows if one.key == before.key)
    assert (before.accuracy, found.accuracy) == (0.0, 1 / found.n)


def test_a_selection_that_goes_on_is_followed_to_where_a_fresh_look_would_be(
    selection: Run,
) -> None:
    rows = list(selection.scores.order_by("position"))
    asked = selection.asked
    selection.scores.all().delete()
    for end in (3, 2 * CASES // 3, asked):
        ScoreRow.objects.bulk_create(rows[selection.scores.count() : end])
        Run.objects.filter(pk=selection.pk).update(asked=end, done=end, state=RunState.RUNNING)
        run = Run.objects.get(pk=selection.pk)
        followed = selection_of(run)
        following._warm.clear()
        assert selection_of(run).rows == followed.rows


def make_many(owner: User, steps: int = 2, models: int = 7) -> Run:
    names = [f"m{number}" for number in range(models)]
    Endpoint.objects.create(name="many", kind=EndpointKind.SIMULATED, model_names=names)
    each = [f"many/{name}" for name in names]
    return create_run(
        owner,
        {
            "name": "many",
            "kind": "select",
            "dataset": make_dataset(owner, "tiny").name,
            "steps": [
                {"name": f"step{number}", "user": "{{question}}", "models": each}
                for number in range(steps)
            ],
            "scorers": ["exact"],
        },
    )


@pytest.mark.parametrize(
    ("query", "rows", "told"),
    [
        ("", 25, "24 more"),
        ("?all=1", 49, ""),
        ("?find=step0=many/m3", 7, ""),
        ("?find=step0=M3", 7, ""),
        ("?find=nobody", 0, "No combination has “nobody”"),
    ],
)
def test_of_many_combinations_the_first_and_the_last_are_shown(
    ada: User, query: str, rows: int, told: str
) -> None:
    run = make_many(ada)
    page = client_of(ada).get(f"/runs/{run.pk}/leaderboard/{query}").content.decode()
    assert page.count('<li class="arm">') == page.count("Not tried</td>") == rows
    assert told in page


def test_the_table_is_a_csv_file_and_the_choice_a_litellm_configuration(
    selection: Run, ada: User
) -> None:
    client = client_of(ada)
    table = client.get(f"/runs/{selection.pk}/combinations.csv")
    assert table["Content-Disposition"] == (
        f'attachment; filename="run-{selection.pk}-combinations.csv"'
    )
    assert len(table.content.decode().splitlines()) == 3
    config = yaml.safe_load(client.get(f"/runs/{selection.pk}/litellm.yaml").content)
    [model] = config["model_list"]
    assert model["model_name"] == "solver"
    assert model["litellm_params"] == {
        "model": "openai/sim-large",
        "api_key": "os.environ/SIMULATED_API_KEY",
    }
    assert model["model_info"]["accuracy"] == 1.0


def test_what_is_no_choice_or_chose_nothing_has_no_files(ada: User, selection: Run) -> None:
    client = client_of(ada)
    other = make_run(ada, selection.dataset)
    answer = client.get(f"/runs/{other.pk}/combinations.csv")
    assert answer.status_code == 409
    assert "no combinations" in answer.content.decode()
    nothing = make_many(ada)
    assert client.get(f"/runs/{nothing.pk}/litellm.yaml").status_code == 409


def test_before_it_is_decided_all_that_is_planned_is_a_bound(selection: Run) -> None:
    assert (
        take_snapshot(selection)["text"]["progress"]
        == f"{selection.done} of {selection.planned} trials"
    )
    selection.state, selection.ended, selection.planned = RunState.PAUSED, None, 2 * CASES
    text = take_snapshot(selection)["text"]
    assert text["progress"] == f"{selection.done} of at most {2 * CASES} trials"
    assert text["eta"] == f"paused, at most {2 * CASES - selection.done} trials left"


def test_the_rows_are_fetched_alone_while_it_goes_on(selection: Run, ada: User) -> None:
    Run.objects.filter(pk=selection.pk).update(state=RunState.RUNNING, ended=None)
    rows = client_of(ada).get(f"/runs/{selection.pk}/leaderboard/").content.decode()
    assert "Leads" in rows
    assert "<html" not in rows


@pytest.mark.parametrize("tab", ["scores", "errors", "events", "configuration"])
def test_the_other_tabs_and_a_trial_work_as_for_every_kind(
    selection: Run, ada: User, tab: str
) -> None:
    client = client_of(ada)
    assert client.get(f"/runs/{selection.pk}/{tab}/").status_code == 200
    assert client.get(f"/runs/{selection.pk}/trials/0/").status_code == 200
    assert client.get("/runs/?kind=select").status_code == 200
    assert client.get(f"/runs/new/?from={selection.pk}").status_code == 200
