"""Answers depend on prompt, model, question and seed, and on nothing else."""

import json
import re
import time
from itertools import pairwise, product

import aiohttp

from tests.simulator.calls import ask, ask_all, chat
from workers.simulator.demo import DEMO_MODELS, DEMO_PROMPTS, make_questions
from workers.simulator.testing import running_simulator


def last_number(text):
    return re.findall(r"-?\d+(?:\.\d+)?", text)[-1]


async def demo_scores(client):
    """The share of right answers by (prompt, model)."""
    questions = make_questions(60)
    scores = {}
    for prompt in DEMO_PROMPTS:
        for model in DEMO_MODELS:
            bodies = [
                chat(prompt.user.replace("{{question}}", item.question), prompt.system, model)
                for item in questions
            ]
            answers = await ask_all(client, bodies)
            rights = [
                last_number(answered.text) == item.expected
                for answered, item in zip(answers, questions, strict=True)
            ]
            scores[prompt.name, model] = sum(rights) / len(rights)
    return scores


async def test_demo_prompts_and_models_differ_clearly_in_quality(client):
    scores = await demo_scores(client)
    small = [scores[prompt.name, "sim-small"] for prompt in DEMO_PROMPTS]
    large = [scores[prompt.name, "sim-large"] for prompt in DEMO_PROMPTS]
    assert 0.4 <= min(small + large) <= 0.55
    assert 0.93 <= max(small + large) <= 0.99
    for scores_of_model in (small, large):
        steps = [high - low for low, high in pairwise(scores_of_model)]
        assert min(steps) >= 0.08
    assert min(big - little for little, big in zip(small, large, strict=True)) >= 0.1


async def test_a_new_server_gives_the_same_answers_and_another_seed_others(client, simulator):
    questions = [chat(item.question) for item in make_questions(30)]
    first = [answered.text for answered in await ask_all(client, questions)]
    with running_simulator(latency_ms=0) as other:
        async with aiohttp.ClientSession(other.url) as session:
            answers = await ask_all(session, questions)
    assert [answered.text for answered in answers] == first
    simulator.change(seed=1)
    assert [answered.text for answered in await ask_all(client, questions)] != first
    # Questions are different and repeatable.
    items = make_questions(60)
    assert items == make_questions(60)
    assert len({item.question for item in items}) == 60
    assert make_questions(60, seed=8) != items


async def test_the_prompt_decides_the_form_of_the_answer(client):
    forms = {
        "Answer with the number only.": r"-?\d+",
        "": r"The answer is -?\d+\.",
        "Think step by step.": r"(?s)Let me .*\n.*The answer is -?\d+\.",
        "Be friendly.": r"Great question.* -?\d+\. Have a lovely day!",
        "Reply in JSON.": r'\{"answer": -?\d+\}',
    }
    for system, form in forms.items():
        answered = await ask(client, "What is 17 + 25?", system=system)
        assert re.fullmatch(form, answered.text), system
    assert "volcanoes" in (await ask(client, "Tell me about volcanoes")).text


async def test_a_seed_in_the_body_varies_answers_only_above_temperature_zero(client):
    async def texts(temperature):
        bodies = [
            chat("What is 87 * 96?", temperature=temperature, seed=seed) for seed in range(40)
        ]
        return {answered.text for answered in await ask_all(client, bodies)}

    assert len(await texts(0)) == 1
    assert len(await texts(1)) == 2


async def test_a_rewrite_keeps_the_numbers_and_adds_ideas_that_vary_by_seed(client):
    answered = await ask(client, 'Paraphrase this: "Please calculate 17 + 25 and show the result."')
    assert answered.text != "Please calculate 17 + 25 and show the result."
    assert "17 + 25" in answered.text
    task = 'Rewrite this prompt: "Solve the problem."'
    bodies = [chat(task, temperature=1, seed=seed) for seed in range(20)]
    texts = {answered.text for answered in await ask_all(client, bodies)}
    assert len(texts) >= 4
    assert any("step by step" in text for text in texts)


async def test_a_judge_scores_right_answers_high_and_wrong_ones_low(client):
    for scale, given, low, high in [
        ("Score the answer from 0 to 1.", "42", 0.8, 1),
        ("Score the answer from 0 to 1.", "41", 0, 0.3),
        ("Rate the answer on a scale of 1 to 10.", "42", 8, 10),
        ("Rate the answer on a scale of 1 to 10.", "41", 1, 4),
        ("Judge the answer.", "42", 0.8, 1),
    ]:
        task = f"{scale}\nQuestion: What is 17 + 25?\nExpected: 42\nAnswer: {given}"
        assert low <= float((await ask(client, task)).text) <= high, (scale, given)
    # A reason comes with it as JSON, when asked for.
    for given, low, high in [("It is\n42.", 0.8, 1), ("41", 0, 0.3)]:
        task = (
            'You are a strict judge. Reply with JSON, as in {"score": 0.5, "reason": "why"}.\n'
            f"Expected answer:\n<t-1>\n42\n</t-1>\nAnswer:\n<t-1>\n{given}\n</t-1>"
        )
        verdict = json.loads((await ask(client, task)).text)
        assert low <= verdict["score"] <= high, given
        assert verdict["reason"].startswith("It ")


PIECES = ["a", "1", "1 ", "(", " ", '"""', "<text>", "1+", "how many 1 ", "rate the "]


async def test_a_prompt_of_a_million_characters_is_answered_in_time(client):
    for system, piece in product(("", "paraphrase ", "judge the "), PIECES):
        began = time.process_time()  # of this process, the provider's: not what others take
        text = piece * (1_000_000 // len(piece))
        assert (await ask(client, text, system=system * 10_000)).status == 200, piece
        assert time.process_time() - began < 5, piece  # looking at every pair would take hours
