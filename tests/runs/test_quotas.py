"""What one person may use, by quota and by the minute: shown, refused with what to do, paused."""

from datetime import timedelta
from itertools import cycle, islice

import pytest
from django.urls import reverse
from django.utils.timezone import now

from runs.models import AuditEntry, Dataset, Endpoint, PersonQuota, Run, RunState
from runs.roles import Role
from runs.selectors.quotas import Quota, bytes_of, quota_of, spent_on_day
from runs.services.chunks.totals import begin_day
from runs.services.control.resuming import resume_run
from runs.services.datasets.storing import DatasetError
from runs.services.day_dollars import watch_day
from runs.services.people.quotas import set_person_quota, set_role_quota
from runs.services.people.roles import give_role
from runs.services.quotas import QuotaExceeded
from runs.services.removing.retention import delete_some_answers, remove_run
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_person, make_run, run_document
from tests.runs.conftest import at_once
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

DEAR = {"sim-small": {"input": 1000.0, "output": 1000.0}}
NOTHING_SAID = dict.fromkeys(Quota._fields)


@pytest.fixture(autouse=True)
def noon(time_machine):
    """Neither the day nor a minute ends in the middle of a test."""
    time_machine.move_to(now().replace(hour=12), tick=False)


@pytest.fixture
def document(bob, endpoint):
    return run_document(make_dataset(bob))


def say(ada, person, **values):
    set_person_quota(ada, person.pk, {**NOTHING_SAID, **values})


def spend(person, dollars, dataset, **fields):
    """A run that cost so much today."""
    return make_run(person, dataset, cost=dollars, **{"cost_day": now().date(), **fields})


def test_a_person_goes_before_the_role_and_the_role_before_the_site(bob, document, ada, settings):
    assert quota_of(bob) == Quota(2_000_000, 50, None, None, None, 20)
    run = create_run(bob, document)
    assert (run.quota, run.promised) == ({}, 0.0)
    assert "Your quota" not in client_of(bob).get(reverse("run_new")).text
    settings.DOLLARS_PER_DAY = 9.0
    assert quota_of(bob).dollars_per_day == 9.0
    set_role_quota(ada, Role.RUNNER, {**NOTHING_SAID, "dollars_per_day": 5.0, "slots": 7})
    assert (quota_of(bob).dollars_per_day, quota_of(bob).slots) == (5.0, 7)
    say(ada, bob, dollars_per_day=2.0)
    assert (quota_of(bob).dollars_per_day, quota_of(bob).slots) == (2.0, 7)
    assert quota_of(ada).dollars_per_day == 9.0


def test_a_launch_beyond_a_quota_is_refused_and_says_what_to_do(ada, bob, document):
    make_run(bob, Dataset.objects.get(), state=RunState.RUNNING, ended=None)
    for values, told in (
        ({"trials_per_run": 2}, "3 trials are more than the 2 that a run of yours may have"),
        ({"active_runs": 1}, "You have 1 run that has not ended, and 1 is allowed"),
        ({"stored_megabytes": 0}, "0 B are allowed. Delete datasets"),
    ):
        say(ada, bob, **values)
        answer = Asker(bob).post("/runs", {"configuration": document})
        assert answer.status_code == 422
        assert told in answer.json()["detail"]
        assert "ask an administrator (ada) to raise your quota." in answer.json()["detail"]
    with pytest.raises(DatasetError, match="Delete datasets or prompts that you no longer need"):
        make_dataset(bob, "more")
    assert bytes_of(bob.pk) > 100
    assert (Run.objects.count(), Dataset.objects.count()) == (1, 1)
    say(ada, bob, trials_per_run=1)
    page = client_of(bob).post(reverse("run_demo"), follow=True).text
    assert "360 trials are more than the 1 that a run of yours may have" in page


def test_the_prompt_library_is_no_way_around_the_storage(ada, bob):
    say(ada, bob, stored_megabytes=1)
    asker, words = Asker(bob), "x" * 99_000
    contents = [{"user": f"{n}{words}", "system": words} for n in range(6)]
    sent = [{"name": "long", "content": content} for content in contents]
    answers = [asker.post("/prompts", body) for body in sent]
    assert [answer.status_code for answer in answers] == [201] * 5 + [422]
    assert "Delete datasets or prompts" in answers[-1].json()["detail"]
    assert 900_000 < bytes_of(bob.pk) <= 1024 * 1024


