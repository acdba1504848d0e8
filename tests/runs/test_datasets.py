"""A dataset is imported whole or not at all, and what is wrong is said line by line."""

import json
import tracemalloc
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from runs.models import Case, Dataset
from runs.services.datasets import reading
from runs.services.datasets.reading import Format
from runs.services.datasets.storing import (
    DatasetError,
    guess_format,
    import_dataset,
    preview_dataset,
    store_rows,
)
from tests.runs.conftest import said_by

pytestmark = pytest.mark.django_db

GOOD_CSV = 'question,expected\n"What is 2 + 3, really?",5\n4 + 4?,8\n'
GOOD_JSONL = (
    '{"question": "What is 2 + 3, really?", "expected": 5}\n\n{"question": "4 + 4?", "expected": 8}'
)
ROWS = [
    {"question": "What is 2 + 3, really?", "expected": "5"},
    {"question": "4 + 4?", "expected": "8"},
]


def nested(depth):
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def fields_of(dataset):
    return list(Case.objects.filter(dataset=dataset).values_list("fields", flat=True))


READ_CSV = {
    "\ufeffa\n1\n": [{"a": "1"}],  # a byte-order mark
    "a,b\r\n1,2\r\n": [{"a": "1", "b": "2"}],  # Windows line ends
    "a,b\r1,2\r": [{"a": "1", "b": "2"}],  # old Mac line ends
    " a , b \n1,2": [{"a": "1", "b": "2"}],  # spaces around names
    "a,b\n\n1, 2\n\n": [{"a": "1", "b": " 2"}],  # empty lines
    "a\tb\n1,5\t2": [{"a": "1,5", "b": "2"}],
    "a;b\n1,5;2": [{"a": "1,5", "b": "2"}],
    'a,b\n"1\n""x""",': [{"a": '1\n"x"', "b": ""}],
    "a\n=1+1\n": [{"a": "=1+1"}],  # a formula is a text
    'a\r\n"x\r\ny"\r\n': [{"a": "x\ny"}],  # within quotes, too
}
READ_JSONL = {
    '\ufeff{"a": 1}': [{"a": "1"}],
    '{"a": 1.0}': [{"a": "1.0"}],  # a number as written
    '{"a": ' + "9" * 5_000 + "}": [{"a": "9" * 5_000}],
    '{"a": true, "b": null}': [{"a": "true", "b": ""}],
    '{"a": 1, "b": 2}\r\n{"b": 4, "a": 3}': [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}],
    '{"a": "x\u2028y"}': [{"a": "x\u2028y"}],  # a line separator
    '[{"a": 1.0}, {"a": "x"}]': [{"a": "1.0"}, {"a": "x"}],  # an array
    '\ufeff\r\n[\r\n {"a": 1},\r\n {"a": 2}\r\n]\r\n': [{"a": "1"}, {"a": "2"}],
    '{"a": ["Zürich", 1.0, null, true, {"b": []}], "c": {"d": "x, y"}}': [
        {"a": '["Zürich",1.0,null,true,{"b":[]}]', "c": '{"d":"x, y"}'}  # compact JSON
    ],
    '{"a": "\\ud83d\\ude42"}': [{"a": "🙂"}],  # a surrogate pair
    '{"a": "x\\r\\ny\\rz"}': [{"a": "x\ny\nz"}],
}


def test_rows_become_cases_in_their_order_however_they_are_written(alice):
    texts: dict[Format, str] = {"csv": GOOD_CSV, "jsonl": GOOD_JSONL}
    for format, text in texts.items():
        dataset = import_dataset(alice, f" {format} ", text, format)
        assert (dataset.name, dataset.version, dataset.rows) == (format, 1, 2)
        assert (dataset.columns, dataset.owner) == (["question", "expected"], alice)
        assert fields_of(dataset) == ROWS
        assert list(dataset.cases.values_list("position", flat=True)) == [0, 1]
    guesses = {" \n{": "jsonl", "\ufeff{": "jsonl", "[": "jsonl", "a,b": "csv", "": "csv"}
    assert {text: guess_format(text) for text in guesses} == guesses
    ways: dict[Format, dict[str, Any]] = {"csv": READ_CSV, "jsonl": READ_JSONL}
    for format, written in ways.items():
        for text, rows in written.items():
            assert preview_dataset(text, format).rows == rows, text
            assert fields_of(import_dataset(None, "x", text, format)) == rows


