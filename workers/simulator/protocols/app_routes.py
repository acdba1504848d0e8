"""An app of somebody's own: one field in, the answer deep within what comes back."""

import json

from workers.simulator.answers.tokens import count_tokens
from workers.simulator.protocols.openai_routes import write_refusal
from workers.simulator.protocols.reading import read_text
from workers.simulator.records import Answer, Ask, Json, Reply, Route

APP_PATH = "/app/ask"


def read_question(body: Json) -> Ask:
    question = read_text(body, "question")
    return Ask(
        model=read_text(body, "model", "sim-large"),
        prompts=(question,),
        tokens_in=count_tokens(question),
        system=read_text(body, "instructions", ""),
    )


def write_result(ask: Ask, answer: Answer) -> Reply:
    return Reply(200, json.dumps({"results": [{"text": answer.texts[0]}]}).encode())


APP_ROUTES: dict[str, Route] = {
    APP_PATH: Route(APP_PATH, "chat", read_question, write_result, write_refusal)
}