def test_the_dollars_of_a_day_count_what_was_spent_on_it(bob, document):
    dataset = Dataset.objects.get()
    run = spend(bob, 3.0, dataset, cost_before_day=1.0)
    spend(bob, 5.0, dataset, cost_day=now().date() - timedelta(days=1))
    assert spent_on_day(bob.pk, now()) == 2.0
    tomorrow = now() + timedelta(days=1)
    assert spent_on_day(bob.pk, tomorrow) == 0.0
    begin_day(run, tomorrow.date())
    run.cost += 0.5
    run.save()
    assert spent_on_day(bob.pk, tomorrow) == 0.5
    spend(bob, 1.0, dataset)
    for removed in Run.objects.all():
        remove_run(removed.pk, Run.objects.all(), "erased", delete_some_answers)
    assert (spent_on_day(bob.pk, tomorrow), spent_on_day(bob.pk, now())) == (0.5, 1.0)


def test_a_launch_counts_by_our_own_estimate_not_by_the_clients(ada, bob, document):
    Endpoint.objects.update(prices=DEAR)
    say(ada, bob, dollars_per_day=1.0)
    sent = {"configuration": document, "estimate": {"cost": 0}}
    assert Asker(bob).post("/runs", sent).status_code == 422  # unknown field: it is not taken
    spend(bob, 0.9, Dataset.objects.get())
    with pytest.raises(QuotaExceeded, match=r"Of your \$1\.00 a day \$0\.90 are used") as refused:
        create_run(bob, document)
    assert "set a budget of at most that, wait until midnight UTC" in str(refused.value)
    document["budget"] = {"dollars": 0.05}
    assert create_run(bob, document).promised == pytest.approx(0.05)
    with pytest.raises(QuotaExceeded, match=r"runs under way may take \$0\.05"):
        create_run(bob, {**document, "budget": {"dollars": 0.06}})


@pytest.mark.postgresql("locks: launches of one person wait for each other")
@pytest.mark.django_db(transaction=True)
def test_launches_at_once_cannot_exceed_the_day(ada, bob, document):
    """Each would fit alone; only two fit together."""
    Endpoint.objects.update(prices=DEAR)
    say(ada, bob, dollars_per_day=1.0)
    document["budget"] = {"dollars": 0.4}

    def is_launched():
        try:
            create_run(bob, document)
        except QuotaExceeded:
            return False
        return True

    assert sum(at_once(*[is_launched] * 8)) == 2
    assert sum(Run.objects.values_list("promised", flat=True)) == pytest.approx(0.8)


def test_a_run_pauses_when_the_day_is_used_up_and_goes_on_with_more(ada, bob, document):
    dataset = Dataset.objects.get()
    run = make_run(bob, dataset, state=RunState.RUNNING, ended=None, going_since=now())
    say(ada, bob, dollars_per_day=1.0)
    run.refresh_from_db()
    assert run.quota == {"dollars_per_day": 1.0}  # also a run that was under way
    watch_day(run, now())
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    spend(bob, 1.2, dataset)
    watch_day(run, now())
    run.refresh_from_db()
    assert run.state == RunState.PAUSED
    assert "The $1.00 a day of its owner are used up: resume it after midnight UTC" in run.reason
    page = client_of(bob).get(run.get_absolute_url()).text
    assert "The $1.00 a day of its owner are used up" in page
    with pytest.raises(ConfigurationError, match="have the quota raised"):
        resume_run(run, bob)
    say(ada, bob, dollars_per_day=2.0)
    assert resume_run(run, bob)
    run.refresh_from_db()
    assert (run.state, run.quota) == (RunState.RUNNING, {"dollars_per_day": 2.0})


def test_pages_and_the_api_show_a_quota_before_it_bites(ada, bob, document):
    say(ada, bob, dollars_per_day=5.0, active_runs=3, slots=9)
    spend(bob, 3.1, Dataset.objects.get())
    form = client_of(bob).get(reverse("run_new")).text
    assert "$3.10 of $5.00 used today (UTC)" in form
    assert "9 calls at once over all runs" in form
    assert "$3.10 of $5.00" in client_of(bob).get(reverse("password")).text
    admins = client_of(ada).get(reverse("people")).text
    assert reverse("person_quota", args=[bob.pk]) in admins
    assert "$3.10" in admins
    me = Asker(bob).get("/me").json()
    assert me["quota"] == Quota(2_000_000, 3, 5.0, None, 9, 20)._asdict()
    assert (me["name"], me["role"], me["used"]["dollars_today"]) == ("bob", "runner", 3.1)


