"""The simulated provider as clients of OpenAI, Anthropic and Ollama see it."""

import asyncio
import base64
import json
import struct
from contextlib import ExitStack, asynccontextmanager

import pytest

from tests.harness.table import table
from tests.simulator.calls import CHAT, ask, ask_all, chat, post, until
from workers.simulator.testing import running_simulator


async def test_a_chat_answer_has_openais_fields(client):
    answered = await ask(client, "What is 17 + 25?", model="sim-large")
    body = answered.body
    assert answered.status == 200
    assert (body["object"], body["model"]) == ("chat.completion", "sim-large")
    assert body["id"].startswith("chatcmpl-")
    choice = body["choices"][0]
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert choice["message"]["role"] == "assistant"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    async with client.get("/v1/models") as response:
        listed = await response.json()
    assert listed["object"] == "list"
    assert {"sim-small", "sim-large", "sim-embed"} <= {model["id"] for model in listed["data"]}


async def streamed(client, path, body):
    """What each event holds, until the last one, which says that it is over."""
    async with client.post(path, json={**body, "stream": True}) as response:
        assert response.content_type == "text/event-stream"
        *events, last = (await response.text()).strip().split("\n\n")
    assert last == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


async def test_a_completion_answers_each_prompt_and_streams_its_words(client):
    asked = {"model": "sim-large", "prompt": ["What is 1 + 1?", "Hello"]}
    answered = await post(client, "/v1/completions", asked)
    assert answered.body["object"] == "text_completion"
    assert [choice["index"] for choice in answered.body["choices"]] == [0, 1]
    assert all(choice["text"] for choice in answered.body["choices"])
    body = {"model": "sim-small", "prompt": "Tell me about lakes"}
    chunks = await streamed(client, "/v1/completions", body)
    assert "lakes" in "".join(chunk["choices"][0]["text"] for chunk in chunks)


async def test_choices_beyond_the_first_are_given_and_content_may_come_in_parts(client):
    answered = await ask(client, "Tell me about the weather in spring", n=3)
    assert [choice["index"] for choice in answered.body["choices"]] == [0, 1, 2]
    parts = [{"type": "text", "text": "Answer with the number only. What is 2 + 2?"}]
    body = chat("") | {"messages": [{"role": "user", "content": parts}]}
    assert (await post(client, CHAT, body)).text.isdigit()


async def test_a_chat_streams_as_server_sent_events(client):
    question = "Tell me about mountains"
    whole = (await ask(client, question)).text
    chunks = await streamed(client, CHAT, chat(question, stream_options={"include_usage": True}))
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    deltas = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert "".join(choice["delta"].get("content", "") for choice in deltas) == whole
    assert deltas[-1]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["completion_tokens"] > 0


async def test_embeddings_are_unit_vectors_in_input_order_packed_when_asked_for(client):
    inputs = ["a red apple", "a blue car"]
    body = {"model": "sim-embed", "input": inputs}
    together = (await post(client, "/v1/embeddings", body)).body
    alone = (await post(client, "/v1/embeddings", {**body, "input": inputs[1]})).body
    vectors = [item["embedding"] for item in together["data"]]
    assert [item["index"] for item in together["data"]] == [0, 1]
    assert [len(vector) for vector in vectors] == [768, 768]
    assert sum(value * value for value in vectors[0]) == pytest.approx(1)
    assert alone["data"][0]["embedding"] == vectors[1]
    assert together["usage"]["total_tokens"] == together["usage"]["prompt_tokens"] > 0
    apple = {"model": "sim-embed", "input": "a red apple", "dimensions": 16}
    plain = (await post(client, "/v1/embeddings", apple)).body["data"][0]["embedding"]
    packed = (await post(client, "/v1/embeddings", {**apple, "encoding_format": "base64"})).body
    unpacked = struct.unpack("<16f", base64.b64decode(packed["data"][0]["embedding"]))
    assert unpacked == pytest.approx(plain)


