"""Stores what a person makes of a trial: another value, a verdict, a comment; its case as a row of
a dataset."""

import math

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from runs.models import AuditAction, Case, Dataset, Override, Run, Score, Verdict
from runs.models.score import LONGEST_COMMENT
from runs.selectors.scores.chosen import TrialChoice
from runs.selectors.scores.overrides import flagged_among
from runs.services.audit import record
from runs.services.datasets.collecting import collect_cases
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.records import EVALUATE

MOST_OF_TRIAL = 100  # that may be said of one trial

USUAL = {Verdict.RIGHT: 1.0, Verdict.WRONG: 0.0}


@transaction.atomic
def override_score(
    score: Score,
    person: AbstractBaseUser,
    verdict: Verdict,
    value: float | None = None,
    comment: str = "",
) -> Override:
    """The score itself stays as it is. ConfigurationError says what makes no sense."""
    text = comment.replace("\x00", "").strip()
    if problems := problems_with(score, verdict, value, text):
        raise ConfigurationError(problems)
    given = Override.objects.create(
        score=score,
        run_id=score.run_id,
        author_id=person.pk,
        verdict=verdict,
        value=USUAL.get(verdict) if value is None else value,
        comment=text,
    )
    told = f"trial {score.position}: {verdict.label.lower()}"
    record(
        AuditAction.SCORE_OVERRIDDEN,
        score.run,
        told if given.value is None else f"{told} ({given.value:g})",
        actor=person,
    )
    return given


def problems_with(score: Score, verdict: Verdict, value: float | None, text: str) -> list[Problem]:
    problems = []
    is_judged = verdict in (Verdict.RIGHT, Verdict.WRONG, Verdict.VALUE)
    if is_judged and not score.candidate.is_evaluated:
        problems.append(Problem("verdict", "This trial is not scored: it evaluates nothing."))
    if verdict == Verdict.VALUE and value is None:
        problems.append(Problem("value", "Give the value, from 0 to 1."))
    if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
        problems.append(Problem("value", "A value is a number from 0 to 1."))
    if value is not None and not is_judged:
        problems.append(Problem("value", "Only a verdict has a value. Leave it out."))
    if verdict == Verdict.COMMENT and not text:
        problems.append(Problem("comment", "Write the comment, or give a verdict."))
    is_flagged = bool(flagged_among([score]))
    if verdict in (Verdict.FLAG, Verdict.UNFLAG) and is_flagged == (verdict == Verdict.FLAG):
        told = "is flagged already" if is_flagged else "has no flag"
        problems.append(Problem("verdict", f"This trial {told}."))
    if len(text) > LONGEST_COMMENT:
        told = f"A comment has at most {LONGEST_COMMENT:,} characters; this one {len(text):,}."
        problems.append(Problem("comment", told))
    if score.overrides.count() >= MOST_OF_TRIAL:
        told = f"{MOST_OF_TRIAL} things were said of this trial. That is the most."
        problems.append(Problem("verdict", told))
    return problems


def collect_trials(run: Run, person: AbstractBaseUser, name: str, choice: TrialChoice) -> Dataset:
    """The cases of the chosen trials, each once, in a dataset of the person. DatasetError as of an
    import."""
    scores = choice.scores(run).filter(candidate__role=EVALUATE).order_by()
    cases = Case.objects.filter(pk__in=scores.values("case")).order_by("position")
    known = run.expected_column
    return collect_cases(person, name, cases, expected=known, origin=f"run {run.pk}")


def collect_trial(score: Score, person: AbstractBaseUser, name: str, expected: str = "") -> Dataset:
    """The case of a trial in a dataset of the person, with another right answer if one is given.
    DatasetError as of an import."""
    column = score.run.expected_column or "expected"
    fields = {**score.case.fields, **({column: expected} if expected.strip() else {})}
    case = Case(dataset_id=score.case.dataset_id, position=0, fields=fields)
    known = column if column in fields else ""
    return collect_cases(person, name, [case], expected=known, origin=f"run {score.run_id}")
