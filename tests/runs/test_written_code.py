"""Who may run scorers that are written as code: authors and higher, at every door."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Configuration, Run
from runs.roles import Role
from runs.selectors.estimates.estimate import estimate
from runs.selectors.named_parts import every_dataset
from runs.services.configurations import save_configuration
from runs.services.runs import create_run
from tests.harness.factories import make_dataset, make_endpoint, make_person, run_document
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db
SOURCE = "def score(answer, expected, case):\n    return answer == expected\n"
MAY_NOT = "You may not run scorers that you write as code. Your role is runner"


@pytest.fixture
def written(author: User) -> dict[str, Any]:
    make_endpoint()
    scorers: Any = ["exact", {"code": {"source": SOURCE}}]
    return run_document(make_dataset(author, share=True), scorers=scorers)


@pytest.fixture
def runner() -> User:
    return make_person("ron")


@pytest.fixture
def author() -> User:
    return make_person("ada", role=Role.AUTHOR)


def test_a_runner_is_told_whom_to_ask(runner: User, written: dict[str, Any]) -> None:
    (found,) = estimate(written, every_dataset(), runner).problems
    assert found.path == "scorers.1"
    assert MAY_NOT in found.message
    for door in (create_run, lambda person, told: save_configuration(person, "mine", told)):
        with pytest.raises(ConfigurationError, match="this needs the role author"):
            door(runner, written)
    assert not Run.objects.exists()
    assert not Configuration.objects.exists()


def test_an_author_may(author: User, written: dict[str, Any]) -> None:
    assert estimate(written, every_dataset(), author).problems == []
    save_configuration(author, "mine", written)
    assert create_run(author, written).document["scorers"] == written["scorers"]


def test_code_of_others_is_refused_to_whoever_may_not_write_it(
    author: User, runner: User, written: dict[str, Any]
) -> None:
    stored = save_configuration(author, "mine", written)
    with pytest.raises(ConfigurationError, match="You may not"):
        create_run(runner, {**written, **stored.document})


def test_code_that_cannot_be_loaded_is_refused(author: User, written: dict[str, Any]) -> None:
    broken = {**written, "scorers": [{"code": {"source": "def score(:"}}]}
    (found,) = estimate(broken, every_dataset(), author).problems
    assert (found.path, "It cannot be loaded" in found.message) == ("scorers.0", True)