@table(
    (CHAT, {"messages": []}, 400, "messages"),
    (CHAT, {"messages": ["hi"]}, 400, "messages[0]"),
    (CHAT, chat("hi") | {"model": None}, 400, "model"),
    (CHAT, chat("hi", model="gpt-9"), 404, "model"),
    (CHAT, chat("hi", model="sim-small:odd"), 404, "model"),
    (CHAT, chat("hi", model="sim-embed"), 400, None),  # an embedder cannot chat
    (CHAT, chat("hi", temperature=9), 400, "temperature"),
    (CHAT, chat("hi", max_tokens=0), 400, "max_tokens"),
    ("/v1/completions", {"model": "sim-small"}, 400, "prompt"),
    ("/v1/embeddings", {"model": "sim-embed", "input": []}, 400, "input"),
    ("/v1/nothing", {}, 404, None),
    ("/v1/models", {}, 405, None),
)
async def test_a_wrong_request_is_refused_in_openais_shape(client, path, body, status, param):
    answered = await post(client, path, body)
    error = answered.body["error"]
    assert (answered.status, error["param"]) == (status, param)
    assert set(error) == {"message", "type", "param", "code"}


@table(b"", b"{", b"[1]", b"\xff\xfe", b"[" * 200_000)
async def test_what_is_no_json_is_refused(client, raw):
    async with client.post(CHAT, data=raw) as response:
        assert response.status == 400
        assert "JSON" in (await response.json())["error"]["message"]


MESSAGES = "/v1/messages"


def message(text, **more):
    asked = [{"role": "user", "content": text}]
    return {"model": "sim-small", "max_tokens": 100, "messages": asked, **more}


async def test_answers_and_limits_have_anthropics_fields(client, simulator):
    body = (await post(client, MESSAGES, message("What is 2 + 2?", system="Be terse."))).body
    assert (body["type"], body["role"], body["stop_reason"]) == ("message", "assistant", "end_turn")
    assert body["content"][0]["type"] == "text"
    assert body["content"][0]["text"]
    assert body["usage"]["input_tokens"] > 0 < body["usage"]["output_tokens"]
    asked = message([{"type": "text", "text": "Name a river"}])  # content in blocks
    body = (await post(client, MESSAGES, asked)).body
    assert "river" in body["content"][0]["text"]
    simulator.change(rpm=1)
    answered, refused = [await post(client, MESSAGES, message("Hi")) for _ in range(2)]
    assert answered.headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert (refused.status, refused.body["error"]["type"]) == (429, "rate_limit_error")
    for one in (answered, refused):
        assert one.headers["anthropic-ratelimit-requests-limit"] == "1"
    assert int(refused.headers["retry-after"]) > 0


async def test_a_wrong_request_is_refused_in_anthropics_shape(client):
    no_limit = {name: value for name, value in message("x").items() if name != "max_tokens"}
    as_message = {"messages": [{"role": "system", "content": "x"}]}
    for body, status, kind in [
        (message("x") | {"model": "claude-9"}, 404, "not_found_error"),
        ({"model": "sim-small"}, 400, "invalid_request_error"),
        (no_limit, 400, "invalid_request_error"),
        (message("x") | as_message, 400, "invalid_request_error"),
        (message("x") | {"model": "sim-small:529"}, 529, "overloaded_error"),
        (message("x", stream=True), 400, "invalid_request_error"),
    ]:
        answered = await post(client, MESSAGES, body)
        assert (answered.status, answered.body["type"]) == (status, "error"), body
        assert answered.body["error"]["type"] == kind
        assert answered.body["error"]["message"]


COUNTS = {"total_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count"}


def ollama_chat(text, **more):
    return {"model": "sim-small", "messages": [{"role": "user", "content": text}], **more}


async def test_answers_embeddings_and_models_have_ollamas_fields(client):
    body = (await post(client, "/api/chat", ollama_chat("What is 2 + 2?", stream=False))).body
    assert body["message"]["role"] == "assistant"
    assert body["message"]["content"]
    assert (body["done"], body["done_reason"]) == (True, "stop")
    assert body.keys() >= COUNTS
    assert body["prompt_eval_count"] > 0 < body["eval_count"]
    asked = {"model": "sim-small", "prompt": "Name a river", "system": "Be kind", "stream": False}
    body = (await post(client, "/api/generate", asked)).body
    assert "river" in body["response"]
    assert body.keys() >= COUNTS
    body = (await post(client, "/api/embed", {"model": "sim-embed", "input": ["one", "two"]})).body
    assert [len(vector) for vector in body["embeddings"]] == [768, 768]
    assert body["prompt_eval_count"] > 0
    async with client.get("/api/tags") as response:
        models = (await response.json())["models"]
    assert "sim-small:latest" in {model["name"] for model in models}
    assert {"digest", "size", "modified_at", "details"} <= models[0].keys()
    tagged = ollama_chat("Hi", stream=False) | {"model": "sim-small:latest"}
    assert (await post(client, "/api/chat", tagged)).status == 200  # a tag is no fault


