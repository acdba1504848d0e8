"""What a new run does otherwise than what its form was filled in from."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runs.selectors.comparing.configurations import ABSENT, flatten, shortened
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.spec.parts import ScorerChoice

MOST = 8  # shown beside the form; the rest is counted


class StartedFrom(NamedTuple):
    name: str  # as in `run #12`
    document: Mapping[str, Any]


class Difference(NamedTuple):
    key: str
    before: str
    after: str


class Differences(NamedTuple):
    name: str
    shown: list[Difference]
    more: int


def differences(start: StartedFrom, document: Mapping[str, Any]) -> Differences | None:
    """None where one of the two is no configuration, or too deep to be one today: then there are
    problems to mend first."""
    try:
        before, after = meaning_of(start.document), meaning_of(document)
    except (ConfigurationError, ValueError):
        return None
    keys = dict.fromkeys([*before, *after])
    found = [
        Difference(key, shortened(before.get(key, ABSENT)), shortened(after.get(key, ABSENT)))
        for key in keys
        if before.get(key) != after.get(key)
    ]
    return Differences(start.name, found[:MOST], max(0, len(found) - MOST))


def meaning_of(document: Mapping[str, Any]) -> dict[str, str]:
    """With every default filled in, however it was written."""
    configuration = read_configuration(dict(document))
    meant = configuration.model_dump(mode="json", exclude={"limits": {"preset"}, "scorers": True})
    meant["scorers"] = {choice.name: options_of(choice) for choice in configuration.scorers}
    return {key: text for key, text in flatten(meant) if text not in ("null", "{}", "[]", "")}


def options_of(choice: ScorerChoice) -> dict[str, Any]:
    """With those that it comes with; of a plug-in that is gone, as they were written."""
    scorer = choice.scorer
    if scorer is None:
        return {"is": "used", **choice.options}
    return {"is": "used", **scorer.model_dump(mode="json")}
