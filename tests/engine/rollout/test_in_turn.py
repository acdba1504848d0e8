"""`levels` without missions: the next mission is planned when all of this one was told."""

from tests.engine.rollout.playing import rollout
from workers.engine.kinds import read_configuration
from workers.engine.records import Score, Trial
from workers.engine.session import Session


def test_no_trial_of_the_next_mission_exists_before_this_one_has_ended() -> None:
    """However many workers there are: what is not planned, nobody can play."""
    missions = ["grid/harvest", "grid/maze", "grid/crowd"]
    document = rollout(missions=missions, episodes=2, levels=["episodes", "agents"])
    configuration = read_configuration(document)
    cases = configuration.make_cases() or []
    session, history = Session(configuration.begin(len(cases))), []
    played: list[str] = []
    for number in range(3):
        trials = session.plan(3) + session.plan(100)
        assert len(trials) == 4  # 2 policies x 2 episodes
        assert session.plan(100) == []
        assert {cases[trial.case]["mission"] for trial in trials} == {missions[number]}
        played += [f"{cases[trial.case]['mission']}/{trial.candidate}" for trial in trials]
        for trial in reversed(trials):
            assert not session.plan(1)
            session.absorb([scored(trial)])
            history.append(scored(trial))
        again = Session(configuration.begin(len(cases)))
        again.replay(session.asked, history)
        assert (again.asked, again.told) == (session.asked, session.told)
    assert session.is_finished
    assert sorted(played) == sorted(2 * list(dict.fromkeys(played)))


def scored(trial: Trial) -> Score:
    return Score(trial, value=1.0)


def test_with_missions_all_of_them_go_on_at_once() -> None:
    configuration = read_configuration(rollout(missions=["grid/harvest", "grid/maze"], episodes=2))
    cases = configuration.make_cases() or []
    assert [case["mission"] for case in cases] == ["grid/harvest", "grid/maze"] * 2
    assert len(Session(configuration.begin(len(cases))).plan(100)) == 8
