"""Runs chosen trials again: as a new run on their cases, or in place, where the new results take
the place of the old ones."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.models import AuditAction, Run
from runs.selectors.limits.limits import decides
from runs.selectors.scores.chosen import ChosenTrials, TrialChoice, look_at
from runs.services.audit import record
from runs.services.control.retrying import (
    lock_to_go_on,
    refuse_without_endpoints,
    reopen,
    retry_failed,
)
from runs.services.events import note
from runs.services.runs import Source, create_run
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.kinds import read_configuration
from workers.engine.spec.configuration import count_trials
from workers.engine.spec.dataset_choice import MOST_NAMED as MOST_CASES

MOST_IN_PLACE = 20_000  # trials at once; their old answers are read and taken out under a lock
LONGEST_NAME = 120  # characters, as in the table
ENDING = " (rerun)"

DECIDED_ON = (
    "What this run did next was decided by these trials, so they are not run again in place: the "
    "decisions would no longer follow from the scores. Rerun them as a new run, or retry only what "
    "failed."
)
NOTHING_NAMED = (
    "Say which trials: name some, or filter by result, error, candidate or case. To run everything "
    "again, duplicate the run."
)
NONE_CHOSEN = "No trial that has a result fits. Choose others, or take a filter away."
CASES_MADE = (
    "The cases of this run were made by its kind of run and cannot be named one by one. Duplicate "
    "the run, or rerun the trials in place."
)


def rerun_as_new(
    run: Run,
    person: AbstractBaseUser,
    choice: TrialChoice,
    *,
    cache: str = "refresh",
    source: Source | None = None,
) -> Run:
    """The same frozen configuration on exactly the cases of the chosen trials; of a choice by
    candidate on its candidates only. All repeats are run. ConfigurationError if it cannot be."""
    chosen = look_at(run, choice)
    document = narrowed_document(run, choice, chosen, cache)
    what = choice.words(chosen.trials)
    made_from = (source or Source())._replace(rerun_of=run, rerun_what=what)
    return create_run(person, document, source=made_from)


def narrowed_document(
    run: Run, choice: TrialChoice, chosen: ChosenTrials, cache: str
) -> dict[str, Any]:
    if problem := problem_with_new(run, choice, chosen):
        raise ConfigurationError([Problem("", problem)])
    document = {name: each for name, each in run.document.items() if name != "held_out"}
    if choice.is_by_candidate:
        configuration = read_configuration(run.document)
        document = configuration.narrow(document, [one.document for one in chosen.candidates])
    name = (
        run.name if run.name.endswith(ENDING) else run.name[: LONGEST_NAME - len(ENDING)] + ENDING
    )
    dataset = f"{run.dataset.name}@{run.dataset.version}"
    rows = {"name": dataset, "only": list(chosen.cases)}
    return {**document, "name": name, "cache": cache, "dataset": rows}


def plan_new(run: Run, choice: TrialChoice, chosen: ChosenTrials) -> int:
    """How many trials a new run would have; ConfigurationError if there can be none."""
    configuration = read_configuration(narrowed_document(run, choice, chosen, "refresh"))
    return count_trials(configuration, len(chosen.cases))


def problem_with_new(run: Run, choice: TrialChoice, chosen: ChosenTrials) -> str:
    """Why these trials cannot be rerun as a new run; empty if they can."""
    if choice.is_everything:
        return NOTHING_NAMED
    if not chosen.trials:
        return NONE_CHOSEN
    if run.document.get("dataset") is None:
        return CASES_MADE
    if len(chosen.cases) > MOST_CASES:
        return f"These are more than {MOST_CASES:,} cases. Duplicate the run instead."
    return ""


def problem_in_place(run: Run, choice: TrialChoice, chosen: ChosenTrials) -> str:
    """Why these trials cannot be run again in place; empty if they can."""
    if choice.is_everything:
        return NOTHING_NAMED
    if not chosen.trials:
        return NONE_CHOSEN
    if choice.is_failed_ones:
        return ""
    if decides(run):
        return DECIDED_ON
    if chosen.trials > MOST_IN_PLACE:
        return (
            f"In place at most {MOST_IN_PLACE:,} trials are run again at once: narrow the choice."
        )
    return ""


@transaction.atomic
def rerun_in_place(run: Run, person: AbstractBaseUser, choice: TrialChoice) -> int:
    """How many trials are run again. A scored one is asked for anew, past the cache; a failed one
    as a retry does. What people said of the old answers goes with them."""
    if choice.is_failed_ones:
        return retry_failed(run, person)
    if problem := problem_in_place(run, choice, look_at(run, choice)):
        raise ConfigurationError([Problem("", problem)])
    locked = lock_to_go_on(run)
    scores = list(choice.scores(locked).select_related("candidate", "case"))
    refuse_without_endpoints(locked, scores)
    count = reopen(locked, scores, {score.position for score in scores if not score.is_error})
    if count:
        told = choice.words(count)
        note(locked, f"{person.get_username()} ran {told} again in place.")
        record(AuditAction.RUN_RETRIED, locked, f"{told}, in place", actor=person)
    return count
