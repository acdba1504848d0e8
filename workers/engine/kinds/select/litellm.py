"""A combination as a LiteLLM configuration: each step under its own name, never with a key.

litellm --config chosen.yaml      # then call the model "planner", "solver", ...
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from workers.engine.kinds.select.combinations import models_called
from workers.engine.kinds.select.rows import CombinationRow

PREFIXES = {
    "openai": "openai",
    "azure": "azure",
    "simulated": "openai",
    "anthropic": "anthropic",
    "ollama": "ollama",
}
WITHOUT_KEY = ("ollama",)


class Server(NamedTuple):
    """Where the models of an endpoint are called."""

    kind: str
    base_url: str


class ChosenModel(NamedTuple):
    step: str
    endpoint: str
    model: str
    parameters: Mapping[str, Any]


def models_of(document: Mapping[str, Any]) -> list[ChosenModel]:
    """The model of each step of a combination."""
    called = zip(document["choices"], models_called(document), strict=True)
    return [ChosenModel(step, m["endpoint"], m["model"], m["parameters"]) for step, m in called]


def litellm_config(
    chosen: Sequence[ChosenModel], servers: Mapping[str, Server], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Its document. `facts` say why it was chosen, and stand beside every model."""
    models = [entry_of(model, servers.get(model.endpoint), facts) for model in chosen]
    return {"model_list": models}


def facts_of(best: CombinationRow) -> dict[str, Any]:
    known = {
        "accuracy": best.accuracy,
        "low": best.low,
        "high": best.high,
        "latency_ms": best.latency_ms,
        "dollars_per_sample": best.dollars_per_sample,
    }
    rounded = {name: round(value, 6) for name, value in known.items() if value is not None}
    return {**rounded, "samples": best.n}


def entry_of(
    chosen: ChosenModel, server: Server | None, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """An endpoint that was removed since leaves its name, for a person to fill in the rest."""
    kind = server.kind if server else "openai"
    called: dict[str, Any] = {"model": f"{PREFIXES.get(kind, kind)}/{chosen.model}"}
    if server and server.base_url:
        called["api_base"] = without_secrets(server.base_url)
    if kind not in WITHOUT_KEY:
        called["api_key"] = f"os.environ/{key_name(chosen.endpoint)}"
    parameters = {name: value for name, value in chosen.parameters.items() if name != "api_key"}
    return {
        "model_name": chosen.step,
        "litellm_params": {**parameters, **called},
        "model_info": {"endpoint": chosen.endpoint, **facts},
    }


def key_name(endpoint: str) -> str:
    """The environment variable that holds the key: openai-main becomes OPENAI_MAIN_API_KEY."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", endpoint).strip("_").upper() or "ENDPOINT"
    return f"{'_' if name[0].isdigit() else ''}{name}_API_KEY"


def without_secrets(address: str) -> str:
    """Without a name and password before the host, and without a query: keys are put there."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