WRONG: list[tuple[str, Format, int, str]] = [
    ("", "csv", 1, "no rows"),
    ("a,b\n", "csv", 1, "no rows"),
    ("\n\n", "jsonl", 1, "no rows"),
    ("a,b\n1,2\n\n1,2,3\n", "csv", 4, "3 fields and the header has 2"),
    ("a,b\n1\n", "csv", 2, "1 field and the header has 2"),
    ('a,b\n"x\ny",2\n1\n', "csv", 4, "1 field "),
    ("a,a\n1,2\n", "csv", 1, "Two columns are named 'a'"),
    ("a,\n1,2\n", "csv", 1, "Column 2 has no name"),
    ("a, ,c\n1,2,3\n", "csv", 1, "Column 2 has no name"),
    ("x" * 101 + "\n1", "csv", 1, "Is the first line a header?"),
    ("a\u202eb\n1", "csv", 1, "Is the first line a header?"),
    (",".join(f"c{n}" for n in range(201)) + "\n1", "csv", 1, "201 columns; at most 200"),
    ("a\n1\n\x00\n", "csv", 3, "NUL"),
    ('a,b\n1,2\n"never closed,3\n4,5\n', "csv", 3, "never closed"),
    ('a,b\n1,2\n"x"y,3\n', "csv", 3, "Not CSV"),
    ("a\n" + "x" * 262_145 + "\n", "csv", 2, "larger than 256 KB"),
    ("a\n" + "é" * 131_073 + "\n", "csv", 2, "'a' is larger than 256 KB"),
    ("a\n\ud800\n", "csv", 2, "lone surrogate"),
    ('{"a": 1}\n{"a": \n', "jsonl", 2, "Not JSON at column 6: a value is missing"),
    ('{"a": 1}\n{"a":    \r\n', "jsonl", 2, "Not JSON at column 6: a value is missing"),
    ('{"a": 1}\n  {a: 1}\n', "jsonl", 2, "Not JSON at column 4: a name in double"),
    ('{"a": 1}\n{"a": "x}\n', "jsonl", 2, "Not JSON at column 7: this text has no closing"),
    ('{"a": "é🙂" "b": 1}', "jsonl", 1, "Not JSON at column 12: a comma"),
    ('{"a": 1,}\n', "jsonl", 1, "Not JSON at column 9"),
    ('{"a" 1}', "jsonl", 1, "Not JSON at column 6: a colon is missing"),
    ('{"a": 1} {"a": 2}\n', "jsonl", 1, "Not JSON at column 10: there is more after"),
    ('{"a": "\t"}\n', "jsonl", 1, "Not JSON at column 8: a line break or control character"),
    ('{"a": "\\x"}\n', "jsonl", 1, "Not JSON at column 8: Invalid \\escape."),
    ('{"a": 1}\n[1]\n', "jsonl", 2, "Give one object per row"),
    ('[{"a": 1},\n {"a": }]', "jsonl", 2, "Row 2: Not JSON at column 8: a value is missing"),
    ('[{"a": 1}\n {"a": 2}]', "jsonl", 2, "After row 1: Not JSON at column 2: a comma"),
    ('[{"a": 1},\n]', "jsonl", 2, "Row 2: Not JSON at column 1: a value is missing"),
    ('\n[{"a": 1},\n\n {"b": 1}]', "jsonl", 4, "Row 2: This row lacks 'a'"),
    ('[{"a": 1}, 5]', "jsonl", 1, "Row 2: Give one object per row"),
    ('[{"a": 1}, {"a": NaN}]', "jsonl", 1, "Row 2: NaN is not JSON"),
    ('[{"a": 1},\n{"a": 1, "a": 2}]', "jsonl", 2, "Row 2: A field is given twice: 'a'"),
    ('[{"a": 1}', "jsonl", 1, "After row 1: Not JSON at column 10: a comma or a closing"),
    ('[{"a": 1}]\n{"a": 2}', "jsonl", 2, "Not JSON at column 1: There is more after the end"),
    ("[]", "jsonl", 1, "no rows"),
    ("[", "jsonl", 1, "Row 1: Not JSON at column 2"),
    ('{"a": ["\\ud800"]}', "jsonl", 1, "lone surrogate"),
    ('{"a": ["' + "x" * 262_142 + '"]}', "jsonl", 1, "'a' is larger than 256 KB"),
    ('{"a": NaN}', "jsonl", 1, "NaN is not JSON"),
    ('{"a": Infinity}', "jsonl", 1, "Infinity is not JSON"),
    ('{"a": 1, "a": 2}', "jsonl", 1, "given twice: 'a'"),
    ('{"a": 1}\n{"b": 1}', "jsonl", 2, "lacks 'a' and has 'b', which is new"),
    ('{"a": "\\u0000"}', "jsonl", 1, "NUL"),
    ('{"a": "\\ud800"}', "jsonl", 1, "lone surrogate"),
    ('{"": 1}', "jsonl", 1, "Column 1 has no name"),
    ("{}", "jsonl", 1, "no columns"),
    ('{"a": ' + "[" * 100_000, "jsonl", 1, "nested too deeply"),
]


