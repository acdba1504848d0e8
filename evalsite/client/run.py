"""A run of a site, as it is when it is looked at."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from evalsite.client.errors import ClientError
from evalsite.client.frames import Frame, frame_of
from evalsite.client.http import Site
from evalsite.client.showing import choose_show, html_of

LOOK_SECONDS = 0.5
STANDS_STILL = ("paused",)  # until a person resumes it


class Run:
    """`summary` is as it was asked for last; `refresh` asks again."""

    def __init__(self, site: Site, summary: dict[str, Any]) -> None:
        self._site = site
        self.summary = summary

    @property
    def id(self) -> int:
        return int(self.summary["id"])

    @property
    def name(self) -> str:
        return str(self.summary["name"])

    @property
    def state(self) -> str:
        return str(self.summary["state"])

    @property
    def has_ended(self) -> bool:
        return self.summary["ended"] is not None

    @property
    def score(self) -> float | None:
        """The mean over the trials that have a score."""
        value: float | None = self.summary["score"]["value"]
        return value

    @property
    def url(self) -> str:
        """Its page, for a browser."""
        return f"{self._site.url}/runs/{self.id}/"

    def refresh(self) -> Run:
        self.summary = self._site.get(f"/runs/{self.id}").json()
        return self

    def wait(
        self,
        timeout: float | None = None,
        *,
        progress: bool = True,
        show: Callable[[Run], None] | None = None,
    ) -> Run:
        """Until it has ended, or is paused. Shows itself meanwhile: in a notebook as a table, on a
        terminal as a bar; `show` is called instead with each look. ClientError after `timeout`
        seconds; the run goes on."""
        end = None if timeout is None else time.monotonic() + timeout
        with choose_show(self, show, progress=progress) as tell:
            while True:
                tell(self.refresh())
                if self.has_ended or self.state in STANDS_STILL:
                    return self
                if end is not None and time.monotonic() > end:
                    raise ClientError(f"Run {self.id} is still {self.state} after {timeout:g} s.")
                time.sleep(LOOK_SECONDS)

    def cancel(self) -> Run:
        self._site.post(f"/runs/{self.id}/cancel", {})
        return self.refresh()

    def candidates(self) -> list[dict[str, Any]]:
        """The leaderboard, best first."""
        return self._site.pages(f"/runs/{self.id}/candidates")

    def score_rows(self, **filters: Any) -> list[dict[str, Any]]:
        """One a trial, with question, answer and what each scorer said. `filters` as of the API:
        status="failed", candidate="…", case=3."""
        path = f"/runs/{self.id}/scores"
        text = self._site.get(path, "application/x-ndjson", **filters).body.decode()
        return [json.loads(line) for line in text.split("\n") if line]

    def scores(self, frame: Frame | None = None, **filters: Any) -> Any:
        """The same as a data frame of pandas or polars, whichever is installed; else the list."""
        return frame_of(self.score_rows(**filters), frame)

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        done = f"{counts['done']:,} of {counts['planned']:,}"
        return f"<Run {self.id} {self.name!r}: {self.state}, {done} trials>"

    def _repr_html_(self) -> str:
        return html_of(self.summary, self.url)
