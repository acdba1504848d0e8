"""Compares our reflective evolution of prompts with random search and with the package gepa.

All three are given the same cases, the same scorer, the same models and the same number of calls,
counted by the simulated provider, whose answers depend on the prompt (workers/simulator/answers).
Cases that none of them has seen decide, and are not counted. gepa is no part of this project:

    .venv/bin/uv pip install gepa==0.1.4
    .venv/bin/python scripts/compare_evolution.py --seeds 10

Without it the other two are compared.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from workers.engine.here import run_here
from workers.engine.http import Client
from workers.engine.kinds.evolve import Evolution, life_in
from workers.engine.models_here import Endpoint, Models
from workers.engine.providers import PROVIDERS
from workers.engine.records import Case
from workers.engine.scorers import Scorer, build_scorer
from workers.engine.session import Session
from workers.engine.spec.model_choice import ModelChoice
from workers.engine.statistics.paired import estimate_difference
from workers.engine.targets.chat import chat_request
from workers.simulator.demo import MAKERS, Question
from workers.simulator.testing import SimulatorClient, running_simulator

MODEL, WRITER = "sim-small", "sim-large"
FIRST_PROMPTS = (
    "Answer the question.",
    "Answer with the number only.",
    "Be friendly and answer the question.",
)
AT_ONCE = 16
MOST_ITERATIONS = 3_000  # of gepa: when its prompt is right in all cases, it goes on without a call
GEPA_FEEDBACK = {
    True: "The generated response is correct.",
    False: "The generated response is incorrect.",
}


class Work(NamedTuple):
    """What all of them work on."""

    seed: int
    seen: list[Case]
    held_out: list[Case]
    calls: int


class Found(NamedTuple):
    prompt: str
    calls: int


class Row(NamedTuple):
    """One seed: held-out scores, and the calls that it took."""

    seed: int
    best_first: float
    ours: float
    random_search: float
    gepa: float | None
    p: float  # of ours against the best first prompt
    calls_ours: int
    calls_random: int
    calls_gepa: int | None
    prompt: str


# --- Cases


def chain(random: Random) -> Question:
    a, b, c = (random.randint(2, 30) for _ in range(3))
    return Question(f"What is ({a} + {b}) * {c}?", str((a + b) * c))


def percent(random: Random) -> Question:
    share, whole = random.choice((5, 10, 20, 25, 40, 60)), 20 * random.randint(2, 40)
    return Question(f"What is {share} percent of {whole}?", str(share * whole // 100))


def large(random: Random) -> Question:
    a, b = random.randint(1_000, 99_999), random.randint(1_000, 99_999)
    return Question(f"What is {a} + {b}?", str(a + b))


def make_cases(count: int, seed: int) -> list[Case]:
    """Nine sorts of questions, none of them twice."""
    random, makers = Random(f"{seed} compare"), (*MAKERS, chain, percent, large)
    questions: dict[str, Question] = {}
    while len(questions) < count:
        made = makers[len(questions) % len(makers)](random)
        questions.setdefault(made.question, made)
    shuffled = list(questions.values())
    random.shuffle(shuffled)
    return [Case(place, one._asdict()) for place, one in enumerate(shuffled)]


# --- Asking


def numeric() -> Scorer:
    built = build_scorer("numeric", {})
    assert isinstance(built, Scorer)
    return built


class Asker:
    """Calls the provider as runs do, equal calls once, and scores as they do."""

    def __init__(self, simulator: SimulatorClient) -> None:
        self._models = Models(
            {"simulated": Endpoint(f"{simulator.url}/v1", kind="simulated")}, max_concurrent=AT_ONCE
        )
        self._scorer = numeric()
        self._simulator = simulator

    @property
    def calls(self) -> int:
        return int(self._simulator.ledger()["total"])

    def close(self) -> None:
        self._models.close()

    def write(self, messages: list[dict[str, str]], number: int) -> str:
        return self._ask(WRITER, messages, number)

    def answer(self, system: str, case: Case) -> str:
        asked = {"role": "user", "content": case.fields["question"]}
        return self._ask(MODEL, [{"role": "system", "content": system}, asked], 0)

    def score(self, answer: str, case: Case) -> float:
        return float(self._scorer.judge(answer, case).value or 0.0)

    def scores(self, system: str, cases: Sequence[Case]) -> list[float]:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            answers = threads.map(lambda case: self.answer(system, case), cases)
            return [self.score(text, case) for text, case in zip(answers, cases, strict=True)]

    def _ask(self, model: str, messages: list[dict[str, str]], repeat: int) -> str:
        choice = ModelChoice(endpoint="simulated", model=model)
        request = chat_request(choice.model_dump(), messages, repeat, "")
        return self._models.run(self._models.ask(request)).text


@contextmanager
def asking(simulator: SimulatorClient) -> Iterator[Asker]:
    """With an empty ledger and an empty cache."""
    simulator.reset()
    asker = Asker(simulator)
    try:
        yield asker
    finally:
        asker.close()


# --- The three


def evolution(work: Work, operators: list[Any], **options: Any) -> Evolution:
    return Evolution.model_validate(
        {
            "name": "compared",
            "kind": "evolve",
            "seed": work.seed,
            "dataset": "sums",
            "prompts": [
                {"name": f"p{place}", "system": text} for place, text in enumerate(FIRST_PROMPTS)
            ],
            "models": [f"simulated/{MODEL}"],
            "operators": operators,
            "scorers": ["numeric"],
            "limits": {"max_concurrent": AT_ONCE, "requests_per_minute": None},
            "strategy": {
                "name": "genetic",
                "max_generations": 1000,
                "max_evaluations": work.calls,
                "target_fitness": None,
                "patience": None,
                "least_diversity": 0.0,
                **options,
            },
        }
    )


def run_ours(simulator: SimulatorClient, work: Work) -> Found:
    writer = {"model": f"simulated/{WRITER}"}
    return evolve(simulator, work, evolution(work, [{"reflect": writer}], preset="reflective"))


def run_random(simulator: SimulatorClient, work: Work) -> Found:
    options = {"preset": "random_search", "population_size": 10}
    return evolve(simulator, work, evolution(work, ["words"], **options))


def evolve(simulator: SimulatorClient, work: Work, spec: Evolution) -> Found:
    async def run() -> list[Any]:
        async with Client() as client:
            provider = PROVIDERS["simulated"](client, "simulated", f"{simulator.url}/v1")
            return await run_here(spec, work.seen, {"simulated": provider})

    simulator.reset()
    scores = asyncio.run(run())
    begun = spec.begin(len(work.seen))
    session = Session(begun)
    session.replay(len(scores), scores)
    session.plan(1)
    life = life_in(begun)
    assert life.best is not None
    prompt: str = life.candidates[life.best].document["prompt"]["system"]
    return Found(prompt, int(simulator.ledger()["total"]))


def run_gepa(simulator: SimulatorClient, work: Work, first: str) -> Found:
    """It begins with the best first prompt, told for nothing: it takes only one."""
    gepa = import_module("gepa")
    with asking(simulator) as asker:
        written = iter(range(1, 1_000_000))
        found = gepa.optimize(
            seed_candidate={"system": first},
            trainset=work.seen,
            valset=work.seen[: len(work.seen) // 2],  # as many as ours sees in its generations
            adapter=adapter_of(asker),
            reflection_lm=lambda prompt: asker.write(
                [{"role": "user", "content": prompt}], next(written)
            ),
            stop_callbacks=lambda state: asker.calls >= work.calls or state.i > MOST_ITERATIONS,
            logger=Silent(),
            seed=work.seed,
        )
        return Found(found.best_candidate["system"], asker.calls)


class Silent:
    def log(self, message: str) -> None:
        pass


def adapter_of(asker: Asker) -> Any:
    batch_type = import_module("gepa.core.adapter").EvaluationBatch

    class Adapter:
        """The prompt answers, the scorer judges, and every example says why."""

        propose_new_texts = None

        def evaluate(
            self, batch: list[Case], candidate: dict[str, str], capture_traces: bool = False
        ) -> Any:
            with ThreadPoolExecutor(AT_ONCE) as threads:
                answers = list(
                    threads.map(lambda one: asker.answer(candidate["system"], one), batch)
                )
            scores = [asker.score(text, case) for text, case in zip(answers, batch, strict=True)]
            traces = list(zip(batch, answers, scores, strict=True)) if capture_traces else None
            return batch_type(outputs=answers, scores=scores, trajectories=traces)

        def make_reflective_dataset(
            self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
        ) -> dict[str, list[dict[str, str]]]:
            examples = [
                {
                    "Inputs": case.fields["question"],
                    "Generated Outputs": answer,
                    "Feedback": f"{GEPA_FEEDBACK[score > 0]} Expected: {case.expected}.",
                }
                for case, answer, score in eval_batch.trajectories
            ]
            return dict.fromkeys(components_to_update, examples)

    return Adapter()


# --- The comparison


def compare(simulator: SimulatorClient, seed: int, options: argparse.Namespace) -> Row:
    simulator.change(seed=seed)
    cases = make_cases(options.cases + options.held_out, seed)
    work = Work(seed, cases[: options.cases], held_out_of(cases, options.cases), options.calls)
    ours = run_ours(simulator, work)
    as_many = work._replace(calls=max(work.calls, ours.calls))
    searched = run_random(simulator, as_many)
    with asking(simulator) as asker:
        score = scoring(asker, work.held_out)
        firsts = {text: score(text) for text in FIRST_PROMPTS}
        best = max(firsts, key=lambda text: fmean(firsts[text]))
        mine, theirs = score(ours.prompt), score(searched.prompt)
    gepa = run_gepa(simulator, as_many, best) if options.gepa else None
    with asking(simulator) as asker:
        of_gepa = fmean(scoring(asker, work.held_out)(gepa.prompt)) if gepa else None
    difference = estimate_difference([a - b for a, b in zip(mine, firsts[best], strict=True)])
    return Row(
        seed=seed,
        best_first=fmean(firsts[best]),
        ours=fmean(mine),
        random_search=fmean(theirs),
        gepa=of_gepa,
        p=difference.p if difference else 1.0,
        calls_ours=ours.calls,
        calls_random=searched.calls,
        calls_gepa=gepa.calls if gepa else None,
        prompt=ours.prompt,
    )


def held_out_of(cases: list[Case], seen: int) -> list[Case]:
    return cases[seen:]


def scoring(asker: Asker, cases: Sequence[Case]) -> Callable[[str], list[float]]:
    return lambda prompt: asker.scores(prompt, cases)


def show(rows: Sequence[Row]) -> str:
    head = "seed  best first   ours  random   gepa        p  calls ours/random/gepa"
    lines = [
        f"{row.seed:4}  {row.best_first:10.3f}  {row.ours:5.3f}  {row.random_search:6.3f}  "
        f"{'–' if row.gepa is None else f'{row.gepa:.3f}':>5}  {row.p:7.2g}  "
        f"{row.calls_ours}/{row.calls_random}/{row.calls_gepa or '–'}"
        for row in rows
    ]
    return "\n".join([head, *lines, "", *verdict(rows)])


def verdict(rows: Sequence[Row]) -> list[str]:
    """A tie is an equal held-out score; it counts for neither."""
    better = sum(row.p < 0.05 and row.ours > row.best_first for row in rows)
    told = [f"Better than the best first prompt with p < 0.05: {better} of {len(rows)} seeds."]
    for name in ("random_search", "gepa"):
        pairs = [(row.ours, getattr(row, name)) for row in rows if getattr(row, name) is not None]
        if not pairs:
            continue
        ahead, ties = sum(a > b for a, b in pairs), sum(a == b for a, b in pairs)
        mean = fmean(a - b for a, b in pairs)
        told.append(
            f"Against {name}: ahead in {ahead}, equal in {ties}, behind in "
            f"{len(pairs) - ahead - ties} of {len(pairs)} seeds; {mean:+.3f} on average."
        )
    both = sum(row.ours > max(row.random_search, row.gepa or 0.0) for row in rows)
    told.append(f"Ahead of all others: {both} of {len(rows)} seeds.")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="how many, from --first on")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--cases", type=int, default=60, help="that all of them may use")
    parser.add_argument("--held-out", type=int, default=300, help="cases that decide")
    parser.add_argument("--calls", type=int, default=600, help="budget of each")
    parser.add_argument("--no-gepa", dest="gepa", action="store_false", help="leave gepa out")
    parser.add_argument("--out", type=Path, help="also write the rows as JSON into this file")
    options = parser.parse_args()
    rows = []
    with running_simulator(latency_ms=0) as simulator:
        for seed in range(options.first, options.first + options.seeds):
            rows.append(compare(simulator, seed, options))
            print(show(rows[-1:]).splitlines()[1], file=sys.stderr, flush=True)
    print(show(rows))
    if options.out:
        options.out.write_text(json.dumps([row._asdict() for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
