"""The first trials that a run would make, to look at their answers before it is launched."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workers.engine.records import Candidate, Trial
from workers.engine.session import Session
from workers.engine.spec.configuration import Configuration

MOST_TRIALS = 3
LOOKED_AT = 100  # trials at the beginning of a run, among which different candidates are looked for


class FirstTrials(NamedTuple):
    trials: Sequence[Trial]
    candidates: Mapping[str, Candidate]


def first_trials(configuration: Configuration, cases: int) -> FirstTrials:
    """Some of those that the run asks for at its beginning: of different candidates as far as there
    are some, since a wrong prompt or model shows in its own trials only."""
    session = Session(configuration.begin(cases))
    asked = session.plan(LOOKED_AT)
    of_each = {trial.candidate: trial for trial in reversed(asked)}
    firsts = sorted(of_each.values(), key=lambda trial: trial.position)
    others = [trial for trial in asked if trial not in firsts]
    chosen = tuple([*firsts, *others][:MOST_TRIALS])
    named = {trial.candidate for trial in chosen}
    known = {one.key: one for one in session.candidates if one.key in named}
    return FirstTrials(sorted(chosen, key=lambda trial: trial.position), known)
