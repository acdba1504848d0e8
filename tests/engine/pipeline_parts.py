"""Steps that route, and agents, for tests of pipelines."""

from typing import Any

TERSE = "Answer with the number only."
LARGE = "simulated/sim-large"
HERE = "tests.engine.installed_agents"


def chat(name: str, user: str, *models: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "system": TERSE, "user": user, "models": models or [LARGE], **more}


def agent(name: str, **more: Any) -> dict[str, Any]:
    calls = [chat("draft", "{{question}}")]
    return {"name": "solver", "agent": f"{HERE}.{name}", "calls": calls, **more}


ROUTER = chat("triage", "What is {{level}} + 0?", routes={"1": "easy", "2": "hard"})
ROUTED = [
    ROUTER,
    chat("easy", "What is {{question}} + 0?"),
    chat("hard", "What is {{question}} + 100?"),
    chat("last", "What is {{easy}}{{hard}} + 1000?"),
]
