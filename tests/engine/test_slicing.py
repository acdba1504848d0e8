"""Slices of a dataset: where, split, sample, first; the same rows on every machine."""

import pytest

from tests.engine.test_spec import problems_of
from tests.harness.table import table
from workers.engine.errors import ConfigurationError
from workers.engine.spec.dataset_choice import DatasetChoice
from workers.engine.spec.slicing import slice_rows
from workers.engine.spec.tags import tags_in

SUBJECTS = ("algebra", "geometry", "logic")
ROWS = [
    {"question": f"Question {number}?", "subject": SUBJECTS[number % 3], "level": str(number % 4)}
    for number in range(120)
]


LOGIC_0 = {"subject": "logic", "level": "0"}


def cut(part, seed=0, rows=ROWS):
    return slice_rows(DatasetChoice(name="x", **part), seed, list(rows[0]), rows)


@table(
    ({"subject": "logic"}, lambda row: row["subject"] == "logic"),
    ({"level": 3}, lambda row: row["level"] == "3"),
    ({"level": [1, "2"]}, lambda row: row["level"] in ("1", "2")),
    ({"subject": {"not": "logic"}}, lambda row: row["subject"] != "logic"),
    ({"subject": {"not": ["logic", "algebra"]}}, lambda row: row["subject"] == "geometry"),
    ({"subject": "logic", "level": 0}, lambda row: row.items() >= LOGIC_0.items()),
)
def test_where_keeps_rows_with_these_values_in_their_order(where, fits):
    assert cut({"where": where}) == [place for place, row in enumerate(ROWS) if fits(row)]


def test_rows_by_number_come_first_in_the_order_of_the_dataset():
    assert cut({"only": [7, 3, 3, 119]}) == [3, 7, 119]
    logic = [place for place in (1, 2, 5) if ROWS[place]["subject"] == "logic"]
    assert cut({"only": [1, 2, 5], "where": {"subject": "logic"}}) == logic
    with pytest.raises(ConfigurationError, match="no row 120: the dataset has rows 0 to 119"):
        cut({"only": [0, 120]})


def test_a_sample_is_these_rows_on_every_machine():
    """Figures that were written down: another Python, or another release, must not change them."""
    assert cut({"sample": 6}, seed=7) == [10, 26, 39, 64, 85, 113]
    assert cut({"sample": 6}, seed=8) != cut({"sample": 6}, seed=7)
    assert cut({"sample": 6, "seed": 7}, seed=99) == cut({"sample": 6}, seed=7)
    assert cut({"sample": 6}, seed=7) == sorted(cut({"sample": 6}, seed=7))
    # A smaller sample is a part of a larger one.
    assert set(cut({"sample": 20})) < set(cut({"sample": 50}))
    assert cut({"sample": len(ROWS)}) == list(range(len(ROWS)))
    # Equal rows are drawn one by one.
    coins = [{**ROWS[0], "level": side} for _ in range(200) for side in "01"]
    drawn = slice_rows(DatasetChoice(name="x", sample=40), 1, list(ROWS[0]), coins)
    heads = sum(coins[place]["level"] == "0" for place in drawn)
    assert 10 <= heads <= 30