def test_an_administrator_sets_a_quota_on_its_page_and_it_is_recorded(ada, bob):
    browser, address = client_of(ada), reverse("person_quota", args=[bob.pk])
    assert "no limit" in browser.get(address).text
    own = Asker(bob).patch("/me", {"dollars_per_day": 100})  # nobody raises their own
    assert own.status_code == 422
    refused = browser.post(address, {"active_runs": "0"})
    assert (refused.status_code, PersonQuota.objects.count()) == (400, 0)
    assert "Give 1 or more, or nothing." in refused.text
    assert browser.post(address, {"dollars_per_day": "2.5"}).status_code == 302
    assert quota_of(bob).dollars_per_day == 2.5
    row = AuditEntry.objects.get(action="quota.changed")
    assert (row.actor, row.subject, row.detail) == ("ada", "bob", "dollars_per_day 2.5")
    browser.post(reverse("role_quota", args=["viewer"]), {"active_runs": "4"})
    give_role(ada, bob.pk, Role.VIEWER)
    assert quota_of(type(bob).objects.get(pk=bob.pk)).active_runs == 4
    assert browser.get(reverse("role_quota", args=["nobody"])).status_code == 404


# --- Pages that compute their answer do so only so often a minute for one person

LIMIT = 1
SENTENCE = "More than 1 request a minute. Wait "
YAML = """name: mine
dataset: sums
prompts: [{name: a, user: "{{question}}"}]
models: [simulated/sim-small]
scorers: [exact]
"""
FORMS = {
    "/runs/estimate/": {"mode": "yaml", "yaml": YAML},
    "/runs/dry/": {"mode": "yaml"},
    "/runs/new/": {"mode": "yaml", "yaml": YAML},
    "/datasets/import/": {"name": "new", "text": "question\n1 + 1?\n", "step": "import"},
    "/datasets/promptfoo/": {"text": "prompts: [a]", "step": "look"},
    "/prompts/new/": {"prompt-name": "a"},
}


@pytest.fixture
def low_limit(settings):
    settings.WORK_REQUESTS_PER_MINUTE = LIMIT


def refused_by(browser, address, method="post", **headers):
    """The first refusal. Where Redis is too slow to be asked, the process lets in as many again."""
    for _ in range(2 * LIMIT + 1):
        answer = getattr(browser, method)(address, FORMS.get(address, {}), headers=headers)
        if answer.status_code == 429:
            return answer
        assert answer.status_code in {200, 302, 400}
    raise AssertionError(f"{address} is not limited")


@pytest.mark.usefixtures("low_limit", "dataset")
def test_too_many_in_a_minute_are_told_to_wait(bob):
    """Each page counts, for each person apart."""
    for number, address in enumerate(FORMS):
        browser = client_of(make_person(f"person {number}"))
        assert browser.post(address, FORMS[address]).status_code != 429, "others do not count"
        refused = refused_by(browser, address)
        assert SENTENCE in refused.text
        assert 1 <= int(refused["Retry-After"]) <= 60
    assert browser.get("/runs/new/").status_code == 200
    addresses = islice(cycle(FORMS), 2 * LIMIT + 1)  # at most LIMIT of each: they count together
    answers = [client_of(bob).post(address, FORMS[address]).status_code for address in addresses]
    assert answers[0] != 429
    assert 429 in answers


@pytest.mark.usefixtures("low_limit")
def test_a_script_gets_the_sentence_alone_and_reading_every_row_counts(
    ada, alice, bob, endpoint, dataset
):
    preview = refused_by(client_of(ada), "/datasets/import/", **{"X-Part": "preview"})
    assert (SENTENCE in preview.text, "<html" in preview.text) == (True, False)
    report = refused_by(client_of(ada), f"/endpoints/{endpoint.pk}/test/", **{"X-Part": "report"})
    assert report.text.startswith(SENTENCE)
    Dataset.objects.update(is_shared=True)
    for person, page in ((alice, "report"), (bob, "changes")):
        address = f"/datasets/{dataset.pk}/{page}/"
        assert client_of(person).get(address).status_code == 200
        refused_by(client_of(person), address, "get")
