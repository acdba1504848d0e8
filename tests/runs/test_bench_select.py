"""`manage.py bench_select`, through the command."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

FIELDS = {
    "matrix",
    "strategy",
    "seeds",
    "found",
    "accuracy",
    "evaluations",
    "brute_force_share",
    "failed",
}


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    file = tmp_path / "small.csv"
    rows = [
        [f"agent={arm}", *(int(case % (arm + 2) > 0) for case in range(30))] for arm in range(4)
    ]
    file.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return str(file)


def bench(*arguments: str) -> str:
    out = StringIO()
    call_command("bench_select", *arguments, stdout=out)
    return out.getvalue()


def test_json_has_a_line_for_each_matrix_and_strategy(matrix: str) -> None:
    names = "arm_elimination,paired_elimination"
    lines = json.loads(bench(matrix, "--strategy", names, "--seeds", "42-44", "--json"))
    assert [line["strategy"] for line in lines] == names.split(",")
    assert all(set(line) == FIELDS for line in lines)
    assert all((line["matrix"], line["seeds"]) == ("small", 3) for line in lines)


def test_without_json_it_is_a_table_of_all_strategies(matrix: str) -> None:
    table = bench(matrix, "--seeds", "1").splitlines()
    assert table[0].split()[:2] == ["matrix", "strategy"]
    assert {"brute_force", "paired_elimination"} <= {row.split()[1] for row in table[1:]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--strategy", "guess"], "choose among arm_elimination"),
        (["--seeds", "9-3"], "write 42-91, or 7"),
    ],
)
def test_wrong_arguments_are_refused(matrix: str, arguments: list[str], told: str) -> None:
    with pytest.raises(CommandError, match=told):
        bench(matrix, *arguments)


def test_a_file_that_is_no_matrix_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"missing\.json"):
        bench(str(tmp_path / "missing.json"))
