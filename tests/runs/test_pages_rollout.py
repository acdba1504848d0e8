"""Rollouts in the new-run form, in estimates, and on pages with failed and missing episodes."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.urls import reverse

from runs.kinds.rollout.films import film_at
from runs.kinds.rollout.sights import sight
from runs.kinds.rollout.standing import rollout_of
from runs.models import Dataset, Run, Score
from runs.selectors.estimates.estimate import estimate
from runs.services.control.retrying import retry_failed
from runs.services.runs import create_run
from tests.engine.rollout.playing import rollout
from tests.harness.factories import client_of
from tests.harness.table import table
from tests.runs.new_run_parts import sent_by
from tests.workers.by_hand import work_through
from workers.engine.kinds import read_configuration
from workers.engine.kinds.rollout.answers import outcome_of
from workers.engine.kinds.rollout.choosing import Choice
from workers.engine.kinds.rollout.rules import episode_of, rules_of
from workers.engine.playing.game import play
from workers.engine.playing.plans import Episode
from workers.engine.records import Case, Trial
from workers.engine.records import Score as EngineScore
from workers.engine.score_records import encode_record

pytestmark = pytest.mark.django_db
played = pytest.mark.django_db(transaction=True)  # what is recorded is planned on

MISSIONS = [{"environment": f"grid/{name}", "max_steps": 40} for name in ("harvest", "maze")]


def shown_again(client, run):
    return client.get(reverse("run_new"), {"run": run.pk}).text


def test_what_the_page_shows_of_a_rollout_launches_it_again_or_leads_to_what_is_wrong(alice):
    client = client_of(alice)
    document = rollout(missions=MISSIONS, policies=["random", "seeker"], pictures="first", jobs=2)
    run = create_run(alice, {**document, "episodes": 3, "play": "each"})
    page = shown_again(client, run)
    assert 'id="mode-form"\n                checked' in page
    assert "grid/harvest\ngrid/maze" in page
    sent = {**sent_by(page), "scorers": ["exact"]}  # ticked before the kind was changed
    assert client.post(reverse("run_new"), sent).status_code == 302
    again = Run.objects.latest("pk")
    found = read_configuration(again.document)
    told = read_configuration(run.document).model_dump(exclude={"limits"})
    assert found.model_dump(exclude={"limits"}) == told
    assert (again.planned, found.limits.max_concurrent, found.scorers) == (2 * 2 * 3, 2, [])
    wrong = {**sent, "missions": "grid/nowhere", "policies": "nobody", "episodes": "many"}
    wrong["key"] = "other"
    refused = client.post(reverse("run_new"), wrong)
    assert refused.status_code == 400
    for field in ("id_missions", "id_policies", "id_episodes"):
        assert f'href="#{field}"' in refused.text
    other = create_run(alice, rollout(policies=[{"linear": {"seed": 3}}]))  # no form can say this
    assert 'id="mode-yaml"\n                checked' in shown_again(client, other)


@played
def test_an_estimate_knows_what_past_episodes_took(alice):
    document = rollout(episodes=5, jobs=2)
    first = estimate(document, Dataset.objects.none(), alice)
    assert (first.trials, first.calls_to_send, first.cost_text) == (10, 0, "$0.00")
    assert "1 s a trial is assumed" in first.basis
    assert first.seconds_high == 5
    assert work_through(create_run(alice, document), Player(document)).state == "completed"
    then = estimate(document, Dataset.objects.none(), alice)
    assert "From 10 past trials of the same candidates" in then.basis
    assert then.seconds_high < 5


class Player:
    """A worker's part: plays each episode in this process, or fails those of one candidate."""

    def __init__(self, document: dict[str, Any], failing: str = "") -> None:
        configuration = read_configuration(document)
        self._candidates = {one.key: one for one in configuration.make_candidates()}
        self._cases = configuration.make_cases() or []
        self._failing = failing

    def __call__(self, trial: Trial) -> EngineScore:
        candidate = self._candidates[trial.candidate]
        if candidate.name == self._failing:
            return EngineScore(trial, error="policy_error", message="Step 3: <b>no idea")
        case = Case(trial.case, self._cases[trial.case])
        rules = rules_of(candidate, case)
        (found,) = play(rules.plan((episode_of(case, rules.pictures),), ("inline",)))
        assert isinstance(found, Episode)
        choice = Choice("process", "inline", "<b>because", "<b>beware")
        made = outcome_of(found, [choice], together=1, at_once=1)
        reply, record = made.reply, encode_record(made.record)
        score = EngineScore(trial, made.value, answer=reply.text, record=record)
        return replace(score, latency_ms=reply.latency_ms)