def test_the_parts_of_a_split_are_disjoint_and_complete_and_rows_stay_in_theirs():
    of = {"train": 0.6, "dev": 0.2, "test": 0.2}
    parts = [cut({"split": {"part": name, "of": of}}) for name in of]
    assert sorted(place for part in parts for place in part) == list(range(len(ROWS)))
    assert 50 < len(parts[0]) < 95
    # A database may give the names back in another order.
    other = {"test": 0.2, "train": 0.6, "dev": 0.2}
    assert cut({"split": {"part": "dev", "of": other}}) == parts[1]
    assert cut({"split": {"part": "dev", "of": of, "seed": 1}}) != parts[1]
    # The name of a usual part is enough and the seed of the run does not matter.
    train, test = cut({"split": "train"}, seed=1), cut({"split": "test"}, seed=2)
    assert sorted([*train, *test]) == list(range(len(ROWS)))
    assert 0.65 < len(train) / len(ROWS) < 0.95
    # Rows of a later version leave the others where they are.
    grown = [{"question": f"New {n}?", "subject": "logic", "level": "1"} for n in range(50)] + ROWS
    before = {ROWS[place]["question"] for place in cut({"split": "test"})}
    after = {grown[place]["question"] for place in cut({"split": "test"}, rows=grown)}
    assert before == {question for question in after if not question.startswith("New")}
    # Equal rows are in the same part.
    twice = [*ROWS, *ROWS]
    test = cut({"split": "test"}, rows=twice)
    assert [place + len(ROWS) for place in test if place < len(ROWS)] == test[len(test) // 2 :]


def test_where_comes_before_split_before_sample_before_first():
    part = {"where": {"subject": "logic"}, "split": "train", "sample": 10}
    train = set(cut({"where": {"subject": "logic"}})) & set(cut({"split": "train"}))
    sample = cut(part, seed=3)
    assert len(sample) == 10
    assert set(sample) < train
    assert cut({**part, "first": 4}, seed=3) == sample[:4]
    assert cut({**part, "first": 4000}, seed=3) == sample


FIFTH = {"question": "Question 5?"}
HARDLY_ANY = {"part": "b", "of": {"a": 0.999999, "b": 0.000001}}
AMONG = "in the column 'subject'. Among what there is: 'algebra'"


@table(
    ({"where": {"topic": "x"}}, "where", "no column 'topic'. The columns are: question, sub"),
    ({"where": {"subject": ["logic", "music"]}}, "where", f"No row has 'music' {AMONG}"),
    ({"where": {"subject": {"not": "music"}}}, "where", "No row has 'music'"),
    ({"where": {"level": "3", **FIFTH}}, "where", "No row has all of these values together."),
    ({"split": "dev"}, "split", "There is no part 'dev'. Choose one of: train, test"),
    ({"split": {"part": "dev", "column": "subject"}}, "split", f"No row has 'dev' {AMONG}"),
    ({"split": {"part": "a", "column": "fold"}}, "split", "There is no column 'fold'."),
    ({"where": {"subject": {"has": "x"}}}, "where", "No row has 'x' in the column 'subject'"),
    ({"sample": 121}, "sample", "A sample of 121 cannot be drawn from 120 rows."),
    ({"where": FIFTH, "sample": 2}, "sample", "A sample of 2 cannot be drawn from 1 row."),
    ({"where": FIFTH, "split": HARDLY_ANY}, "split", "Part 'b' has none of the 1 row."),
)
def test_what_cannot_be_cut_is_refused(part, path, told):
    with pytest.raises(ConfigurationError) as caught:
        cut(part)
    assert told in dict(caught.value.problems)[f"dataset.{path}"]


HALVES = {"b": 0.5, "c": 0.5}
TOO_MUCH = {"b": 0.5, "c": 0.6}


@table(
    ({"where": []}, ".where", "Give columns with values"),
    ({"where": {"level": []}}, ".where", "The list of values is empty"),
    ({"where": {"level": {"above": 3}}}, ".where", "Write {not: value}"),
    ({"where": {"level": None}}, ".where", "A value is a text or a number, not null."),
    ({"split": {"part": "a", "of": HALVES}}, ".split", "no part 'a'. Choose one of: b, c"),
    ({"split": {"part": "b", "column": "f", "of": HALVES}}, ".split", "Give `of` or `column`"),
    ({"split": {"part": "b", "of": TOO_MUCH}}, ".split.of", "make 1.1 together. They must make 1."),
    ({"sample": 0}, ".sample", "greater than or equal to 1"),
    ({"seed": 3}, "", "A seed draws a sample, and none is asked for."),
    ({"limit": 3}, ".limit", "Allowed here: name, rows, only, where, split, sample"),
)
def test_what_cannot_be_meant_is_refused(document, part, path, told):
    found = problems_of({**document, "dataset": {"name": "sums", **part}})
    assert list(found) == [f"dataset{path}"]
    assert told in found[f"dataset{path}"]


@table(
    ({}, ""),
    ({"first": 3}, "the first"),
    ({"sample": 50}, "a sample (seed 7)"),
    ({"sample": 50, "seed": 0}, "a sample (seed 0)"),
    (
        {"where": {"level": [1, 2], "subject": {"not": "logic"}}, "split": "test"},
        "where level is 1 or 2, where subject is not logic, part test (seed 0)",
    ),
)
def test_a_slice_in_words(part, text):
    assert DatasetChoice(name="x", **part).slice_text(run_seed=7) == text


def test_a_slice_is_written_as_it_was_given():
    part = {"where": {"level": "3", "subject": {"not": ["logic"]}}, "sample": 4, "seed": 1}
    assert DatasetChoice(name="x", **part).slice_document() == part
    whole = DatasetChoice(name="x", split="train", first=3).slice_document()
    assert DatasetChoice(name="x", **whole).slice_document() == whole


def test_a_split_column_names_the_part_of_each_row():
    rows = [{"question": f"{n}?", "split": "dev" if n % 3 else "hard"} for n in range(9)]
    assert cut({"split": "hard"}, rows=rows) == [0, 3, 6]
    by_name = {"split": {"part": "dev", "column": "split"}, "first": 2}
    assert cut(by_name, rows=rows) == [1, 2]
    assert DatasetChoice(name="x", **by_name).slice_text(0) == "part dev (split), the first"
    by_share = {"split": {"part": "train", "of": {"train": 0.8, "test": 0.2}}}
    assert cut(by_share, rows=rows) != []


def test_rows_are_found_by_the_tags_of_a_cell():
    tags = {
        "hard, maths;long|hard": ["hard", "maths", "long"],
        '["hard", "two words", 3]': ["hard", "two words", "3"],
        "[not json": ["[not json"],
        " , ": [],
    }
    assert {cell: tags_in(cell) for cell in tags} == tags
    cells = ["hard, maths", "hardly", '["maths"]', ""]
    rows = [{"question": f"{n}?", "tags": cell} for n, cell in enumerate(cells)]
    assert cut({"where": {"tags": {"has": "hard"}}}, rows=rows) == [0]
    assert cut({"where": {"tags": {"has": ["hardly", "maths"]}}}, rows=rows) == [0, 1, 2]
    assert cut({"where": {"tags": {"lacks": "maths"}}}, rows=rows) == [1, 3]
