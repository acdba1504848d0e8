"""How well the judges of a panel agree, over the trials of a run."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import F
from pydantic import BaseModel

from runs.models import Run
from workers.engine.errors import ConfigurationError, ScorerFailed
from workers.engine.kinds import read_configuration
from workers.engine.records import Judgement
from workers.engine.scorers import build_scorer
from workers.engine.scorers.critics.base import CriticScorer
from workers.engine.statistics.agreement import krippendorff_alpha

MOST_TRIALS = 2_000  # spread over the run: more would make its page slow and alpha no better
DIGITS = 2  # of a vote: judges mean no more by their numbers


class Judge(BaseModel):
    """One of a panel. A mean far from the others' is that of a lenient or a harsh judge."""

    model: str
    mean: float | None


class PanelAgreement(BaseModel):
    """`alpha` is Krippendorff's, for values on a scale: 1 where the judges always agree, 0 where
    they might as well guess, null where all of them said the same of every answer. `unanimous` is
    the share of trials that all judges find right, or all wrong, null where none has a verdict.
    `not_judged` are trials of the run that have an answer and no score, since one of the judges, or
    another scorer, failed."""

    scorer: str
    judges: list[Judge]
    trials: int
    of_trials: int
    alpha: float | None
    unanimous: float | None
    not_judged: int


def agreement_of(run: Run) -> list[PanelAgreement]:
    """One for each panel that has judged something, or failed to; none for most runs, without a
    query."""
    panels = panels_of(run)
    if not panels:
        return []
    votes: dict[int, list[tuple[float, ...]]] = {place: [] for place in panels}
    for details in read_details(run):
        for place, found in votes.items():
            said = Judgement.read(details[place]) if place < len(details) else None
            if said is not None and len(said.votes) == len(panels[place].bench):
                found.append(tuple(round(vote, DIGITS) for vote in said.votes))
    not_judged = run.scores.filter(error_class=ScorerFailed.name).count() if run.failed else 0
    return [
        agreement(run, panels[place], found, not_judged)
        for place, found in votes.items()
        if found or not_judged
    ]


def panels_of(run: Run) -> dict[int, CriticScorer]:
    """By their place among the scorers, which is that of their judgements."""
    try:
        chosen = read_configuration(run.document).scorers
        scorers = [build_scorer(one.name, one.options) for one in chosen]
    except (ConfigurationError, ValueError):  # a plug-in of it is gone
        return {}
    return {
        place: one
        for place, one in enumerate(scorers)
        if isinstance(one, CriticScorer) and one.is_panel
    }


def read_details(run: Run) -> Iterator[list[list[Any]]]:
    scores = run.scores.filter(value__isnull=False)
    step = -(-run.scored // MOST_TRIALS)
    if step > 1:
        scores = scores.annotate(place=F("position") % step).filter(place=0)
    return scores.values_list("details", flat=True).iterator(chunk_size=500)


def agreement(
    run: Run, panel: CriticScorer, votes: Sequence[tuple[float, ...]], not_judged: int
) -> PanelAgreement:
    given: Sequence[Sequence[float]] = list(zip(*votes, strict=True)) or [()] * len(panel.bench)
    sides = [{vote >= panel.threshold for vote in each} for each in votes]
    return PanelAgreement(
        scorer=panel.own_name,
        judges=[
            Judge(model=judge.full_label, mean=sum(own) / len(own) if own else None)
            for judge, own in zip(panel.bench, given, strict=True)
        ],
        trials=len(votes),
        of_trials=run.scored,
        alpha=krippendorff_alpha(votes) if votes else None,
        unanimous=sum(len(side) == 1 for side in sides) / len(sides) if sides else None,
        not_judged=not_judged,
    )
