"""What people say of a trial: kept beside the score, shown, counted apart, in files and the API."""

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse

from runs.models import AuditAction, AuditEntry, Dataset, Override, Score
from runs.selectors.runs.leaderboard import leaderboard
from runs.selectors.scores.lines import read_lines
from runs.services.removing.retention import BELONGINGS
from tests.harness.factories import add_score, client_of, make_dataset, make_run
from tests.runs.comparing_parts import make_scored
from tests.runs.conftest import show

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice, dataset):
    """Trial 0 was right, 1 wrong, 2 failed: a mean of 0.5."""
    return make_scored(alice, dataset, [1.0, 0.0, None])


def say(person, run, position, *, follow=False, **posted):
    address = reverse("trial_override", args=[run.pk, position])
    return client_of(person).post(address, posted, follow=follow).text


def board_row(run):
    (row,) = leaderboard(run)
    return row


@pytest.mark.postgresql("aggregates: the newest verdict of each trial, beside sums of scores")
def test_the_newest_verdict_stands_beside_the_score_which_stays_and_is_taken_back(alice, run):
    say(alice, run, 1, verdict="right", comment="7 is <b>fine</b>, too.")
    score = run.scores.get(position=1)
    assert (score.value, score.passed) == (0.0, False)
    page = show(alice, "trial", run.pk, 1)
    assert "7 is &lt;b&gt;fine&lt;/b&gt;, too." in page
    assert "counts beside the score" in page
    row = board_row(run)
    assert (row.value, row.changed, row.changed_value) == (0.5, 1, 1.0)
    assert "1 changed by people" in client_of(alice).get(run.get_absolute_url()).text
    order = list(BELONGINGS)
    assert order.index(Override) < order.index(Score)  # it is removed with it
    (entry,) = AuditEntry.objects.filter(action=AuditAction.SCORE_OVERRIDDEN.value)
    assert (entry.actor, entry.detail) == ("alice", "trial 1: right (1)")
    say(alice, run, 1, verdict="value", value="0.5")
    say(alice, run, 1, verdict="comment", comment="Half of it.")
    assert board_row(run).changed_value == 0.75
    say(alice, run, 1, verdict="original")
    assert (board_row(run).changed, board_row(run).changed_value) == (0, None)
    assert Override.objects.count() == 4  # nothing is lost
    say(alice, run, 2, verdict="wrong")  # which had failed
    row = board_row(run)
    assert (row.value, row.n, row.changed) == (0.5, 2, 1)
    assert row.changed_value == pytest.approx(1 / 3)


NONSENSE: list[dict[str, str]] = [
    {},
    {"verdict": "odd"},
    {"verdict": "comment"},
    {"verdict": "value"},
    {"verdict": "value", "value": "7"},
    {"verdict": "value", "value": "nan"},
    {"verdict": "original", "value": "1"},
    {"verdict": "comment", "comment": "x" * 2001},
]


def test_what_makes_no_sense_is_refused_and_who_only_sees_a_run_is_not_asked(alice, run, bob):
    client, address = client_of(alice), reverse("trial_override", args=[run.pk, 1])
    for number, posted in enumerate(NONSENSE, start=1):  # nobody reads them in between
        told = get_messages(client.post(address, posted).wsgi_request)
        assert [one.level_tag for one in told] == ["error"] * number, posted
    assert "notice-error" in client.get(reverse("trial", args=[run.pk, 1])).text
    assert not Override.objects.exists()
    run.is_shared = True
    run.save()
    assert 'name="verdict"' not in show(bob, "trial", run.pk, 1)


def test_files_have_columns_of_what_people_said(alice, run):
    assert [line["human_value"] for line in read_lines(run)] == [None, None, None]
    say(alice, run, 1, verdict="right", comment="=1+1")
    lines = list(read_lines(run))
    human = {name: value for name, value in lines[1].items() if name.startswith("human")}
    assert human == {
        "human_value": 1.0,
        "human_passed": True,
        "human_by": "alice",
        "human_comment": "=1+1",
    }
    assert (lines[1]["value"], lines[0]["human_by"]) == (0.0, None)
    text = client_of(alice).get(reverse("run_scores_csv", args=[run.pk])).getvalue().decode()
    assert "human_comment" in text.splitlines()[0]
    assert ",=1+1" not in text  # no formula for whoever opens it


