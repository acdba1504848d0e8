"""What was learnt, as a file: numbers that need nothing of ours to be read."""

import json
from base64 import b64decode
from typing import Any

from runs.kinds.base import NoFileError
from runs.models import Candidate, Run
from workers.engine.kinds.mutate.networks import Network, Shape
from workers.engine.records import EVALUATE

NONE_YET = "Nothing was learnt yet: the weights are there when the first update is done."
KEPT = ("operators", "observation_size", "query", "system", "goal", "seed")


def newest_policy(run: Run) -> Candidate | None:
    """The trained one where it was compared, else that of the newest update. None: only the one
    that it began with is there."""
    trained = run.candidates.exclude(role=EVALUATE).order_by("position").first()
    newest = run.candidates.filter(role=EVALUATE, position__gt=0).order_by("position").last()
    return trained or newest


def write_weights(run: Run) -> str:
    found = newest_policy(run)
    if found is None:
        raise NoFileError(NONE_YET)
    document = found.document
    rules = document["rules"]
    return json.dumps(
        {
            "digest": document["weights"],
            "digest_of": "SHA-256 of all that was learnt; of PPO, of actor and critic",
            "policy": found.name,
            "updates_learnt": document["update"] - 1,
            **{name: rules[name] for name in KEPT},
            "embedder": rules["roles"]["embedder"],
            **numbers_of(document["policy"]),
        },
        ensure_ascii=False,
    )


def numbers_of(policy: dict[str, Any]) -> dict[str, Any]:
    """Of a network its layers, each with a row of weights for every input; ReLU between them."""
    if "shares" in policy:
        return {"shares": policy["shares"]}
    network = Network.read(Shape(*policy["network"]), b64decode(policy["weights"]))
    parts = [part.tolist() for part in network.parameters]
    layers = [
        {"weights": weights, "biases": biases}
        for weights, biases in zip(parts[::2], parts[1::2], strict=True)
    ]
    return {"activation": "relu", "layers": layers}
