"""What goes with a thing that is deleted, in words."""

from runs.formatting import counted
from runs.models import Configuration, Dataset, Endpoint, Run
from runs.selectors.erasures import in_words, rows_in
from runs.selectors.runs.several import answers_kept, goes_along


def takes_of_run(run: Run) -> str:
    kept = counted(answers_kept([run]), "cached answer stays", "cached answers stay")
    return f"{', '.join(in_words(goes_along([run])))}; {kept}"


def takes_of_dataset(dataset: Dataset) -> str:
    versions = Dataset.objects.filter(name=dataset.name)
    return f"{counted(versions.count(), 'version')}, {counted(rows_in(versions), 'row')}"


def takes_of_endpoint(endpoint: Endpoint) -> str:
    return "its settings and its key" if endpoint.has_key else "its settings"


def takes_of_configuration(stored: Configuration) -> str:
    made = counted(Run.objects.filter(configuration=stored).count(), "run")
    return f"all its versions, at once and for good; {made} made from it keep their copy"