def test_what_is_wrong_is_said_with_its_line_and_nothing_is_stored():
    found = []
    for text, format, line, message in WRONG:
        with pytest.raises(DatasetError) as error:
            import_dataset(None, "bad", text, format)
        (problem,) = error.value.problems
        assert preview_dataset(text, format).problems == [problem]
        if problem.line != line or message not in problem.message:
            found.append((text[:100], problem))
    assert found == []
    assert not Dataset.objects.exists()
    assert not Case.objects.exists()


def test_all_problems_are_listed_at_once_and_a_preview_counts_all_rows_and_stores_nothing():
    with pytest.raises(DatasetError) as error:
        import_dataset(None, "bad", "a,b\n1,2\n3\n4,5,6\n7,8\n9\n", "csv")
    assert [problem.line for problem in error.value.problems] == [3, 4, 6]
    problems = preview_dataset("a,b\n" + "1\n" * 80 + "1,2\n", "csv").problems
    assert (len(problems), problems[-1].message) == (51, "… and 30 more problems after this.")
    text = "n\n" + "".join(f"{n}\n" for n in range(1_000))
    preview = preview_dataset(text, "csv", limit=3)
    assert (preview.columns, preview.rows) == (["n"], [{"n": "0"}, {"n": "1"}, {"n": "2"}])
    assert (preview.total, preview.problems) == (1_000, [])
    assert not Dataset.objects.exists()


def test_too_many_bytes_are_refused(set_constant):
    with pytest.raises(DatasetError, match=r"20\.0 MB; at most 20 MB"):
        import_dataset(None, "large", "n\n" + "é\n" * 6_990_600, "csv")
    with pytest.raises(DatasetError, match=r"20\.0 MB; at most 20 MB"):
        import_dataset(None, "large", BytesIO(b"x\n" * (10 * 1024 * 1024 + 1)), "csv")
    assert reading.MAX_ROWS == 100_000
    set_constant(reading, "MAX_ROWS", 1_000)
    with pytest.raises(DatasetError) as error:
        import_dataset(None, "many", "n\n" + "1\n" * 1_001, "csv")
    assert error.value.problems == [
        (1_002, "There are more than 1,000 rows. Split them into several datasets.")
    ]


def peak_of(act):
    """The most memory that it takes, in MB."""
    tracemalloc.start()
    found = act()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak / 1024**2


def test_a_large_import_needs_little_memory():
    text = "question,expected\n" + f"{'x' * 8_000},5\n" * 800  # 6 MB
    dataset, peak = peak_of(lambda: import_dataset(None, "large", text, "csv"))
    assert dataset.rows == dataset.cases.count() == 800
    assert peak < 5  # a batch of rows in a statement, but no copy of the text


LARGE: list[tuple[Format, str, str, str]] = [
    ("csv", "q\n", "🙂" + "x" * 7_990 + "\n", ""),
    ("jsonl", "", '{"q": "🙂%s"}\n' % ("x" * 7_990), ""),
    ("jsonl", "[", '{"q": "🙂%s"},' % ("x" * 7_990), '{"q": ""}]'),
]


def test_a_large_file_is_read_from_disk_piece_by_piece(tmp_path):
    for number, (format, start, row, end) in enumerate(LARGE):
        file = tmp_path / "large"
        file.write_text(start + row * 800 + end)  # 6 MB, of which a text would take 25
        with file.open("rb") as source:
            found, looked = peak_of(partial(preview_dataset, source, format))
            act = partial(import_dataset, None, f"large {number}", source, format)
            dataset, stored = peak_of(act)
        assert (found.problems, dataset.rows >= 800) == ([], True)
        assert max(looked, stored) < 12


HOSTILE: list[tuple[bytes, Format, str]] = [
    (b"a\n" + b"," * 2_200_000, "csv", "more than 2 MB"),  # a million columns
    (b'a\n"' + b"x\n" * 1_000_000, "csv", "256 KB"),  # an endless field
    (b"a\n" + b'"x\ny",' * 400_000, "csv", "more than 2 MB"),  # an endless row
    (b'{"a": "' + b"x" * 2_200_000, "jsonl", "more than 2 MB"),
    (b'[{"a": "' + b"x" * 2_200_000, "jsonl", "more than 2 MB"),
    (b"\x1f\x8b\x08" + b"\x00" * 100, "csv", "not UTF-8"),  # gzip
    (b"PK\x03\x04\x00\x00", "csv", "NUL"),  # a zip file
    (b"\xff\xfea\x00", "csv", "not UTF-8"),  # another byte-order mark
]


def test_a_hostile_file_is_refused_with_a_sentence():
    for data, format, message in HOSTILE:
        (problem,) = preview_dataset(BytesIO(data), format).problems
        assert message in problem.message, data[:20]