def test_the_api_writes_and_reads_them(alice, asker, run):
    address = f"/runs/{run.pk}/trials/1"
    made = asker.post(f"{address}/overrides", {"verdict": "value", "value": 0.25})
    assert made.status_code == 201
    given = made.json()
    assert (given["verdict"], given["value"], given["passed"]) == ("value", 0.25, None)
    shown = asker.get(address).json()
    assert (shown["value"], [one["author"] for one in shown["overrides"]]) == (0.0, ["alice"])
    assert asker.post(f"{address}/overrides", {"verdict": "value"}).status_code == 422
    absent = asker.post(f"/runs/{run.pk}/trials/99/overrides", {"verdict": "right"})
    assert absent.status_code == 404
    (row,) = asker.get(f"/runs/{run.pk}/candidates").json()["data"]
    assert (row["value"], row["changed"], row["changed_value"]) == (0.5, 1, 0.625)


def test_the_case_can_be_added_to_a_dataset_with_the_right_answer(alice, run, bob):
    client, address = client_of(alice), reverse("trial_collect", args=[run.pk, 1])
    for name, expected, column in (("hard", "two, not 2", "two, not 2"), ("kept", "", "2")):
        posted = {"name": name, "expected": expected}
        assert "The case is in" in client.post(address, posted, follow=True).text
        dataset = Dataset.objects.get(name=name)
        assert [case.fields["expected"] for case in dataset.cases.all()] == [column]
        assert (dataset.owner, dataset.expected_column) == (alice, "expected")
        client.post(reverse("trial_collect", args=[run.pk, 0]), posted | {"expected": ""})
        assert Dataset.objects.filter(name=name).latest("version").rows == 2
    make_dataset(bob, "bobs")
    assert "notice-error" in client.post(address, {"name": "bobs"}, follow=True).text
    assert Dataset.objects.filter(name="bobs").count() == 1


def test_a_flag_is_set_shown_found_and_removed(alice, browser, asker, run):
    assert "Flagged:" in say(alice, run, 1, verdict="flag", follow=True)
    again = say(alice, run, 1, verdict="flag", follow=True)
    assert "This trial is flagged already." in again
    assert "Remove the flag" in again
    scores = reverse("run_scores", args=[run.pk])
    found = browser.get(scores, {"status": "flagged"})
    assert [row.score.position for row in found.context["rows"]] == [1]
    assert ">flagged</span>" in found.text
    assert board_row(run).changed == 0  # a flag says nothing of the value
    removed = say(alice, run, 1, verdict="unflag", follow=True)
    assert "The flag is removed." in removed
    assert "Flag</button>" in removed
    assert not browser.get(scores, {"status": "flagged"}).context["rows"]
    assert "has no flag" in say(alice, run, 1, verdict="unflag", follow=True)
    assert asker.post(f"/runs/{run.pk}/trials/2/overrides", {"verdict": "flag"}).status_code == 201
    found = asker.get(f"/runs/{run.pk}/scores?status=flagged").json()["data"]
    assert [row["case"] for row in found] == [2]


def test_the_cases_of_many_trials_become_a_dataset(browser, run):
    for name, query, rows in (
        ("trials", {"trial": ["0", "2"]}, 2),
        ("row", {"row": ["0,1"]}, 1),
        ("both", {"row": ["0,1", "7,1", "x", "0"], "trial": ["2"]}, 2),
        ("filtered", {"status": "failed"}, 1),
        ("all", {}, 3),
    ):
        address = reverse("run_collect_trials", args=[run.pk], query=query)
        browser.post(address, {"name": name})
        dataset = Dataset.objects.get(name=name)
        assert (dataset.rows, dataset.expected_column) == (rows, "expected"), name
    address = reverse("run_collect_trials", args=[run.pk])
    assert "3 cases" in browser.get(address).text
    assert "all v1 has 3 rows" in browser.post(address, {"name": name}, follow=True).text
    assert Dataset.objects.filter(name=name).count() == 1, "nothing was new"
    assert browser.post(address, {"name": " "}).status_code == 400
    assert "None of these trials" in browser.get(f"{address}?trial=99").text


def test_the_same_trial_is_found_in_other_runs(alice, run, bob):
    """Of the same candidate on the same row, also of another version; never of a stranger's run."""
    for owner, value, prompt in ((alice, 1.0, "plain"), (bob, 1.0, "plain"), (alice, 0.5, "other")):
        other = make_run(owner, run.dataset, name=f"by {owner.username}, {prompt}")
        if prompt == "other":
            other.candidates.update(key="another")
        fields = {"value": value, "passed": value == 1.0}
        add_score(other, run.dataset.cases.get(position=1), other.candidates.get(), 0, **fields)
    text = " ".join(show(alice, "trial", run.pk, 1).split())
    assert "The same trial in other runs" in text
    assert "by alice, plain" in text
    assert ("+1.00" in text, "by bob" in text) == (True, False)
    assert "by alice, other" not in text
    assert "The same trial in other runs" not in show(alice, "trial", run.pk, 0)
