"""Query mutation for notebooks and scripts, without the site: batches of queries that are encoded,
rewritten, answered and judged, and an environment over many queries at once.

    with Models({"local": Endpoint("http://127.0.0.1:11434", kind="ollama")}) as models:
        roles = {"mutator": "local/llama3", "target": "local/llama3", "judge": "local/llama3"}
        world = BatchedQueryMutationEnv(models, rows, num_envs=16, roles=roles)
        observations, infos = world.batch_reset()
        observations, rewards, terminations, truncations, infos = world.batch_step(actions)

All calls go through the throttle and the cache of `Models`. Results are in the order of what was
given, and what failed is None, or not a number, with its error beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, nan
from random import Random
from typing import Any

from workers.engine.batch_sizes import BatchSize
from workers.engine.errors import CallError, ScorerFailed
from workers.engine.kept import Kept, keep_all
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.mutate.environment import AUTORESET_MODE, QueryEnvironment, Transition
from workers.engine.kinds.mutate.observing import Observation, fit
from workers.engine.kinds.mutate.operators import OPERATORS
from workers.engine.kinds.mutate.rules import Rules, rules_of
from workers.engine.kinds.mutate.stages import EMBEDDER, StageFailed, Stages
from workers.engine.models_here import Models
from workers.engine.records import EVALUATE, Case

BATCH_SIZE = 8  # calls at once
EXCLUDED = nan  # in place of a reward: a failure is none
NOBODY = "none/none"  # in place of a model that is not called
LocalEmbedder = Callable[[list[str], str], Sequence[Sequence[float]]]
"""Given texts and a device, such as cpu or cuda:0: a vector for each."""
BatchLimit = int | BatchSize
"""Calls at once, or one that finds out by latency how many: `BatchSize(most=32)`, which then says
in `advice` if calls wait at the server."""
Step = tuple[Any, Any, Any, Any, dict[str, Any]]


class NotebookStages(Stages):
    """With an embedder of the person's own, if there is one."""

    def __init__(
        self, rules: Rules, models: Models, embed: LocalEmbedder | None, device: str
    ) -> None:
        super().__init__(rules, models.ask, models.processes)
        self._embed = embed
        self._device = device
        self._size = rules.observation_size

    async def encode(self, query: str) -> Observation:
        if self._embed is None:
            return await super().encode(query)
        try:
            return fit(self._embed([query], self._device)[0], self._size)
        except Exception as error:  # noqa: BLE001 - it is not ours, and may fail as it likes
            raise StageFailed(EMBEDDER, CallError(f"{type(error).__name__}: {error}")) from None


def stages_for(models: Models, **given: Any) -> NotebookStages:
    return NotebookStages(rules_for(**given), models, None, "cpu")


def rules_for(**given: Any) -> Rules:
    """Of fields of a configuration of kind mutate, of which none is needed."""
    roles = {"target": NOBODY, **given.pop("roles", {})}
    if not roles.get("mutator"):
        roles["mutator"] = roles["target"]
    document = {
        "kind": "mutate",
        "dataset": "notebook",
        "scorers": [{"exact": {}}] if not roles.get("judge") else [],
        **given,
        "roles": roles,
    }
    return rules_of(Mutation.model_validate(document).rules_of(EVALUATE))


def batch_encode_queries(
    models: Models,
    queries: Sequence[str],
    model: str | Mapping[str, Any] | None = None,
    *,
    batch_size: BatchLimit = BATCH_SIZE,
    size: int = 128,
    device: str = "cpu",
    embed: LocalEmbedder | None = None,
) -> Kept[Observation]:
    """Their embeddings, as an environment observes them. Without a model, words are hashed here, or
    `embed` does it on the device."""
    roles = {"embedder": model} if model else {}
    rules = rules_for(roles=roles, observation_size=size)
    stages = NotebookStages(rules, models, embed, device)
    return run_all(models, [(stages.encode, (query,)) for query in queries], batch_size)


def batch_mutate_queries(
    models: Models,
    queries: Sequence[str],
    operators: str | Sequence[str],
    model: str | Mapping[str, Any],
    *,
    batch_size: BatchLimit = BATCH_SIZE,
    seed: int = 0,
) -> Kept[str]:
    """Each rewritten by the operator of the same place, or all by one."""
    chosen = [operators] * len(queries) if isinstance(operators, str) else list(operators)
    if len(chosen) != len(queries):
        raise ValueError(f"There are {len(chosen)} operators for {len(queries)} queries.")
    names = list(OPERATORS.ours)
    for name in chosen:
        OPERATORS.find(name)
    names += [name for name in dict.fromkeys(chosen) if name not in names]
    stages = stages_for(models, roles={"mutator": model}, operators=names, seed=seed)
    wanted = [
        (stages.rewrite, (names.index(name), query))
        for name, query in zip(chosen, queries, strict=True)
    ]
    return run_all(models, wanted, batch_size)


def batch_query_target_model(
    models: Models,
    queries: Sequence[str],
    model: str | Mapping[str, Any],
    *,
    system: str = "",
    batch_size: BatchLimit = BATCH_SIZE,
) -> Kept[str]:
    """The target's answers."""
    stages = stages_for(models, roles={"target": model}, system=system)
    return run_all(models, [(stages.answer, (query,)) for query in queries], batch_size)


