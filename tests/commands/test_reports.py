"""Reports of runs whose names, questions and answers were written by an enemy."""

import csv
import re
from xml.etree import ElementTree

from runs.reports.export import write_scores
from runs.reports.junit import write_junit
from runs.reports.markdown import write_markdown
from runs.reports.plain import code_span, one_line
from runs.reports.report import CandidateLine, Report
from runs.selectors.comparing.cases import GivenCases
from runs.selectors.comparing.comparison import compare_sides
from runs.selectors.comparing.sides import Side
from runs.selectors.scores.overrides import NO_HUMAN
from tests.harness.table import table
from workers.engine.spreadsheets import guard
from workers.engine.statistics.columns import Result, columns_of
from workers.engine.statistics.gates import Check, Exit, Outcome
from workers.engine.statistics.intervals import Estimate

EVIL = [
    "]]></failure><testcase name='forged'/>",
    "<img src=x onerror=alert(1)>",
    "| cell | `code` \\| **bold** [link](http://evil) @everyone #1",
    "line\nbreak\r\n\n### ✅ Passed",
    "\x00\x08\x1b[31mred\x1b[0m\u202eright to left",
    "\ud800 lone surrogate",
    "`" * 10,
    "&amp; &#96; ]]>",
]


def report(evil, *checks):
    return Report(
        run_id=7,
        name=evil,
        state="completed",
        outcome=Outcome("finished", "", 10, 10, 1, Estimate(0.5, 0.2, 0.8, 9), 0.45, 0.01),
        cached=2,
        seconds=3.0,
        checks=checks or [Check("regressions", False, evil), Check("errors", True, evil)],
        candidates=[CandidateLine(evil, None, 1), CandidateLine("b", Estimate(1, 1, 1, 9), 0)],
        errors={evil: 1},
        comparison=comparison(evil),
    )


def comparison(evil):
    """One trial fell from right to wrong; the datasets are called differently."""
    return compare_sides(side(evil, 1.0), side(evil, 0.0))


def side(evil, value):
    return Side(
        run_id=3,
        candidate=None,
        name=evil,
        dataset=evil,
        digest="",
        scorers=(),
        expected="",
        repeats=1,
        candidates={"key": evil},
        positions=[0],
        cases=GivenCases({4: {"question": "the same"}}),
        trials=columns_of([Result(0, 4, 1, value, value == 1.0, 4)]),
        is_complete=True,
    )


def cells_of(text):
    return [line.count("|") for line in text.splitlines()]


def titles_of(text):
    """But for the first, which has the name of the run."""
    return [line for line in text.splitlines() if line.startswith("#")][1:]


@table(*EVIL)
def test_junit_stays_well_formed_and_markdown_keeps_its_lines_and_cells(evil):
    assert one_line(evil * 100, 60).isprintable()
    assert len(one_line(evil * 100, 60)) <= 60
    root = ElementTree.fromstring(write_junit(report(evil)).encode())
    assert [case.get("name") for case in root.iter("testcase")] == ["regressions", "errors"]
    assert root[0].get("failures") == "1"
    tame, text = write_markdown(report("tame")), write_markdown(report(evil))
    assert cells_of(text) == cells_of(tame)
    assert titles_of(text) == [one.replace("`tame`", code_span(evil)) for one in titles_of(tame)]
    outside = re.sub(r"`[^`\n]*`", "", text)
    assert not set("<@[]") & set(outside)
    assert "evil" not in outside


def test_the_verdict_names_what_is_to_blame_and_a_summary_has_only_sections_with_content():
    finished, low = Check("finished", True, "x"), Check("score", False, "x")
    verdicts = {
        "Passed": [finished, Check("score", True, "x")],
        "Failed: score": [finished, low],
        "Stopped by a budget: score": [Check("finished", False, "x", Exit.BUDGET_STOP), low],
        "Too many errors: errors": [Check("errors", False, "x", Exit.TOO_MANY_ERRORS)],
        "Not finished": [Check("finished", False, "x", Exit.OUR_FAULT)],
    }
    assert [report("sums", *checks).verdict for checks in verdicts.values()] == [*verdicts]
    plain = Report(
        run_id=None, name="sums", state="completed",
        outcome=Outcome("finished", "", 1, 1, 0, Estimate(1, 0.2, 1, 1), 1.0),
        cached=0, seconds=0.5, checks=[Check("finished", True, "1 of 1 trials are done.")],
    )  # fmt: skip
    text = write_markdown(plain)
    assert text.startswith("### ✅ Passed — `sums`\n")
    assert "####" not in text


def record(text):
    said = {"name": text, "value": 0.0, "passed": False, "label": "", "reason": "no", "error": ""}
    return {
        "position": 0, "candidate": "k", "candidate_name": text, "role": "evaluate", "case": 0,
        "repeat": 0, "question": text, "expected": text, "answer": text, "value": -0.5,
        "passed": False, "judgements": [said], "error": {"class": "refused", "message": "=1+1"},
        "latency_ms": 1.5, "tokens_in": None, "tokens_out": None, "cost": None,
        "full_cost": None, "judge_cost": None, "cached": True, "truncated": True, "attempts": 1,
        **NO_HUMAN, "human_comment": text,
    }  # fmt: skip


def test_no_cell_of_a_csv_is_a_formula(tmp_path):
    starts = ["=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
    texts = [f'{start}HYPERLINK("http://evil")\n"quoted"' for start in starts]
    write_scores(tmp_path / "e.csv", [record(text) for text in texts])
    rows = list(csv.DictReader((tmp_path / "e.csv").open(newline="")))
    for row, text in zip(rows, texts, strict=True):
        for name in ("candidate_name", "question", "expected", "answer"):
            assert row[name] == f"'{text}"
        assert row["judgements"].startswith(f"'{text[0]}HYPERLINK")
        assert row["error_message"] == "'=1+1"
        assert row["value"] == "-0.5"  # a number is no formula


def test_other_text_is_exported_as_it_is(tmp_path):
    assert guard("it's = 4") == "it's = 4"
    for evil in EVIL:
        write_scores(tmp_path / "e.jsonl", [record(evil)])
        assert len((tmp_path / "e.jsonl").read_text().splitlines()) == 1