def test_a_row_may_lie_across_two_pieces_and_what_is_not_utf_8_is_refused_with_the_byte():
    """Wherever a piece of the file ends: in a character, a line end, a quote or a number."""
    told = [(3, "Row 2: Not JSON at column 16: a value is missing or not in quotes.")]
    for cut in (65_530, 65_535, 65_536, 65_537):
        text = "a,b\r\n" + "x" * (cut - 10) + ',"é\r\n""z"""\r\n1,2\r\n'
        assert preview_dataset(BytesIO(text.encode()), "csv").rows[0]["b"] == 'é\n"z"', cut
        rows = '[\n{"a": "' + "x" * (cut - 12) + 'é", "b": [12345, true]},\n {"a": 1, "b": }]'
        found = preview_dataset(BytesIO(rows.encode()), "jsonl")
        assert (found.rows[0]["b"], found.problems) == ("[12345,true]", told), cut
    for data, line, message in (
        (b"a\nb\n\xff\n", 3, "Byte 4 of the file is not UTF-8"),
        ("a\né\n".encode("latin-1"), 2, "Byte 2 "),
        ("a\n1\n".encode("utf-16"), 1, "Byte 0 "),
        (b"\x1f\x8b\x08\x00\x00", 1, "Byte 1 "),
    ):
        with pytest.raises(DatasetError) as error:
            import_dataset(None, "odd", BytesIO(data), "csv")
        (problem,) = error.value.problems
        assert problem.line == line
        assert message in problem.message


def test_the_same_rows_give_the_same_version_also_in_memory_and_others_the_next():
    first = import_dataset(None, "sums", GOOD_CSV, "csv")
    assert import_dataset(None, "sums", GOOD_JSONL, "jsonl") == first
    assert store_rows(None, "sums", ROWS) == first
    assert fields_of(store_rows(None, "lines", [{"a": "x\ry"}])) == [{"a": "x\ny"}]
    second = import_dataset(None, "sums", GOOD_CSV + "1 + 1?,2\n", "csv")
    first.refresh_from_db()
    assert json.loads(json.dumps(first.columns)) == ["question", "expected"]
    assert (second.version, second.rows) == (2, 3)
    assert import_dataset(None, "other", GOOD_CSV, "csv").version == 1
    # An older state comes back as the newest version: a name means its newest rows.
    assert import_dataset(None, "sums", GOOD_CSV, "csv").version == 3
    assert fields_of(first) == ROWS
    text = '[{"q": "Which?", "choices": ["A", "B"], "meta": {"level": 2}}]'
    (from_file,) = preview_dataset(text, "jsonl").rows
    rows = [{"q": "Which?", "choices": ["A", "B"], "meta": {"level": 2}}]
    assert fields_of(store_rows(None, "choices", rows)) == [from_file]
    assert from_file == {"q": "Which?", "choices": '["A","B"]', "meta": '{"level":2}'}
    assert preview_dataset(text, "jsonl").nested == ["choices", "meta"]


def test_a_strange_name_is_only_a_name():
    for name in ("", "   ", "x" * 121, "a\nb", "\u202eabc", "sums@3"):
        with pytest.raises(DatasetError, match="name"):
            import_dataset(None, name, GOOD_CSV, "csv")
    assert not Dataset.objects.exists()
    for rows, message in (
        ([], "no rows"),
        ([{}], "no columns"),
        ([{"a": "1"}, {"b": "1"}], "lacks 'a'"),
        ([{"a": nested(600)}], "'a' is nested too deeply"),
        ([{"a": "\x00"}], "NUL"),
    ):
        with pytest.raises(DatasetError, match=message):
            store_rows(None, "rows", rows)
    assert not Dataset.objects.exists()
    for name in ("../../etc/passwd", "<b>x</b>", "a@b", "Größe 1"):
        assert import_dataset(None, name, GOOD_CSV, "csv").name == name


def test_the_command_imports_a_file_and_reports_line_by_line_what_is_wrong(tmp_path):
    bad, file = tmp_path / "bad.csv", tmp_path / "sums.jsonl"
    for content, message in (
        (None, "cannot be read: No such file"),
        (b"a,b\n1\n2,3\n4\n", "  line 2: This row has 1 field"),
        (b"a\n\xff\n", "  line 2: Byte 2 of the file"),
    ):
        if content is not None:
            bad.write_bytes(content)
        with pytest.raises(CommandError) as error:
            call_command("import_dataset", "bad", str(bad))
        assert message in str(error.value)
        assert error.value.returncode == 2
    assert not Dataset.objects.exists()
    file.write_text(GOOD_JSONL)
    told = said_by("import_dataset", "sums", str(file))
    assert told == "sums v1: 2 rows, 2 columns. Expected answer: expected.\n"
    assert fields_of(Dataset.objects.get()) == ROWS
