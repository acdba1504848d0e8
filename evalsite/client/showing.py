"""A run while it is waited for: a table in a notebook, a bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsite.client.run import Run

Show = Callable[["Run"], None]


def html_of(summary: dict[str, Any], url: str) -> str:
    """Everything in it may come from somebody else: names, models, reasons."""
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(text)}</td></tr>"
        for name, text in lines_of(summary).items()
    )
    link = f"<a href='{escape(url)}' target='_blank' rel='noopener'>{escape(url)}</a>"
    title = escape(f"Run {summary['id']}: {summary['name']}")
    return f"<table><caption>{title}</caption>{rows}</table><p>{link}</p>"


def lines_of(summary: dict[str, Any]) -> dict[str, str]:
    counts, score, best = summary["counts"], summary["score"], summary["best"]
    found = {
        "State": f"{summary['state']}. {summary['reason']}".rstrip(". "),
        "Trials": f"{counts['done']:,} of {counts['planned']:,}, {counts['failed']:,} failed, "
        f"{counts['cached']:,} cached",
        "Score": score_text(score),
        "Best": f"{best['name']} ({score_text(best)})" if best else "",
        "Cost": "" if summary["cost"] is None else f"${summary['cost']:.4f}",
    }
    return {name: text for name, text in found.items() if text}


def score_text(score: dict[str, Any]) -> str:
    if score["value"] is None:
        return ""
    if score["low"] is None:
        return f"{score['value']:.3f}"
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


@contextmanager
def choose_show(run: Run, show: Show | None, *, progress: bool) -> Iterator[Show]:
    if show is not None:
        yield show
    elif not progress:
        yield lambda run: None
    elif table := notebook_table(run):
        yield table
    else:
        with terminal_bar(run) as bar:
            yield bar


def notebook_table(run: Run) -> Show | None:
    """Updates one output of the cell; None where there is no notebook."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython.display import display

    handle = display(run, display_id=True)
    updating: Show = handle.update
    return updating


@contextmanager
def terminal_bar(run: Run) -> Iterator[Show]:
    try:
        from rich.progress import Progress
    except ImportError:
        yield lambda run: None
        return
    with Progress(transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(run: Run) -> None:
            counts = run.summary["counts"]
            told = f"Run {run.id}: {run.state}".replace("[", "(")  # rich would read markup
            bar.update(task, completed=counts["done"], total=counts["planned"], description=told)

        yield show
