"""The simulated provider as a client of Anthropic's API sees it."""

from tests.simulator.calls import post

MESSAGES = "/v1/messages"


def message(text, **more):
    asked = [{"role": "user", "content": text}]
    return {"model": "sim-small", "max_tokens": 100, "messages": asked, **more}


async def test_an_answer_has_anthropics_fields(client):
    body = (await post(client, MESSAGES, message("What is 2 + 2?", system="Be terse."))).body
    assert (body["type"], body["role"], body["stop_reason"]) == ("message", "assistant", "end_turn")
    assert body["content"][0]["type"] == "text"
    assert body["content"][0]["text"]
    assert body["usage"]["input_tokens"] > 0 < body["usage"]["output_tokens"]
    asked = message([{"type": "text", "text": "Name a river"}])  # content in blocks
    body = (await post(client, MESSAGES, asked)).body
    assert "river" in body["content"][0]["text"]
    body = (await post(client, MESSAGES, message("Name a lake", max_tokens=1))).body
    assert (body["stop_reason"], body["usage"]["output_tokens"]) == ("max_tokens", 1)


async def test_limits_are_told_under_anthropics_names(client, simulator):
    simulator.change(rpm=1)
    answered = await post(client, MESSAGES, message("Hi"))
    assert answered.headers["anthropic-ratelimit-requests-limit"] == "1"
    assert answered.headers["anthropic-ratelimit-requests-remaining"] == "0"
    refused = await post(client, MESSAGES, message("Hi"))
    assert (refused.status, refused.body["error"]["type"]) == (429, "rate_limit_error")
    assert refused.headers["anthropic-ratelimit-requests-limit"] == "1"
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
