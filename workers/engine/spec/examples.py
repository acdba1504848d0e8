"""Configurations to copy, shown by the reference and run by a test on the simulated provider."""

from typing import NamedTuple


class Example(NamedTuple):
    anchor: str
    title: str
    about: str
    yaml: str


EXAMPLES = (
    Example(
        "example-evaluate-minimal",
        "The shortest evaluation",
        "One prompt, one model, one scorer. The scorer compares with the column expected.",
        """\
kind: evaluate
dataset:
  rows:
    - {question: "What is 2 + 3?", expected: "5"}
    - {question: "What is 20 + 30?", expected: "50"}
prompts:
  - name: plain
models: [simulated/sim-large]
scorers: [numeric]
""",
    ),
    Example(
        "example-evaluate",
        "Two prompts, two models",
        "With a stored dataset, parameters, limits and a budget. Save it as sums.yaml, then "
        "`manage.py run sums.yaml --baseline last`.",
        """\
name: sums
kind: evaluate
dataset: arithmetic            # the newest version; arithmetic@3 for another one
prompts:
  - name: plain
    user: "{{question}}"
  - name: terse
    system: Answer with the number only.
    user: "{{question}}"
models:
  - simulated/sim-small
  - endpoint: simulated
    model: sim-large
    parameters: {temperature: 0, max_tokens: 200}
scorers:
  - numeric: {tolerance: 0.001}
repeats: 2
seed: 7
limits:
  preset: conservative
  requests_per_minute: null    # no limit of the run's own
  timeout_seconds: 30
budget: {calls: 1000}
cache: refresh
fail_on_error: 0.1             # pause when more than a tenth of the trials fails
""",
    ),
    Example(
        "example-select-minimal",
        "The shortest selection",
        "Which model is best for one step. Without a strategy it is arm_elimination.",
        """\
kind: select
dataset: arithmetic
steps:
  - name: solver
    models: [simulated/sim-small, simulated/sim-large]
scorers: [numeric]
""",
    ),
    Example(
        "example-select",
        "A pipeline of two steps",
        "Four combinations of models. Later steps use the answers of earlier ones by their names.",
        """\
name: planner and solver
kind: select
dataset: arithmetic
steps:
  - name: planner
    system: Write down the sum that has to be computed.
    user: "{{question}}"
    models: [simulated/sim-small, simulated/sim-large]
  - name: solver
    system: Answer with the number only.
    user: "{{planner}}\\n{{question}}"
    models: [simulated/sim-small, simulated/sim-large]
strategy: {name: paired_elimination, batch: 4}
objective: {lambda_cost: 0.1}  # a little quality for a lower price
scorers: [numeric]
limits: {max_concurrent: 20, requests_per_minute: null}
""",
    ),
    Example(
        "example-rollout",
        "Policies that play missions",
        "On the grid world, which needs nothing else to be installed. More in docs/ROLLOUT.md.",
        """\
name: foragers
kind: rollout
seed: 42
missions:
  - {environment: "grid/*", max_steps: 50}
policies: [random, seeker, {linear: {seed: 3}}]
episodes: 2
jobs: 4
""",
    ),
)
