"""Breaks twenty things on purpose, one at a time, and asks the tests nearby whether they notice.

`python scripts/mutants.py` tries the last commit, `--of REVISION` another one, `--only 3,7` some.
Each is tried in a copy of the tree, by the tests in the folders and of the names that stand beside
it. It ends with 1 if one of them lived.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Mutant(NamedTuple):
    what: str
    path: str
    old: str
    new: str
    folders: str
    words: str  # in the names of tests and of their files


ENGINE = (
    Mutant(
        "a chunk loses its last trial",
        "workers/engine/chunks.py",
        "trials[start : start + size]",
        "trials[start : start + size - 1]",
        "tests/engine",
        "chunk",
    ),
    Mutant(
        "more calls at once than there are slots",
        "workers/engine/chunks.py",
        "candidates=slots // cases, cases",
        "candidates=slots // cases + 1, cases",
        "tests/engine",
        "chunk or slot",
    ),
    Mutant(
        "repeats share one cached answer",
        "workers/engine/calling/cache.py",
        "request.body, request.repeat])",
        "request.body])",
        "tests/engine tests/runs",
        "cache or repeat or identity or provider",
    ),
    Mutant(
        "ranks go by what was answered",
        "workers/engine/statistics/boards.py",
        "return (False, -common, -self.lower_end(key)",
        "return (False, -(self.mean(key) or 0.0), -self.lower_end(key)",
        "tests/engine tests/runs",
        "board or statistic or rank",
    ),
    Mutant(
        "the provider's 429 does not cut the limit",
        "workers/permits.lua",
        "math.floor(limit * CUT)",
        "math.floor(limit)",
        "tests/workers",
        "permit",
    ),
    Mutant(
        "a refused key is asked with 300 times",
        "workers/engine/streaks.py",
        "LONGEST_KEY_STREAK = 3 ",
        "LONGEST_KEY_STREAK = 300 ",
        "tests/engine tests/workers",
        "streak or refus or key",
    ),
    Mutant(
        "a cell that begins with @ is a formula",
        "workers/engine/spreadsheets.py",
        '"-", "@", ',
        '"-", ',
        "tests/engine tests/runs tests/api tests/commands",
        "formula or spreadsheet or export or file or score or csv or reports",
    ),
    Mutant(
        "a number that is just within its tolerance is wrong",
        "workers/engine/scorers/numeric.py",
        "abs(found - expected) <= _as_written",
        "abs(found - expected) < _as_written",
        "tests/engine",
        "scorer or numeric",
    ),
)

SERVICES = (
    Mutant(
        "who lost a lease may still write",
        "runs/services/chunks/recording.py",
        "if leases[pk].token == token}",
        "if leases[pk].token <= token}",
        "tests/workers",
        "record or recover or lease or fence",
    ),
    Mutant(
        "what was stored is stored again",
        "runs/services/chunks/recording.py",
        ".trial.position not in known]",
        ".trial.position not in ()]",
        "tests/workers",
        "record or recover or twice",
    ),
    Mutant(
        "a worker takes all suspect chunks at once",
        "runs/services/chunks/leases.py",
        "chunk.deaths >= SUSPICIOUS_DEATHS and has_suspect(owner)",
        "chunk.deaths >= SUSPICIOUS_DEATHS and not owner",
        "tests/workers",
        "recover or dying or suspect or lease",
    ),
    Mutant(
        "a spent budget does not stop a run",
        "runs/services/control/budgets.py",
        "        if line.is_used_up:\n            _stop",
        "        if line.share > 9:\n            _stop",
        "tests/workers tests/runs",
        "budget",
    ),
    Mutant(
        "a token works after its last day",
        "runs/services/people/tokens.py",
        "not is_right or not known.is_valid_at(moment)",
        "not is_right",
        "tests/api",
        "token",
    ),
    Mutant(
        "a webhook may go to a private address",
        "runs/outbound.py",
        "return str(check_url(url, webhook_policy()))",
        "return url",
        "tests/api tests/runs",
        "webhook or outbound or private",
    ),
)

DOORS = (
    Mutant(
        "everybody sees everything",
        "runs/access.py",
        "return Q(owner_id=user.pk) | Q(is_shared=True) | Q(team__in=team_numbers(user))",
        "return Q()",
        "tests/runs tests/api",
        "access or stranger or team",
    ),
    Mutant(
        "who may see a run may cancel it",
        "runs/views/run_control.py",
        "def run_cancel(request: HttpRequest, run_id: int) -> HttpResponse:\n"
        "    run = get_run_for(request.user, run_id, write=True)",
        "def run_cancel(request: HttpRequest, run_id: int) -> HttpResponse:\n"
        "    run = get_run_for(request.user, run_id)",
        "tests/roles tests/runs",
        "matrix or access or cancel or shared",
    ),
    Mutant(
        "a token that may read may also write",
        "runs/api/doors.py",
        "if self.scope not in found.scopes:",
        "if not found.scopes:",
        "tests/api",
        "token or door or scope",
    ),
    Mutant(
        "the live door is open to who may not see the run",
        "runs/consumers.py",
        "await self._read_run() is None",
        "self.run_id is None",
        "tests/workers tests/runs tests/api",
        "live or socket",
    ),
)

TEMPLATES = (
    Mutant(
        "the answer of a model is markup",
        "templates/runs/trial/_answer.html",
        ">{{ answer }}</pre>",
        ">{{ answer|safe }}</pre>",
        "tests/runs tests/test_architecture.py",
        "hostile or trial or safe or markup",
    ),
    Mutant(
        "the leaderboard hides what failed",
        "templates/runs/run/_leaderboard.html",
        "{{ row.failed|count }}",
        "",
        "tests/runs",
        "leaderboard or pages",
    ),
)

MUTANTS = (*ENGINE, *SERVICES, *DOORS, *TEMPLATES)


def main() -> int:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--of", default="HEAD", metavar="REVISION")
    asked.add_argument("--only", default="", help="numbers, separated by commas")
    given = asked.parse_args()
    chosen = [int(number) for number in given.only.split(",") if number]
    lived = 0
    with tempfile.TemporaryDirectory(prefix="evalsite-mutants-") as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(tree), given.of)
        try:
            for name in (".venv", "node_modules"):
                (tree / name).symlink_to((ROOT / name).resolve())
            for number, mutant in enumerate(MUTANTS, start=1):
                if not chosen or number in chosen:
                    lived += not is_caught(tree, number, mutant)
        finally:
            git("worktree", "remove", "--force", str(tree))
    print(f"{lived} lived." if lived else "All were caught.")
    return 1 if lived else 0


def is_caught(tree: Path, number: int, mutant: Mutant) -> bool:
    file = tree / mutant.path
    text = file.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.path} has changed: write mutant {number} anew.")
    file.write_text(text.replace(mutant.old, mutant.new))
    began = time.monotonic()
    try:
        words = ["-q", "-x", "-n", "2", "-m", "not alone"]
        argv = [".venv/bin/pytest", *words, "-k", mutant.words, *mutant.folders.split()]
        ended = subprocess.run(argv, check=False, cwd=tree, capture_output=True, text=True)
    finally:
        file.write_text(text)
    if ended.returncode not in (0, 1, 2):  # 2: xdist stops at the first failure
        raise SystemExit(f"Mutant {number}: its tests could not be run.\n{ended.stdout[-3000:]}")
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    end = f"caught by {failed[0][:110]}" if failed else "LIVED"
    print(f"{number:2} {mutant.what}: {end} ({time.monotonic() - began:.0f} s)", flush=True)
    return bool(failed)


def git(*words: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
