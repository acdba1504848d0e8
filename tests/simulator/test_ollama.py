"""The simulated provider as a client of Ollama's API sees it."""

import json

from tests.simulator.calls import post

COUNTS = {"total_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count"}


def chat(text, **more):
    return {"model": "sim-small", "messages": [{"role": "user", "content": text}], **more}


async def test_an_answer_has_ollamas_fields(client):
    body = (await post(client, "/api/chat", chat("What is 2 + 2?", stream=False))).body
    assert body["message"]["role"] == "assistant"
    assert body["message"]["content"]
    assert (body["done"], body["done_reason"]) == (True, "stop")
    assert body.keys() >= COUNTS
    assert body["prompt_eval_count"] > 0 < body["eval_count"]
    asked = {"model": "sim-small", "prompt": "Name a river", "system": "Be kind", "stream": False}
    body = (await post(client, "/api/generate", asked)).body
    assert "river" in body["response"]
    assert body.keys() >= COUNTS


async def test_a_chat_streams_as_lines_of_json(client):
    whole = (await post(client, "/api/chat", chat("Name a lake", stream=False))).body
    for more in ({}, {"stream": True}):
        async with client.post("/api/chat", json=chat("Name a lake", **more)) as response:
            assert response.content_type == "application/x-ndjson"
            lines = [json.loads(line) for line in (await response.text()).splitlines()]
        assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
        said = "".join(line["message"]["content"] for line in lines)
        assert said == whole["message"]["content"]
        assert lines[-1]["eval_count"] == whole["eval_count"]


async def test_embed_gives_one_vector_per_input_and_num_predict_cuts_the_answer(client):
    body = (await post(client, "/api/embed", {"model": "sim-embed", "input": ["one", "two"]})).body
    assert [len(vector) for vector in body["embeddings"]] == [768, 768]
    assert body["prompt_eval_count"] > 0
    asked = chat("Name a lake", stream=False, options={"num_predict": 1})
    body = (await post(client, "/api/chat", asked)).body
    assert (body["done_reason"], body["eval_count"]) == ("length", 1)


async def test_the_models_are_listed_with_their_tag(client):
    async with client.get("/api/tags") as response:
        models = (await response.json())["models"]
    assert "sim-small:latest" in {model["name"] for model in models}
    assert {"digest", "size", "modified_at", "details"} <= models[0].keys()
    tagged = chat("Hi", stream=False) | {"model": "sim-small:latest"}
    assert (await post(client, "/api/chat", tagged)).status == 200  # a tag is no fault


async def test_a_wrong_request_is_refused_in_ollamas_shape(client):
    for path, body, status in [
        ("/api/chat", chat("hi") | {"model": "llama9"}, 404),
        ("/api/chat", {"model": "sim-small"}, 400),
        ("/api/generate", {"model": "sim-small", "prompt": 5}, 400),
        ("/api/chat", chat("hi", options=[1]), 400),
        ("/api/nothing", {}, 404),
    ]:
        answered = await post(client, path, body)
        assert answered.status == status, (path, body)
        assert isinstance(answered.body["error"], str)
