"""Gives an end to runs that only wait for models whose breakers stay open."""

from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Coalesce, Now

from runs.models import Endpoint, EventLevel, Run, RunState
from runs.selectors.endpoints.permit_state import read_permits
from runs.selectors.limits.limits import WAITING, trials_each
from runs.services.control.pauses import hold_run
from workers.engine.kinds import KINDS, read_configuration
from workers.engine.records import EVALUATE

HOPELESS_SECONDS = 600.0  # some probes, up to 5 minutes apart, have failed by then

Place = tuple[int, str]  # endpoint and model


def pause_hopeless(after_seconds: float = HOPELESS_SECONDS) -> None:
    """Pause runs that got no answer for so long while a model that they need failed for as long.
    A run that is resumed tries again for that time."""
    runs = runs_without_answer(after_seconds)
    if not runs:
        return
    endpoints = dict(Endpoint.objects.values_list("name", "pk"))
    needs = {run: models_needed(run, endpoints) for run in runs}
    places = set().union(*needs.values())
    states = read_permits(places) if places else None
    if states is None:
        return  # nothing to ask for, or nobody to ask
    names = {pk: name for name, pk in endpoints.items()}
    for run, needed in needs.items():
        failing = [place for place in needed if states[place].failing_seconds >= after_seconds]
        if failing:
            labels = sorted(f"{names[pk]}/{model}" for pk, model in failing)
            hold_run(run.pk, reason_of(labels, after_seconds), level=EventLevel.ERROR)


def runs_without_answer(seconds: float) -> list[Run]:
    """Runs that work for so long without an answer: the trials of their other models are done."""
    going = Run.objects.filter(state=RunState.RUNNING).exclude(reason__startswith=WAITING)
    long = going.alias(since=Coalesce("going_since", "started")).filter(
        since__lt=Now() - timedelta(seconds=seconds)
    )
    return [run for run in long.annotate(clock=Now()) if not has_answers(run, seconds)]


def has_answers(run: Run, seconds: float) -> bool:
    """By its samples, which are few: one a second at most."""
    ran = run.running_seconds(run.clock)  # type: ignore[attr-defined]  # by the caller
    newest = run.samples.filter(second__gt=ran - seconds)
    return newest.filter(Q(fresh__gt=0) | Q(cached__gt=0)).exists()


def models_needed(run: Run, endpoints: dict[str, int]) -> set[Place]:
    """The models of the candidates that still have trials to come, and of the judges."""
    is_to_come = Q(role=EVALUATE, done__lt=trials_each(run)) | Q(done=0)
    documents = run.candidates.filter(is_to_come).values_list("document", flat=True)
    needed = {
        (model["endpoint"], model["model"])
        for document in documents
        for model in KINDS[run.kind].models_called(document)
    }
    if needed:
        judges = read_configuration(run.document).judges
        needed |= {(model.endpoint, model.model) for _, model in judges}
    return {(endpoints[name], model) for name, model in needed if name in endpoints}


def reason_of(failing: list[str], seconds: float) -> str:
    what = f"{failing[0]} has" if len(failing) == 1 else f"{', '.join(failing)} have"
    minutes = max(1, round(seconds / 60))
    spell = f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{what} failed every call for {spell}: look at the endpoint, then resume to try again"
