"""Replays of score matrices: reading them, and what a line of the bench says."""

import json
from pathlib import Path

import pytest

from tests.engine.selecting import make_matrix
from workers.engine.errors import ConfigurationError
from workers.engine.statistics.matrices import Matrix, read_matrix
from workers.engine.statistics.selector_bench import CONTESTANTS, bench, table_of

SPREAD = [0.2, 0.3, 0.35, 0.4, 0.5, 0.55, 0.6, 0.7, 0.95]


def test_json_and_csv_give_the_same_matrix(tmp_path: Path) -> None:
    as_json, as_csv = tmp_path / "m.json", tmp_path / "m.csv"
    names, scores = ["agent=a", "agent=b"], [[1, 0.5, None], [0, None, 1]]
    as_json.write_text(json.dumps({"combinations": names, "scores": scores}))
    as_csv.write_text("combination,d0,d1,d2\nagent=a,1,0.5,\nagent=b,0,,1\n")
    assert read_matrix(as_json) == read_matrix(as_csv)
    assert read_matrix(as_csv).scores == ((1.0, 0.5, None), (0.0, None, 1.0))


def test_a_csv_needs_no_header(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("a,1,0\nb,0,\n")
    assert read_matrix(file).combinations == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("name;d0;d1;d2\na;1;0;\nb;0;;1\n", id="semicolons"),
        pytest.param("name\td0\td1\td2\na\t1\t0\tnan\nb\t0\t \t1\n", id="tabs and nan"),
        pytest.param(",0,1,2\na,1,0,\nb,0,,1\n", id="datapoints with numbers for names"),
        pytest.param('"name","1","2","3"\n"a",1,0,\n\n"b",0,,1\n', id="quotes and empty lines"),
    ],
)
def test_a_csv_may_come_from_any_program(tmp_path: Path, text: str) -> None:
    file = tmp_path / "m.csv"
    file.write_text(text)
    matrix = read_matrix(file)
    assert matrix.combinations == ("a", "b")
    assert matrix.scores == ((1.0, 0.0, None), (0.0, None, 1.0))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "It has no combinations"),
        ("{}", "It has no list of combinations"),
        ('{"scores": [[1]]}', "It has no list of combinations"),
        ('{"combinations": ["a"], "scores": []}', "1 combinations and 0 rows"),
        ('{"combinations": ["a"], "scores": [1]}', "Each of its scores is a list"),
        ('{"combinations": ["a"], "scores": [["x"]]}', "Score 1 of 'a' is 'x'"),
        ("a,1\nb,1,0\n", "'a' has 1 scores and 'b' has 2"),
        ("a,1\nb,x\n", "Score 1 of 'b' is 'x', which is no number"),
        ("a,1\nb,inf\n", "Score 1 of 'b' is 'inf'"),
        ("a\nb\n", "It has no scores"),
    ],
)
def test_what_is_no_matrix_is_refused_by_name(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"bad\.json") as caught:
        read_matrix(file)
    assert told in str(caught.value)


def test_the_steps_of_a_combination_are_read_from_its_name() -> None:
    matrix = Matrix("m", ("planner=a + solver=b",), ((1.0,),))
    assert matrix.candidates()[0].document["choices"] == {"planner": "a", "solver": "b"}


@pytest.mark.parametrize("name", CONTESTANTS)
def test_a_line_gives_means_over_the_seeds(name: str) -> None:
    line = bench(make_matrix(SPREAD, failed=0.02), name, range(42, 46))
    assert (line.matrix, line.strategy, line.seeds) == ("made", name, 4)
    assert 0 <= line.found <= 1
    assert 0 < line.evaluations <= 360
    assert 0 < line.brute_force_share <= 1


def test_brute_force_always_finds_the_best_at_full_price() -> None:
    line = bench(make_matrix(SPREAD), "brute_force", [1, 2])
    assert (line.found, line.evaluations, line.brute_force_share) == (1.0, 360.0, 1.0)


def test_failed_evaluations_are_told_beside_the_others_for_all_alike() -> None:
    row = (1.0, None, 0.0, None)
    matrix = Matrix("holes", ("agent=a", "agent=b"), (row, row))
    for name in ("brute_force", "arm_elimination", "arm_elimination_survivors"):
        line = bench(matrix, name, [1])
        assert (line.evaluations, line.failed, line.brute_force_share) == (4.0, 4.0, 1.0)


def test_any_of_several_equals_is_the_best() -> None:
    matrix = Matrix("equals", tuple("abc"), ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0)))
    assert bench(matrix, "brute_force", range(4)).found == 1.0


def test_nothing_is_found_where_nobody_ever_answers() -> None:
    matrix = Matrix("silence", tuple("ab"), ((None, None),) * 2)
    line = bench(matrix, "brute_force", [1])
    assert (line.found, line.accuracy, line.evaluations, line.failed) == (0.0, 0.0, 0.0, 4.0)


def test_the_published_arm_elimination_is_fooled_by_failures_and_ours_is_not() -> None:
    """One that fails on most cases and is right otherwise, against one that is nearly always so."""
    frail = tuple(1.0 if case % 10 == 0 else None for case in range(40))
    solid = tuple(0.0 if case % 20 == 7 else 1.0 for case in range(40))
    matrix = Matrix("frail", ("agent=frail", "agent=solid"), (frail, solid))
    published = bench(matrix, "arm_elimination", [1, 2, 3])
    ours = bench(matrix, "arm_elimination_survivors", [1, 2, 3])
    assert published.accuracy == 1.0  # by its own count
    assert ours.accuracy == pytest.approx(0.95)
    assert ours.found == 1.0


def test_paired_elimination_finds_as_much_for_less_on_matrices_that_nobody_tuned_it_for() -> None:
    """Items are of different difficulty for all alike, as real ones are."""
    ours, theirs = [], []
    for seed in range(6):
        matrix = make_matrix([0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8], 100, seed=seed)
        ours.append(bench(matrix, "paired_elimination", range(8)))
        theirs.append(bench(matrix, "arm_elimination", range(8)))
    assert sum(line.found for line in ours) >= 0.95 * len(ours)
    assert sum(line.found for line in ours) >= sum(line.found for line in theirs)
    assert sum(one.evaluations for one in ours) <= sum(one.evaluations for one in theirs)


def test_the_table_has_a_row_for_each_line() -> None:
    rows = table_of([bench(make_matrix(SPREAD), "brute_force", [1])])
    assert len(rows) == 2
    assert "100%" in rows[1]
