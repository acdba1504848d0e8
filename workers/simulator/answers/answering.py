"""Turns an ask into the answer of a model: texts cut to the token limit, or vectors."""

from workers.simulator.answers.embeddings import embed
from workers.simulator.answers.texts import Prompt, answer_to
from workers.simulator.answers.tokens import count_tokens, cut_to_tokens
from workers.simulator.answers.tool_calls import choose_call, text_of_call
from workers.simulator.records import Answer, Ask


def answer_ask(ask: Ask, model: str, seed: int, seconds: float, identity: int) -> Answer:
    if ask.dimensions:
        vectors = tuple(embed(text, ask.dimensions) for text in ask.prompts)
        return Answer((), (), vectors, tokens_out=0, seconds=seconds, identity=identity)
    if ask.tools:
        return tool_answer(ask, seconds, identity)
    full = [
        answer_to(Prompt(ask.system, prompt, model, seed, _variant(ask, choice), ask.images))
        for prompt in ask.prompts
        for choice in range(ask.choices)
    ]
    return text_answer(ask, full, seconds, identity)


def tool_answer(ask: Ask, seconds: float, identity: int) -> Answer:
    """Who is given tools calls one."""
    call = choose_call(ask.tools, ask.prompts[-1])
    texts, tokens = ("",) * ask.choices, count_tokens(text_of_call(call)) * ask.choices
    is_cut = (False,) * ask.choices
    return Answer(texts, is_cut, (), tokens, seconds, identity, call=call, ending="tool_calls")


def text_answer(ask: Ask, full: list[str], seconds: float, identity: int) -> Answer:
    """An answer with given texts, cut where the ask says."""
    texts = full
    if ask.max_tokens is not None:
        texts = [cut_to_tokens(text, ask.max_tokens) for text in full]
    is_cut = tuple(len(text) < len(whole) for text, whole in zip(texts, full, strict=True))
    tokens_out = sum(map(count_tokens, texts))
    return Answer(tuple(texts), is_cut, (), tokens_out, seconds, identity)


def _variant(ask: Ask, choice: int) -> str:
    """The first choice is the usual answer; further ones differ."""
    return f"{ask.variant} choice {choice}" if choice else ask.variant
