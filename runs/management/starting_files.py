"""The files that `init` writes: a configuration with comments, and a CI job that runs it."""

from collections.abc import Sequence

from evalsite.env import PROGRAM
from runs.management.surroundings import SIMULATED, Found, Rows
from workers.engine.kinds import DEFAULT_KIND
from workers.engine.spec.documents import write_line

EVALS = """\
# What is evaluated, on what, and how. `{program} run evals.yaml` runs it; every field is in
# docs/CONFIGURATION.md. A site is not needed: if one is up, its workers do it, and it is kept.

kind: {kind}  # compares prompts and models

# Where calls go. Keys are read from the environment and never written anywhere.
endpoints:
{endpoints}

{dataset}

# Each prompt with each model is a candidate. {{{{column}}}} stands for a column of the dataset.
prompts:
  - name: plain
    {user}
  - name: terse
    system: Answer as briefly as you can.
    {user}

models:
{models}

# How an answer becomes a score: exact, contains, numeric, token_f1, rubric (a model judges), ...
scorers:
{scorers}

limits: {{max_concurrent: 8}}  # calls at once, and never more than the provider allows
budget: {{calls: 200}}         # it stops before it is more
"""

OWN_ROWS = """\
# The questions with their answers. A file: dataset: {file: questions.csv}, beside this one.
dataset:
  rows:
    - {question: "What is 17 + 25?", expected: "42"}
    - {question: "What is 9 times 8?", expected: "72"}
    - {question: "What is 144 divided by 12?", expected: "12"}
    - {question: "What is 81 - 36?", expected: "45"}
    - {question: "Ann has 12 apples and gets 30 more. How many has she?", expected: "42"}
    - {question: "What is 7 times 7?", expected: "49"}"""

JOB = """\
# Fails when answers get worse. `evalsite init` wrote it; the results are in the job's summary.
name: evals
on:
  pull_request:
  push:
    branches: [main]

jobs:
  evals:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    permissions:
      contents: read
{secrets}    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Install
        # Where your copy of evalsite is: a repository, a wheel, or a package index.
        run: pip install "evalsite @ git+https://github.com/your-organisation/evalsite"
      - name: Evaluate
        run: |
          evalsite run {file} --json --min-score 0.5 --max-error-rate 0.02 \\
            --junit evals.xml --summary evals.md --export scores.jsonl
      - name: Show
        if: always()
        run: |
          if [ -f evals.md ]; then cat evals.md >> "$GITHUB_STEP_SUMMARY"; fi
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: evals
          path: |
            evals.xml
            evals.md
            scores.jsonl
"""


def evals_file(rows: Rows | None, endpoints: Sequence[Found]) -> str:
    """The first endpoint is asked; the others stand there as comments."""
    first, *others = endpoints
    column = rows.asked if rows else "question"
    return EVALS.format(
        program=PROGRAM,
        kind=DEFAULT_KIND,
        endpoints="\n".join(
            [f"  {endpoint_line(first)}", *(f"  # {endpoint_line(one)}" for one in others)]
        ),
        dataset=dataset_part(rows) if rows else OWN_ROWS,
        user=write_line("user", f"{{{{{column}}}}}"),
        models="\n".join([f"  - {label(first)}", *(f"  # - {label(one)}" for one in others)]),
        scorers=scorers_part(rows, first),
    )


def endpoint_line(one: Found) -> str:
    given = {"base_url": one.base_url, "key_env": one.key_env}
    settings = {name: value for name, value in given.items() if value}
    told = "  # answers by itself: no key, no cost" if one.name == SIMULATED else ""
    return f"{write_line(one.name, settings)}{told}"


def dataset_part(rows: Rows) -> str:
    lines = [
        "# Rows of a file beside this one, the first only; remove `first` to take all of them.",
        f"# Its columns: {', '.join(write_line('', column)[4:] for column in rows.columns)}",
        "dataset:",
        f"  {write_line('file', rows.file)}",
        "  first: 20",
    ]
    return "\n".join(lines)


def scorers_part(rows: Rows | None, first: Found) -> str:
    if rows is None:
        return "  - numeric"
    if rows.scorer:
        return f"  - {rows.scorer}"
    judge = write_line("judge", f"{first.name}/{first.model}")
    return (
        "  # No column has a right answer (expected: COLUMN names one), so a model judges.\n"
        f"  - rubric: {{{judge}, rubric: The answer is correct and helpful.}}"
    )


def label(one: Found) -> str:
    return write_line("", f"{one.name}/{one.model}").removeprefix("'': ")


def job_file(file: str, endpoints: Sequence[Found]) -> str:
    names = [one.key_env for one in endpoints[:1] if one.key_env]
    lines = [f"      {name}: ${{{{ secrets.{name} }}}}\n" for name in names]
    return JOB.replace("{secrets}", "".join(["    env:\n", *lines]) if lines else "").replace(
        "{file}", file
    )
