"""The models the simulated provider offers, and what sets them apart."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """One offered model. Prices are in dollars per million tokens."""

    kind: Literal["chat", "embedding"]
    skill: float  # log-odds of a right answer to an easy question under a neutral prompt
    latency_factor: float  # times the server's base latency
    price_in: float
    price_out: float
    parameters: str  # shown in Ollama's list of models


MODELS: dict[str, SimulatedModel] = {
    "sim-small": SimulatedModel("chat", 0.95, 1.0, 0.10, 0.40, "1B"),
    "sim-medium": SimulatedModel("chat", 1.55, 1.2, 0.50, 2.00, "8B"),
    "sim-large": SimulatedModel("chat", 2.10, 1.5, 2.50, 10.00, "70B"),
    "sim-embed": SimulatedModel("embedding", 0.0, 0.5, 0.02, 0.0, "100M"),
}