async def test_a_chat_streams_as_lines_of_json(client):
    whole = (await post(client, "/api/chat", ollama_chat("Name a lake", stream=False))).body
    for more in ({}, {"stream": True}):
        async with client.post("/api/chat", json=ollama_chat("Name a lake", **more)) as response:
            assert response.content_type == "application/x-ndjson"
            lines = [json.loads(line) for line in (await response.text()).splitlines()]
        assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
        said = "".join(line["message"]["content"] for line in lines)
        assert said == whole["message"]["content"]
        assert lines[-1]["eval_count"] == whole["eval_count"]


async def test_a_wrong_request_is_refused_in_ollamas_shape(client):
    for path, body, status in [
        ("/api/chat", ollama_chat("hi") | {"model": "llama9"}, 404),
        ("/api/chat", {"model": "sim-small"}, 400),
        ("/api/generate", {"model": "sim-small", "prompt": 5}, 400),
        ("/api/chat", ollama_chat("hi", options=[1]), 400),
        ("/api/nothing", {}, 404),
    ]:
        answered = await post(client, path, body)
        assert answered.status == status, (path, body)
        assert isinstance(answered.body["error"], str)


def encode(body, path=CHAT, headers=""):
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{headers}\r\n"
    return head.encode() + data


@asynccontextmanager
async def connected(simulator):
    port = int(simulator.url.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    yield reader, writer
    writer.close()


async def read_reply(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
    return head, json.loads(await reader.readexactly(length))


async def test_pipelined_requests_are_answered_in_order(simulator):
    models = ["sim-small", "sim-large", "sim-small:503", "sim-medium"] * 50
    async with connected(simulator) as (reader, writer):
        for latency_ms in (0, 20):
            simulator.change(latency_ms=latency_ms, jitter=1)
            writer.write(b"".join(encode(chat("hi", model=model)) for model in models))
            answers = [await read_reply(reader) for _ in models]
            assert [body.get("model", "sim-small:503") for _, body in answers] == models


async def test_a_connection_serves_requests_in_pieces_until_its_client_asks_to_close_it(simulator):
    async with connected(simulator) as (reader, writer):
        for byte in encode(chat("hi")):
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await read_reply(reader))[0].startswith("HTTP/1.1 200 OK")
        expecting = encode(chat("hi"), headers="Expect: 100-continue\r\n")
        head, _, body = expecting.partition(b"\r\n\r\n")
        writer.write(head + b"\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(body)  # now that it has the permission
        assert (await read_reply(reader))[0].startswith("HTTP/1.1 200 OK")
        writer.write(encode(chat("hi"), headers="Connection: close\r\n"))
        assert "connection: close" in (await read_reply(reader))[0]
        assert await reader.read() == b""


async def test_what_is_no_http_is_disconnected_and_a_head_request_gets_no_body(simulator, client):
    for noise in (b"\x16\x03\x01\x02\x00", b"HELLO\r\n\r\n", b"GET / HTTP/9\r\n\r\n"):
        async with connected(simulator) as (reader, writer):
            writer.write(noise)
            assert (await reader.read()).startswith(b"HTTP/1.1 400"), noise
    async with client.head("/v1/models") as response:
        assert response.status == 405
    async with client.get("/v1/models") as response:
        assert response.status == 200


async def test_more_than_a_thousand_connections_are_served_at_once(client, simulator):
    simulator.change(gather=1001)
    answers = await ask_all(client, [chat(f"What is {n} + 1?") for n in range(1010)])
    assert {answered.status for answered in answers} == {200}
    assert simulator.ledger()["peak_in_flight"] > 1000


async def test_the_server_stops_though_a_client_is_connected():
    with ExitStack() as running:
        simulator = running.enter_context(running_simulator(latency_ms=0))
        async with connected(simulator) as (_, writer):
            writer.write(encode(chat("hi", model="sim-small:hang")))
            await until(lambda: simulator.ledger()["in_flight"] == 1)
            running.close()
    with pytest.raises(ConnectionRefusedError):
        await connected(simulator).__aenter__()