@played
def test_failed_episodes_are_told_in_no_mean_and_can_be_played_again(alice, browser):
    document = rollout(episodes=2)
    run = work_through(create_run(alice, document), Player(document, failing="random"))
    page = browser.get(reverse("run", args=[run.pk])).text
    told = ("4 of 4 episodes", "2 failed and not in the means", 'data-plot="speed"')
    for text in (*told, "&lt;b&gt;because", "&lt;b&gt;beware"):
        assert text in page, text
    assert "<b>be" not in page
    assert page.count("failed: policy error") == 2
    assert re.search(r'aria-label="Returns of seeker: median [\d.]+, half of them from', page)
    assert re.search(r'aria-label="Steps of seeker: median [\d.]+, half of them from', page)
    assert "Returns of random" not in page  # all of its episodes failed
    for place, wanted in (("0", False), ("1", True), ("99", False), ("x", False)):
        shown = browser.get(reverse("run", args=[run.pk]), {"episode": place}).text
        assert ("data-replay-play" in shown) == wanted, place
        assert ("replay-window" in shown) == wanted, place
    assert "Record" in browser.get(reverse("trial", args=[run.pk, 1])).text
    assert browser.get(reverse("trial_record", args=[run.pk, 1])).json()["play"]
    assert Score.objects.filter(error_class="policy_error", value=None).count() == 2
    # Episodes played again replace those that failed; the others are not read again.
    assert rollout_of(run).missions[0].failed == 2
    assert retry_failed(run, alice) == 2
    (mission,) = rollout_of(work_through(Run.objects.get(pk=run.pk), Player(document))).missions
    assert (mission.done, mission.failed) == (4, 0)
    assert [row.position for row in mission.episodes] == [0, 1, 2, 3]
    assert all(row.score for row in mission.policies)


@played
def test_a_replay_shows_the_picture_of_its_step_or_says_why_there_is_none(alice):
    pole = {"environment": "gymnasium/CartPole-v1", "max_steps": 6}
    document = rollout(missions=[pole], policies=["still"], episodes=2, pictures="first")
    run = work_through(create_run(alice, document), Player(document))
    client, address = client_of(alice), reverse("run", args=[run.pk])
    page = client.get(address).text
    assert page.count("with pictures") == 1
    assert "At once on average" in page
    record = client.get(reverse("trial_record", args=[run.pk, 0])).json()
    shown = client.get(address, {"episode": "0", "step": "4"}).text
    assert f'src="data:image/png;base64,{record["pictures"]["png"][4]}"' in shown
    assert "After step <span data-replay-drawn>4</span>" in shown
    assert "With pictures: first" in client.get(address, {"episode": "1"}).text


@table(
    ({"steps": [0, 4, 8, 9], "every": 4, "told": ""}, 7, 4, "Every 4th step was drawn; more"),
    ({"steps": [0, 22], "every": 22, "told": "It ended."}, 50, 22, "Every 22nd step was drawn;"),
    ({"steps": [0, 1], "every": 1, "told": "It ended."}, 1, 1, "It ended."),
    ({"steps": [], "every": 1, "told": "OSError: <b>"}, 0, 0, "There are no pictures. OSError"),
    (None, 3, 0, "draws no pictures"),
)
def test_what_is_said_of_pictures(pictures, step, drawn, said):
    pngs = [f"png {n}" for n in pictures["steps"]] if pictures else []
    kept = {**pictures, "png": pngs, "width": 3, "height": 2} if pictures else None
    film = film_at({"pictures": kept}, step)
    assert (film.step, film.png) == (drawn, f"png {drawn}" if pngs else "")
    assert said in film.told


WINDOW = """\
# # # · A
· · · · ·
· · @ o ·
· · · · ·
· · · · ·"""
WALLS = "11100" + 20 * "0"
FOOD = 13 * "0" + "1" + 11 * "0"
OTHERS = "00001" + 20 * "0"


@table(
    (WALLS + FOOD + OTHERS, True, WINDOW),
    ("0101", True, "0101"),  # no window
    ([0.25, -1.0, 3], False, "0.25, -1, 3"),
    (list(range(40)), False, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … 40 in all"),
    ("01" * 30, False, "010101010101 … 60 in all"),
    (None, True, ""),  # not kept
)
def test_what_an_agent_sees_can_be_read(seen, on_grid, shown):
    assert sight(seen, on_grid=on_grid) == shown


def test_a_rollout_that_has_not_begun_has_a_page(alice, browser):
    page = browser.get(create_run(alice, rollout()).get_absolute_url())
    assert (page.status_code, "0 of 6 episodes" in page.text) == (200, True)
