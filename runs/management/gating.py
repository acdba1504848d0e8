"""The gates of a command: their options, the baseline, and what is handed out at the end."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from runs.access import get_run_for, runs_for
from runs.kinds import kind_named
from runs.management import here_results, here_runs
from runs.management.here_runs import HereRun
from runs.models import Run
from runs.reports.export import check_export, write_scores
from runs.reports.html import MOST_WORST, write_html
from runs.reports.junit import write_junit
from runs.reports.markdown import write_markdown
from runs.reports.report import Report
from runs.run_reports import compare_with
from runs.selectors.runs.baselines import COMPARABLE, has_scorers_of, newest_like
from runs.selectors.runs.ran_on import facts_at_launch
from runs.selectors.scores.columns import ScoreLine
from runs.selectors.scores.worst_cases import worst_cases
from workers.engine.kinds import read_configuration
from workers.engine.statistics.gates import GateError, Gates, judge

LAST = "last"
MOST_NAMED = 10  # of the candidates that there are
NO_BASELINE = (
    "There is no complete run of this name with the same scorers yet, so there is no baseline."
)


def add_gates(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(
        "gates", "exit codes: 0 passed, 100 a gate failed, 3 too many errors, 4 stopped by a budget"
    )
    group.add_argument(
        "--min-score",
        type=float,
        metavar="X",
        help="lowest score of the best candidate allowed; failed trials count as wrong",
    )
    group.add_argument(
        "--score-of", metavar="NAME", help="judge the score of this candidate, not of the best"
    )
    group.add_argument(
        "--baseline",
        metavar="RUN",
        help=f"number of a run, or {LAST} for the newest complete run of the same name. The gate "
        "fails when the score on the same cases is significantly worse",
    )
    group.add_argument(
        "--alpha", type=float, metavar="P", help="significance level of --baseline; default 0.05"
    )
    group.add_argument(
        "--max-regressions",
        type=int,
        metavar="N",
        help="most trials that may pass in the baseline and fail now",
    )
    group.add_argument(
        "--max-error-rate",
        type=float,
        metavar="X",
        help="largest share of failed trials, 0 to 1 (default: 0.05)",
    )
    group.add_argument(
        "--max-cost", type=float, metavar="DOLLARS", help="most that the run may cost"
    )
    group.add_argument("--junit", type=Path, metavar="FILE", help="write the checks as JUnit XML")
    group.add_argument(
        "--summary", type=Path, metavar="FILE.md", help="write Markdown for a pull request"
    )
    group.add_argument(
        "--html", type=Path, metavar="FILE.html", help="write a report as one HTML file"
    )
    group.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help="write the scores as .jsonl, .csv or .parquet. Of kind select, .csv is the table of "
        "combinations and .yaml the winner as a LiteLLM configuration",
    )
    group.add_argument(
        "--records",
        action="store_true",
        help="with --export: also what each trial recorded, if its kind of run records anything",
    )


@dataclass(frozen=True)
class Asked:
    """What a command was asked to judge and to write."""

    gates: Gates
    baseline: Run | None
    junit: Path | None
    summary: Path | None
    export: Path | None
    records: bool = False  # with the export
    html: Path | None = None
    lacks_baseline: bool = False  # `last`, and there is none yet


def read_gates(
    options: dict[str, Any], owner: User, document: dict[str, Any], before: int | None = None
) -> Asked:
    """Everything that can be wrong is found here, before a call is paid for. `before`: the run
    that is judged, when it exists already."""
    gates = Gates(
        min_score=options["min_score"],
        score_of=options["score_of"],
        max_error_rate=options["max_error_rate"],
        max_cost=options["max_cost"],
        max_regressions=options["max_regressions"],
        alpha=options["alpha"],
    )
    gates.check(has_baseline=bool(options["baseline"]))
    check_candidate(gates.score_of, document)
    for name in ("junit", "summary", "html"):
        check_folder(options[name])
    if options["records"] and not options["export"]:
        raise GateError("--records goes with --export FILE, which is where they are written.")
    if options["export"]:
        kind = kind_named(read_configuration(document).kind)
        check_export(options["export"], kind.export_suffixes)
    baseline = find_baseline(options["baseline"], owner, document, before)
    return Asked(
        gates,
        baseline,
        options["junit"],
        options["summary"],
        options["export"],
        options["records"],
        options["html"],
        lacks_baseline=bool(options["baseline"]) and baseline is None,
    )


def check_candidate(named: str | None, document: dict[str, Any]) -> None:
    """Of kinds that make all their candidates at the beginning."""
    configuration = read_configuration(document)
    if not named or configuration.learns:
        return
    names = [candidate.name for candidate in configuration.make_candidates()]
    if named not in names:
        known = ", ".join(f"“{name}”" for name in names[:MOST_NAMED])
        raise GateError(f"--score-of {named}: there is none of this name. There are {known}.")


def check_folder(path: Path | None) -> None:
    if path and not path.absolute().parent.is_dir():
        raise GateError(f"There is no folder {path.absolute().parent} to write {path.name} into.")


def find_baseline(
    choice: str | None, owner: User, document: dict[str, Any], before: int | None
) -> Run | None:
    if not choice:
        return None
    if choice == LAST:
        return newest_like(runs_for(owner), document, before)
    if not choice.isdecimal():
        raise GateError(f"--baseline {choice}: give the number of a run, or {LAST}.")
    run = get_run_for(owner, int(choice))
    if run.state not in COMPARABLE:
        raise GateError(f"--baseline {choice}: that run is {run.get_state_display().lower()}.")
    if not has_scorers_of(run, document):
        raise GateError(
            f"--baseline {choice}: that run has other scorers, so the scores cannot be compared. "
            "Choose a run with the same scorers, or leave --baseline out."
        )
    return run


def report_of_here(run: HereRun, asked: Asked) -> Report:
    comparison = compare_with(asked.baseline, here_results.side_of(run))
    found = here_results.find(run)
    outcome = here_results.outcome_of(run, found, asked.gates.score_of or "")
    confirmation = here_results.confirmation_of(run)
    errors = Counter(score.error for score in run.scores if score.error)
    return Report(
        run_id=None,
        name=run.configuration.name,
        state=run.state,
        outcome=outcome,
        cached=here_runs.standing_of(run).cached,
        seconds=run.seconds,
        checks=judge(
            asked.gates,
            outcome,
            comparison.found if comparison else None,
            confirmation.sentence if confirmation else "",
        ),
        candidates=found.candidate_lines() if found else here_results.candidate_lines(run),
        errors=dict(errors.most_common()),
        roles=here_results.role_lines(run),
        comparison=comparison,
        findings=found,
        ran_on=facts_at_launch(run.configuration, run.endpoints, len(run.cases), run.rows),
        confirmation=confirmation,
    )


def hand_out(
    report: Report,
    asked: Asked,
    scores: Iterable[ScoreLine],
    document: dict[str, Any],
    run: Run | None = None,
) -> None:
    """Write every file that was asked for. `run`: where it is stored."""
    if asked.html:
        worst = worst_cases(run, MOST_WORST) if run else ()
        asked.html.write_text(write_html(report, document, worst), encoding="utf-8")
    if asked.junit:
        asked.junit.write_text(write_junit(report), encoding="utf-8")
    if asked.summary:
        asked.summary.write_text(write_markdown(report), encoding="utf-8")
    if asked.export and not (report.findings and report.findings.write_file(asked.export)):
        write_scores(asked.export, scores, with_records=asked.records)
