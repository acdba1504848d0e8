"""The combination that was chosen, as a configuration to go on with."""

from collections.abc import Mapping
from typing import Any

from runs.kinds.base import NoFileError
from runs.models import Endpoint
from workers.engine.kinds.select.litellm import Server, facts_of, litellm_config, models_of
from workers.engine.kinds.select.rows import CombinationRow


def litellm_of(best: CombinationRow | None, candidates: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen models, by the documents of the candidates. Keys are left to the environment."""
    if best is None or not best.n:
        raise NoFileError("No combination has given an answer, so there is none to write.")
    chosen = models_of(candidates[best.key])
    names = {model.endpoint for model in chosen}
    rows = Endpoint.objects.filter(name__in=names).values_list("name", "kind", "base_url")
    servers = {name: Server(kind, base_url) for name, kind, base_url in rows}
    return litellm_config(chosen, servers, facts_of(best))
