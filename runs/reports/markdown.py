"""The report of a run as a pull-request comment: the verdict, then only what there is to say."""

from collections.abc import Iterable, Sequence

from runs import formatting
from runs.reports.leaderboard_table import (
    repeat_cells,
    repeat_heads,
    repeats_of,
    separation_lines,
    versus_text,
)
from runs.reports.plain import code_span
from runs.reports.report import MOST_SHOWN, CandidateLine, Report
from runs.selectors.comparing.comparison import ChangedTrial
from runs.selectors.runs.errors import advice_for
from workers.engine.statistics.gates import Exit


def write_markdown(report: Report) -> str:
    mark = "✅" if report.exit is Exit.PASSED else "❌"
    number = f" · run {report.run_id}" if report.run_id else ""
    sections = [
        f"### {mark} {report.verdict} — {code_span(report.name)}{number}",
        write_numbers(report),
        write_checks(report),
        write_changed(report),
        code_span(report.confirmation_text, 500) if report.confirmation else "",
        write_candidates(report.candidates),
        write_errors(report),
        write_marks(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def write_numbers(report: Report) -> str:
    outcome = report.outcome
    parts = [f"{outcome.done:,} of {outcome.planned:,} trials"]
    if outcome.score:
        low, high = outcome.score.low, outcome.score.high
        interval = formatting.score_interval(low, high)
        parts.insert(0, f"score **{formatting.score(outcome.score.value)}** ({interval})")
    if outcome.failed:
        parts.append(f"{outcome.failed:,} failed")
    if report.cached:
        parts.append(f"{report.cached:,} cached")
    parts.append(formatting.duration(report.seconds))
    if outcome.cost or not outcome.unpriced:
        parts.append(formatting.dollars(outcome.cost))
    return "  \n".join([" · ".join(parts), *report.role_texts])


def write_checks(report: Report) -> str:
    rows = [
        ("✅" if check.passed else "❌", check.name, code_span(check.told, 300))
        for check in report.checks
    ]
    return table(("", "check", "result"), rows)


def write_changed(report: Report) -> str:
    if report.comparison is None:
        return ""
    fallen = report.comparison.fallen
    if not fallen:
        return ""
    shown = table(
        ("before", "after", "candidate", "case", "question"),
        map(changed_row, report.comparison.falls(MOST_SHOWN)),
    )
    base, count = report.comparison.base, report.comparison.regressions
    trials = formatting.counted(fallen, "trial")
    head = f"#### {trials} scored lower than in {code_span(base.name)}"
    head += f" · run {base.run_id}" if base.run_id else ""
    head += f"; {count:,} passed there and no longer pass" if count else ""
    return f"{head}\n\n{shown}"


def changed_row(trial: ChangedTrial) -> tuple[str, ...]:
    return (
        f"{trial.before:g}",
        f"{trial.after:g}",
        code_span(trial.candidate),
        f"{trial.case}" + (f", repeat {trial.repeat}" if trial.repeat else ""),
        code_span(trial.question),
    )


def write_candidates(candidates: Sequence[CandidateLine]) -> str:
    if len(candidates) < 2:
        return ""
    k = repeats_of(candidates)
    heads = ["candidate", "score", "95 %", "to the best", *(repeat_heads(k) if k else ()), "failed"]
    rows = [
        (
            code_span(line.name),
            formatting.score(line.score.value if line.score else None),
            formatting.score_interval(*(line.score[1:3] if line.score else (None, None))),
            versus_text(line),
            *(repeat_cells(line) if k else ()),
            f"{line.failed:,}",
        )
        for line in candidates[:MOST_SHOWN]
    ]
    more = len(candidates) - len(rows)
    notes = [f"{more:,} more on the run's page."] if more else []
    notes += [code_span(told, 500) for told in separation_lines(candidates)]
    return "\n\n".join(["#### Candidates", table(heads, rows), *notes])


def write_errors(report: Report) -> str:
    if not report.errors:
        return ""
    rows = [
        (code_span(name), f"{count:,}", advice_for(name)) for name, count in report.errors.items()
    ]
    return "#### Errors\n\n" + table(("class", "trials", "what to do"), rows)


def write_marks(report: Report) -> str:
    if report.comparison is None or not report.comparison.marks:
        return ""
    return "\n".join(["#### Not fully comparable", "", *list_items(report.comparison.marks)])


def list_items(texts: Iterable[str]) -> list[str]:
    return [f"- {code_span(text, 300)}" for text in texts]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
