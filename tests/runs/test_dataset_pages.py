"""A dataset beyond its rows: what columns are for, splits, tags, duplicates, changes, files, and
cases that somebody picked, which become a dataset of theirs or more rows of one."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from runs.models import AuditEntry, Case, Dataset, Run
from runs.selectors.case_sources import fields_in_order
from runs.selectors.datasets.changes import changes_between
from runs.selectors.datasets.duplicates import plain_words
from runs.services.datasets.collecting import collect_cases
from runs.services.datasets.storing import DatasetError, NameTakenError, import_dataset, store_rows
from runs.services.runs import create_run
from tests.api.asking import Asker
from tests.harness.factories import client_of, run_document
from tests.runs.conftest import said_by, words_of

pytestmark = pytest.mark.django_db

SUMS = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(4)]
CAPITALS = [{"country": "France", "question": "Which capital?", "label": "Paris"}]
EVIL = '=1+1</td><script>alert("x")</script>'
ROWS = [
    {
        "id": "a",
        "question": "What is 2 + 3?",
        "expected": "5",
        "tags": "sums, easy",
        "split": "dev",
    },
    {"id": "b", "question": "what is  2+3", "expected": "6", "tags": '["sums"]', "split": "hard"},
    {"id": "c", "question": "Who are you?", "expected": "me", "tags": "", "split": "dev"},
    {"id": "d", "question": "Who are you?", "expected": "me", "tags": "easygoing", "split": "dev"},
    {"id": "e", "question": EVIL, "expected": "-1", "tags": f"x;{EVIL}", "split": EVIL},
]


@pytest.fixture
def dataset(alice, endpoint):
    return store_rows(alice, "mixed", ROWS)


def test_roles_are_found_by_name_kept_by_the_next_version_and_changed_by_its_owner(alice, dataset):
    assert dataset.roles == {"id": "id", "tags": "tags", "split": "split"}
    assert dataset.input_columns == ["question"]
    client, address = client_of(alice), reverse("dataset_columns", args=[dataset.pk])
    given = dict(zip(range(5), ["metadata", "input", "expected", "tags", "split"], strict=True))
    client.post(address, {f"role-{number}": role for number, role in given.items()})
    dataset.refresh_from_db()
    assert dataset.roles == {"id": "metadata", "tags": "tags", "split": "split"}
    grown = store_rows(alice, "mixed", ROWS[:2])
    assert (grown.roles, grown.expected_column) == (dataset.roles, "expected")
    twice = dict.fromkeys(range(5), "id")
    page = client.post(address, {f"role-{n}": role for n, role in twice.items()}, follow=True)
    assert "Several columns are id: id, question" in words_of(page)
    assert "no role of a column" in words_of(client.post(address, {"role-0": "x"}, follow=True))
    asker = Asker(alice)
    shown = asker.get("/datasets/mixed").json()["dataset"]
    assert (shown["roles"]["question"], shown["roles"]["expected"]) == ("input", "expected")
    refused = asker.patch("/datasets/mixed", {"roles": {"gone": "id"}})
    assert refused.status_code == 422
    assert "There is no column 'gone'" in refused.json()["problems"][0]["message"]
    grown.refresh_from_db()
    assert grown.roles == dataset.roles
    body = {"roles": {"question": "expected", "id": "input"}}
    assert asker.patch("/datasets/mixed", body).json()["changed"] is True
    grown.refresh_from_db()
    assert (grown.expected_column, grown.input_columns) == ("question", ["id", "expected"])


def test_a_run_takes_a_part_of_the_split_column_and_keeps_it(alice, browser, asker, dataset):
    run = create_run(alice, {**run_document(dataset), "dataset": {"name": "mixed", "split": "dev"}})
    assert run.planned == 3
    split = {"part": "dev", "column": "split", "seed": 0}
    assert run.document["dataset"] == {"name": "mixed@1", "split": split}
    page = browser.get(reverse("run_new"), {"run": run.pk})
    again = page.context["filled"]
    assert (again.mode, again.part.split) == ("form", "split = dev")
    # Prompts are offered inputs only: no metadata, and no expected answer.
    names = ["id", "question", "expected", "tags", "split"]
    columns = {"inputs": ["question"], "columns": names, "expected": "expected"}
    assert page.context["dataset_columns"]["mixed"] == columns
    text = words_of(page)
    assert ("<code>{{question}}</code>" in text, "<code>{{tags}}</code>" in text) == (True, False)
    assert "inputs question; expected answer: expected" in text
    assert "3 of 5 rows, part dev (split)" in words_of(
        browser.get(reverse("run_configuration", args=[run.pk]))
    )
    tagged = {"name": "mixed", "where": {"tags": {"has": "sums"}}}
    body = {"configuration": {**run_document(dataset), "dataset": tagged}}
    assert asker.post("/runs/estimate", body).json()["cases"] == 2
    nobody = {**tagged, "split": "gone"}
    refused = asker.post("/runs", {"configuration": {**run_document(dataset), "dataset": nobody}})
    assert refused.json()["problems"][0]["path"] == "dataset.split"
    assert Run.objects.count() == 1


@pytest.mark.postgresql("JSON operators: rows are found by tag and part")
def test_rows_are_shown_by_tag_and_part(alice, dataset):
    client, address = client_of(alice), dataset.get_absolute_url()

    def numbers(**query):
        return [row.number for row in client.get(address, query).context["rows"]]

    assert numbers(tag="sums") == [1, 2]
    assert numbers(tag="easy") == [1]
    assert numbers(part="dev", tag="easygoing") == [4]
    assert numbers(tag="eas") == numbers(part="%") == []
    evil = client.get(address, {"tag": EVIL, "part": EVIL})
    assert [row.number for row in evil.context["rows"]] == [5]
    assert EVIL not in words_of(evil)
    rows = [{"3": "a, b", 'x"y\\z': "p"}, {"3": "c", 'x"y\\z': "q"}]  # odd names of columns
    odd = store_rows(alice, "odd", rows)
    client.post(reverse("dataset_columns", args=[odd.pk]), {"role-0": "tags", "role-1": "split"})
    address = odd.get_absolute_url()
    assert numbers(tag="b", part="p") == [1]


def test_a_split_is_made_by_share_and_seed(alice, browser, asker, endpoint):
    rows = [{"question": f"{n}?", "expected": str(n)} for n in range(60)]
    first = store_rows(alice, "sums", rows)
    address = reverse("dataset_split", args=[first.pk])
    page = browser.post(address, {"parts": "train = 75, test=25", "seed": "3"}, follow=True)
    stored = Dataset.objects.get(name="sums", version=2)
    assert "sums v2 has a part for each row" in words_of(page)
    assert (stored.columns[-1], stored.roles) == ("split", {"split": "split"})
    parts = list(stored.cases.order_by("position").values_list("fields__split", flat=True))
    assert 5 < parts.count("test") < 30
    split = {"part": "test", "of": {"train": 0.75, "test": 0.25}, "seed": 3}
    run = create_run(alice, {**run_document(first), "dataset": {"name": "sums@1", "split": split}})
    assert run.planned == parts.count("test")
    told = said_by("split_dataset", "sums", "a=0.5", "b=0.5", seed=1, user="alice")
    assert told == "sums v3: parts in the column split.\n"
    made = asker.post("/dataset-splits/sums@1", {"parts": {"a": 0.5, "b": 0.5}, "seed": 1})
    assert (made.status_code, made.json()["version"]) == (201, 3)
    wrong = asker.post("/dataset-splits/sums", {"parts": {"a": 0.5, "b": 0.6}})
    assert "They must make 1" in wrong.json()["problems"][0]["message"]
    for parts_text in ("train", "a = 1, a = 2", "a = x, b = 1"):
        browser.post(address, {"parts": parts_text, "seed": "0"})
    with pytest.raises(CommandError, match="write PART=SHARE"):
        said_by("split_dataset", "sums", "a=x", "b=1", user="alice")
    assert Dataset.objects.filter(name="sums").count() == 3


def test_the_report_finds_what_asks_the_same(alice, dataset):
    report = Asker(alice).get("/dataset-reports/mixed").json()
    found = report["duplicates"]
    assert (found["groups"], found["exact_rows"], found["near_rows"]) == (2, 1, 1)
    assert (found["contradictions"], found["leaks"]) == (1, 1)
    near, same = found["listed"]
    assert (near["rows"], near["exact"], near["answers"]) == ([1, 2], False, 2)
    assert (same["rows"], same["exact"], same["splits"]) == ([3, 4], True, ["dev"])
    assert {one["value"]: one["rows"] for one in report["splits"]} == {"dev": 3, "hard": 1, EVIL: 1}
    assert {one["value"]: one["rows"] for one in report["tags"]}["sums"] == 2
    lengths = report["lengths"]
    assert (lengths["median"], lengths["most"]) == (3, -(-len(EVIL) // 4))
    assert sum(one["rows"] for one in lengths["bins"]) == 5
    page = words_of(client_of(alice).get(reverse("dataset_report", args=[dataset.pk])))
    assert "1 group with different expected answers:" in page
    assert "<script>alert" not in page
    told = said_by("dataset_report", "mixed", user="alice")
    assert "rows 1, 2: nearly the same, 2 different answers: what is 2+3" in told
    assert json.loads(said_by("dataset_report", "mixed", json=True, user="alice")) == report


def test_changes_are_matched_by_the_id_column_and_moves_are_none(alice, browser, asker, dataset):
    changed = [{**ROWS[0], "expected": "five</ins>"}, *ROWS[2:], {**ROWS[1], "id": "new"}]
    second = store_rows(alice, "mixed", changed)
    page = asker.get("/dataset-changes/mixed", base=1).json()
    assert page["counts"] == {"changed": 1, "added": 1, "removed": 1, "same": 3}
    assert (page["matched_by"], page["data"][0]["after"]) == (["id"], {"expected": "five</ins>"})
    removed = asker.get("/dataset-changes/mixed", base=1, kind="removed").json()["data"]
    assert [(row["case"], row["base_case"]) for row in removed] == [(None, 1)]
    shown = words_of(browser.get(reverse("dataset_changes", args=[second.pk])))
    assert "3 rows the same. Rows are matched by id." in shown
    assert "five&lt;/ins&gt;" in shown
    told = said_by("dataset_changes", "mixed", user="alice")
    assert told.startswith("v1 to v2: 1 changed, 1 added, 1 removed, 3 the same; by id.")
    assert "changed row 1: What is 2 + 3? (expected)" in told
    assert "From v2 to v1" in words_of(browser.get(reverse("dataset_changes", args=[dataset.pk])))
    assert asker.get("/dataset-changes/mixed@1").status_code == 422

    def row(question, expected):
        return {"question": question, "expected": expected}

    old = [row("a", "1"), row("b", "1"), row("b", "2"), row("c", "1"), row("c", "1"), row("d", "1")]
    new = [row("d", "1"), row("b", "2"), row("b", "3"), row("c", "1"), row("a", "1"), row("e", "1")]
    found = changes_between(store_rows(alice, "moved", old), store_rows(alice, "moved", new))
    assert found.same == 4
    pairs = {"changed": [(1, 2)], "added": [(-1, 5)], "removed": [(4, -1)]}
    assert {kind: list(map(tuple, each)) for kind, each in found.pairs.items()} == pairs


def test_without_an_id_rows_are_matched_by_their_inputs_and_changes_come_in_pages(alice):
    rows = [{"question": f"{n}?", "expected": "1"} for n in range(70)]
    store_rows(alice, "sums", rows)
    second = store_rows(alice, "sums", [{**row, "expected": "2", "note": ""} for row in rows[5:]])
    client, address = client_of(alice), reverse("dataset_changes", args=[second.pk])
    page = client.get(address, {"start": "50"})
    assert len(page.context["rows"]) == 15
    assert "New columns: note." in words_of(page)
    assert len(client.get(address, {"show": "removed"}).context["rows"]) == 5
    asker = Asker(alice)
    first = asker.get("/dataset-changes/sums", limit=40).json()
    rest = asker.get("/dataset-changes/sums", limit=40, cursor=first["next_cursor"]).json()
    assert [len(part["data"]) for part in (first, rest)] == [40, 25]
    assert rest["next_cursor"] is None


def test_rows_come_back_from_a_file_as_they_were_with_given_roles(alice, dataset, tmp_path):
    client = client_of(alice)
    lines = client.get(reverse("dataset_jsonl", args=[dataset.pk]))
    assert lines["Content-Disposition"] == 'attachment; filename="mixed-v1.jsonl"'
    again = import_dataset(alice, "again", lines.getvalue().decode(), "jsonl")
    assert again.digest == dataset.digest
    answer = client.get(reverse("dataset_csv", args=[dataset.pk])).getvalue().decode()
    assert list(csv.reader(io.StringIO(answer)))[5][1:3] == [f"'{EVIL}", "'-1"]
    sent = Asker(alice).ask("get", "/datasets/mixed", headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line) for line in sent.getvalue().decode().splitlines()] == ROWS
    out = tmp_path / "rows.csv"
    assert said_by("export_dataset", "mixed", out=out, user="alice").startswith("mixed v1: 5 rows")
    assert out.read_text() == answer.replace("\r\n", "\n")
    assert said_by("export_dataset", "mixed@1", user="alice").count("\n") == 5
    with pytest.raises(CommandError, match="ends in"):
        said_by("export_dataset", "mixed", out=tmp_path / "rows.xlsx", user="alice")
    assert AuditEntry.objects.filter(action="exported", subject="mixed").count() == 5
    role = {"role": ["split=metadata"], "user": "alice"}
    call_command("import_dataset", "copied", out, **role)
    assert Dataset.objects.get(name="copied").roles["split"] == "metadata"
    with pytest.raises(CommandError, match="--role was not applied: 'x' is no role"):
        call_command("import_dataset", "copied", out, role=["split=x"], user="alice")


def test_a_large_dataset_is_looked_at_in_few_queries(alice, browser, django_assert_max_num_queries):
    first = store_rows(alice, "large", [{"question": "0?", "split": "a"}])
    Case.objects.bulk_create(
        Case(dataset=first, position=n, fields={"question": f"{n}?", "split": "ab"[n % 2]})
        for n in range(1, 2000)
    )
    Dataset.objects.filter(pk=first.pk).update(rows=2000)
    for name in ("dataset", "dataset_report", "dataset_changes"):
        with django_assert_max_num_queries(25):
            page = browser.get(reverse(name, args=[first.pk]), {"part": "b"})
        assert len(page.content) < 150_000


def test_plain_words_of_ascii_are_those_of_any_text_and_half_a_pair_is_read_as_stored(alice):
    every = "".join(map(chr, range(128)))
    for text in (every, *every, "What is  2+3_4?", " \x1f a\x7fb "):
        assert plain_words(text) == plain_words(f"{text} ä").removesuffix("ä").strip(), repr(text)
    # Half a surrogate pair: only on SQLite, PostgreSQL stores none.
    dataset = store_rows(alice, "odd", [{"question": "x", "expected": ""}])
    dataset.cases.update(fields={"question": "\ud800", "expected": ""})
    assert list(fields_in_order(dataset.pk)) == [{"question": "\ud800", "expected": ""}]


def cases_of(dataset, *positions):
    return list(Case.objects.filter(dataset=dataset, position__in=positions))


def fields_of(dataset):
    return list(dataset.cases.order_by("position").values_list("fields", flat=True))


def test_picked_cases_are_a_dataset_that_grows_and_unites_columns_and_right_answers(alice, bob):
    sums = store_rows(alice, "sums", SUMS, expected="answer")
    hard = collect_cases(alice, " hard ", cases_of(sums, 1), origin="run 12")
    assert (hard.name, hard.version, hard.is_new, hard.owner) == ("hard", 1, True, alice)
    assert (hard.expected_column, hard.origin) == ("answer", "run 12")
    grown = collect_cases(alice, "hard", cases_of(sums, 0, 1))
    assert (grown.version, grown.is_new) == (2, True)
    assert fields_of(grown) == [SUMS[1], SUMS[0]]
    same = collect_cases(alice, "hard", cases_of(sums, 0, 1))
    assert (same, same.is_new) == (grown, False)
    with pytest.raises(NameTakenError):
        collect_cases(bob, "sums", cases_of(sums, 0))
    with pytest.raises(DatasetError, match="There are no cases"):
        collect_cases(alice, "none", [])
    assert Dataset.objects.count() == 3
    capitals = store_rows(alice, "capitals", CAPITALS)
    mixed = collect_cases(alice, "mixed", cases_of(sums, 0) + cases_of(capitals, 0))
    assert mixed.expected_column == "answer"
    assert mixed.columns == ["question", "answer", "country"]
    assert fields_of(mixed) == [
        {**SUMS[0], "country": ""},
        {"question": "Which capital?", "answer": "Paris", "country": "France"},
    ]