def batch_judge_answers(
    models: Models,
    answers: Sequence[str | None],
    rows: Sequence[Mapping[str, str]],
    scorers: Sequence[str | Mapping[str, Any]],
    *,
    expected: str = "expected",
    batch_size: BatchLimit = BATCH_SIZE,
) -> Kept[float]:
    """What the scorers give each answer, from 0 to 1. `rows` are the cases, with the expected
    answers. An answer that is None has failed before, and is not judged."""
    if len(answers) != len(rows):
        raise ValueError(f"There are {len(answers)} answers for {len(rows)} rows.")
    stages = stages_for(models, scorers=list(scorers))

    async def judge(answer: str | None, case: Case) -> float:
        if answer is None:
            raise ScorerFailed("There is no answer to be judged: its own call failed.")
        return await stages.judge(answer, case)

    cases = [Case(place, row, expected) for place, row in enumerate(rows)]
    wanted = [(judge, pair) for pair in zip(answers, cases, strict=True)]
    return run_all(models, wanted, batch_size)


def run_all(
    models: Models, wanted: Sequence[tuple[Any, tuple[Any, ...]]], most: BatchLimit
) -> Kept[Any]:
    async def work(one: tuple[Any, tuple[Any, ...]]) -> Any:
        stage, given = one
        try:
            return await stage(*given)
        except StageFailed as failed:
            raise failed.error from None

    if isinstance(most, BatchSize):
        return models.run(keep_all(work, wanted, size=most))
    return models.run(keep_all(work, wanted, most))


class BatchedQueryMutationEnv:
    """N environments at once, with the conventions of Gymnasium's vector environments and its
    autoreset mode SAME_STEP: what is observed after the last step of an episode is the first of the
    next, and the last is in `infos["final_obs"]`. Each environment goes through its queries in
    turn. An excluded transition has the reward NaN, and infos say why.

    `use_batching=False` makes one call at a time, with the same transitions.
    """

    def __init__(
        self,
        models: Models,
        rows: Sequence[Mapping[str, str] | str],
        num_envs: int = 16,
        *,
        use_batching: bool = True,
        batch_size: BatchLimit = BATCH_SIZE,
        device: str = "cpu",
        embed: LocalEmbedder | None = None,
        expected: str = "expected",
        **configuration: Any,
    ) -> None:
        """`rows` are queries, or rows with a `question` and an expected answer. What else is given
        are fields of a configuration of kind mutate: roles, operators, goal, scorers, carry, …"""
        if num_envs < 1 or not rows:
            raise ValueError("There must be a query, and at least one environment.")
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AUTORESET_MODE}
        self._models = models
        self._rules = rules_for(**configuration)
        self._stages = NotebookStages(self._rules, models, embed, device)
        given = [{"question": row} if isinstance(row, str) else row for row in rows]
        self._cases = [Case(place, row, expected) for place, row in enumerate(given)]
        self._at_once: BatchLimit = batch_size if use_batching else 1
        self._worlds: list[QueryEnvironment] = []

    @property
    def operators(self) -> tuple[str, ...]:
        """An action is a place among them."""
        return self._rules.names

    @property
    def single_action_space(self) -> Any:
        """As Gymnasium has it, where that is installed."""
        from gymnasium.spaces import Discrete

        return Discrete(len(self.operators))

    @property
    def single_observation_space(self) -> Any:
        from gymnasium.spaces import Box

        return Box(-inf, inf, (self._rules.observation_size,))

    def batch_reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Observations and infos. A seed puts the queries into another order."""
        order = list(self._cases)
        if seed is not None:
            Random(seed).shuffle(order)
        self._worlds = [
            QueryEnvironment(self._rules, self._stages, in_turn(order, place, self.num_envs))
            for place in range(self.num_envs)
        ]
        observed = self._observe()
        return self._rows(observed), {"query": [world.query for world in self._worlds]}

    def batch_step(self, actions: Sequence[int]) -> Step:
        """Observations, rewards, terminations, truncations and infos, each by environment."""
        import numpy as np

        if len(actions) != len(self._worlds):
            raise ValueError(f"There are {len(actions)} actions for {len(self._worlds)} worlds.")
        pairs = list(zip(self._worlds, map(int, actions), strict=True))
        wanted = [(world.step, (action,)) for world, action in pairs]
        made = [one for one in run_all(self._models, wanted, self._at_once) if one is not None]
        rewards = [EXCLUDED if one.reward is None else one.reward for one in made]
        ends = np.array([one.ends for one in made])
        infos = {
            "transitions": made,
            "query": [world.query for world in self._worlds],
            "excluded": np.array([one.excluded is not None for one in made]),
            "final_obs": [
                self._final(one, world) for one, world in zip(made, self._worlds, strict=True)
            ],
            "_final_obs": ends,
        }
        return self._rows(self._observe()), np.array(rewards), np.zeros_like(ends), ends, infos

    reset, step = batch_reset, batch_step  # as Gymnasium names them

    def _observe(self) -> Kept[Observation]:
        wanted = [(world.observe, ()) for world in self._worlds]
        return run_all(self._models, wanted, self._at_once)

    def _rows(self, observed: Sequence[Observation | None]) -> Any:
        """NaN where a query could not be encoded."""
        import numpy as np

        nothing = [EXCLUDED] * self._rules.observation_size
        return np.array([nothing if one is None else one for one in observed], dtype=np.float32)

    def _final(self, made: Transition, world: QueryEnvironment) -> Observation | None:
        return world.known.get(made.after) if made.ends else None


def in_turn(cases: Sequence[Case], first: int, step: int) -> Iterator[Case]:
    place = first
    while True:
        yield cases[place % len(cases)]
        place += step
