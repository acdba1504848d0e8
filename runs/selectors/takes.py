"""What goes with a thing that is deleted, in words."""

from runs.formatting import counted
from runs.models import Configuration, Dataset, Endpoint, Run
from runs.selectors.configurations import configuration_versions
from runs.selectors.erasures import in_words, rows_in
from runs.selectors.gates import asked_by
from runs.selectors.runs.several import answers_kept, goes_along
from runs.selectors.schedules import schedule_of


def takes_of_run(run: Run) -> str:
    kept = counted(answers_kept([run]), "cached answer stays", "cached answers stay")
    return f"{', '.join(in_words(goes_along([run])))}; {kept}"


def takes_of_dataset(dataset: Dataset) -> str:
    versions = Dataset.objects.filter(name=dataset.name)
    return f"{counted(versions.count(), 'version')}, {counted(rows_in(versions), 'row')}"


def takes_of_endpoint(endpoint: Endpoint) -> str:
    return "its settings and its key" if endpoint.has_key else "its settings"


def takes_of_configuration(stored: Configuration) -> str:
    parts = [counted(len(configuration_versions(stored)), "version")]
    parts += ["its schedule"] * (schedule_of(stored) is not None)
    parts += ["its gates"] * bool(asked_by(stored))
    runs = Run.objects.filter(configuration=stored).count()
    kept = counted(runs, "run made from it stays", "runs made from it stay")
    return f"{', '.join(parts)}; {kept}"
