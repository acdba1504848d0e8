"""Keeps a benchmark on a real endpoint within the dollars it was given."""

from typing import Any

from runs.benchmarking.measuring import Measurement
from runs.benchmarking.plan import Plan, PlanError, RealEndpoint
from runs.benchmarking.workload import MAX_TOKENS, SYSTEM, questions
from runs.models import Endpoint
from runs.secrets import decrypt

CHARACTERS_PER_TOKEN = 2  # half of what English needs: the estimate is to be an upper bound
EXTRA_TOKENS = 20  # what providers wrap around messages
A_MILLION = 1_000_000


class Budget:
    """What was spent so far. Tokens that a provider does not tell are taken to be the most."""

    def __init__(self, endpoint: RealEndpoint) -> None:
        self._endpoint = endpoint
        self.spent = 0.0

    def add(self, measured: Measurement) -> None:
        told = dollars(self._endpoint, measured.tokens_in, measured.tokens_out)
        is_told = measured.tokens_in > 0
        self.spent += told if is_told else bound(self._endpoint, measured.traffic.calls)

    def allows(self, calls: int) -> bool:
        return self.spent + bound(self._endpoint, calls) <= self._endpoint.max_dollars


def dollars(endpoint: RealEndpoint, tokens_in: int, tokens_out: int) -> float:
    return (tokens_in * endpoint.price_in + tokens_out * endpoint.price_out) / A_MILLION


def bound(endpoint: RealEndpoint, calls: int) -> float:
    return calls * dollars(endpoint, tokens_of_a_prompt(), MAX_TOKENS)


def tokens_of_a_prompt() -> int:
    (row,) = questions(1, series=999)
    longest = len(SYSTEM) + len(row["question"]) + len("00000")
    return longest // CHARACTERS_PER_TOKEN + EXTRA_TOKENS


def take_endpoint(stored: Endpoint, model: str, max_dollars: float | None) -> RealEndpoint:
    """A stored endpoint for the benchmark, or a PlanError: nothing is paid for by accident."""
    if max_dollars is None or max_dollars <= 0:
        raise PlanError(
            "Calls to a real endpoint cost money. Say how much this may cost: --max-dollars 0.50"
        )
    price = price_of(stored, model)
    return RealEndpoint(
        name=stored.name,
        kind=stored.kind,
        base_url=stored.base_url,
        more_urls=stored.more_urls,
        private_addresses=stored.private_addresses,
        model=model,
        key=decrypt(stored.key_ciphertext) if stored.has_key else "",
        max_concurrent=stored.max_concurrent,
        requests_per_minute=stored.requests_per_minute,
        tokens_per_minute=stored.tokens_per_minute,
        adaptive=stored.adaptive,
        price_in=float(price["input"]),
        price_out=float(price["output"]),
        max_dollars=max_dollars,
    )


def price_of(stored: Endpoint, model: str) -> dict[str, Any]:
    price = (stored.prices or {}).get(model)
    if not isinstance(price, dict) or not {"input", "output"} <= set(price):
        priced = ", ".join(sorted(stored.prices or {})) or "none"
        raise PlanError(
            f"The price of {stored.name}/{model} is unknown, so its cost cannot be limited. Enter"
            f" it on the endpoint's page, or choose a model with a price: {priced}."
        )
    return price


def check_budget(plan: Plan, endpoint: RealEndpoint) -> str:
    """What it would cost at most, in a sentence; a PlanError if that is more than allowed."""
    most = bound(endpoint, plan.curve_calls)
    sentence = (
        f"{plan.curve_calls:,} calls to {endpoint.name}/{endpoint.model}, at most"
        f" {tokens_of_a_prompt()} tokens in and {MAX_TOKENS} out each at"
        f" ${endpoint.price_in:g} and ${endpoint.price_out:g} a million: up to ${most:.4f}"
        f" of the ${endpoint.max_dollars:g} allowed."
    )
    if most <= endpoint.max_dollars:
        return sentence
    affordable = int(endpoint.max_dollars / bound(endpoint, 1))
    raise PlanError(
        f"That is too much: {sentence} About {affordable:,} calls are affordable: give fewer"
        " --trials, --repeats or levels of --concurrency, or a higher --max-dollars."
    )
