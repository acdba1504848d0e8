"""What each kind of run is made of: its candidates, its strategy and its target."""

from workers.engine.json_text import digest
from workers.engine.records import Candidate
from workers.engine.session import Session
from workers.engine.spec import Configuration
from workers.engine.strategies import Grid


def make_candidates(configuration: Configuration) -> list[Candidate]:
    """Every prompt with every model, in the order given."""
    candidates = []
    for prompt in configuration.prompts:
        for model in configuration.models:
            document = {"prompt": prompt.model_dump(), "model": model.model_dump()}
            name = f"{prompt.name} · {model.label}"
            candidates.append(Candidate(digest(document)[:16], name, document))
    return candidates


def open_session(configuration: Configuration, cases: int) -> Session:
    """A session at its beginning."""
    candidates = make_candidates(configuration)
    by_candidate = configuration.limits.schedule == "two_level"
    repeats, seed = configuration.repeats, configuration.seed
    return Session(Grid(candidates, cases, repeats, seed, by_candidate=by_candidate))
