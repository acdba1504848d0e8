"""Cases that somebody picked become a dataset of theirs, or more rows of one."""

import pytest

from runs.models import Case, Dataset
from runs.services.datasets.collecting import collect_cases
from runs.services.datasets.storing import DatasetError, NameTakenError, store_rows
from tests.harness.factories import make_person

pytestmark = pytest.mark.django_db

SUMS = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(4)]
CAPITALS = [{"country": "France", "question": "Which capital?", "label": "Paris"}]


def cases_of(dataset: Dataset, *positions: int) -> list[Case]:
    return list(Case.objects.filter(dataset=dataset, position__in=positions))


def fields_of(dataset: Dataset) -> list[dict[str, str]]:
    return list(dataset.cases.order_by("position").values_list("fields", flat=True))


def test_picked_cases_are_a_new_dataset_with_the_same_expected_answer(alice):
    sums = store_rows(alice, "sums", SUMS, expected="answer")
    hard = collect_cases(alice, " hard ", cases_of(sums, 1, 3), origin="run 12")
    assert (hard.name, hard.version, hard.is_new, hard.owner) == ("hard", 1, True, alice)
    assert (hard.expected_column, hard.origin) == ("answer", "run 12")
    assert fields_of(hard) == [SUMS[1], SUMS[3]]


def test_a_dataset_of_theirs_grows_by_what_it_does_not_have(alice):
    sums = store_rows(alice, "sums", SUMS)
    collect_cases(alice, "hard", cases_of(sums, 1))
    grown = collect_cases(alice, "hard", cases_of(sums, 0, 1))
    assert (grown.version, grown.is_new) == (2, True)
    assert fields_of(grown) == [SUMS[1], SUMS[0]]
    same = collect_cases(alice, "hard", cases_of(sums, 0, 1))
    assert (same, same.is_new) == (grown, False)


def test_columns_of_several_datasets_are_united_and_right_answers_share_one(alice):
    sums, capitals = store_rows(alice, "sums", SUMS), store_rows(alice, "capitals", CAPITALS)
    mixed = collect_cases(alice, "mixed", cases_of(sums, 0) + cases_of(capitals, 0))
    assert mixed.expected_column == "answer"
    assert mixed.columns == ["question", "answer", "country"]
    assert fields_of(mixed) == [
        {**SUMS[0], "country": ""},
        {"question": "Which capital?", "answer": "Paris", "country": "France"},
    ]


def test_the_dataset_of_somebody_else_does_not_grow(alice):
    sums = store_rows(make_person("bob"), "sums", SUMS)
    with pytest.raises(NameTakenError):
        collect_cases(alice, "sums", cases_of(sums, 0))
    with pytest.raises(DatasetError, match="There are no cases"):
        collect_cases(alice, "hard", [])
    assert Dataset.objects.count() == 1
