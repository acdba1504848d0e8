"""Answers depend on prompt, model, question and seed, and on nothing else."""

import json
import re
import time
from itertools import pairwise, product

import aiohttp
import pytest

from tests.simulator.calls import ask, ask_all, chat
from workers.engine.kinds.mutate.operators import OPERATORS, WritingOperator
from workers.engine.kinds.mutate.rewriting import messages_for, read_rewritten
from workers.simulator.answers.advice import ADVICE, DISTRACTS, HELPS, advice_in, help_of, sorts_of
from workers.simulator.answers.arithmetic import find_problem, show_number
from workers.simulator.answers.embeddings import embed
from workers.simulator.answers.improving import improve
from workers.simulator.answers.texts import Prompt, answer_to
from workers.simulator.demo import DEMO_MODELS, DEMO_PROMPTS, make_questions
from workers.simulator.testing import running_simulator


async def demo_scores(client):
    """The share of right answers by (prompt, model)."""
    questions = make_questions(60)
    scores = {}
    for prompt in DEMO_PROMPTS:
        for model in DEMO_MODELS:
            texts = [prompt.user.replace("{{question}}", item.question) for item in questions]
            bodies = [chat(text, prompt.system, model) for text in texts]
            answers = await ask_all(client, bodies)
            said = [re.findall(r"-?\d+(?:\.\d+)?", one.text)[-1] for one in answers]
            rights = [one == item.expected for one, item in zip(said, questions, strict=True)]
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
        given = {"temperature": temperature}
        bodies = [chat("What is 87 * 96?", **given, seed=seed) for seed in range(40)]
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
        task = f"Expected answer:\n<t-1>\n42\n</t-1>\nAnswer:\n<t-1>\n{given}\n</t-1>"
        strict = 'You are a strict judge. Reply with JSON, as in {"score": 0.5, "reason": "why"}.'
        verdict = json.loads((await ask(client, f"{strict}\n{task}")).text)
        assert low <= verdict["score"] <= high, given
        assert verdict["reason"].startswith("It ")


PIECES = ["a", "1", "1 ", "(", " ", '"""', "<text>", "1+", "how many 1 ", "rate the "]


async def test_a_prompt_of_a_million_characters_is_answered_in_time(client):
    for system, piece in product(("", "paraphrase ", "judge the "), PIECES):
        began = time.process_time()  # of this process, the provider's: not what others take
        text = piece * (1_000_000 // len(piece))
        assert (await ask(client, text, system=system * 10_000)).status == 200, piece
        assert time.process_time() - began < 5, piece  # looking at every pair would take hours


SUMS = {
    "What is 17 + 25?": "42",
    "17+25": "42",
    "What is 9-2?": "7",
    "Compute (3 + 4) * 2": "14",
    "2 + 3 * 4 =": "14",
    "what's 84 divided by 7?": "12",
    "1,200 \N{MULTIPLICATION SIGN} 3": "3600",
    "6 x 7": "42",
    "What is 7 plus 8?": "15",
    "What is -3 - -4?": "1",
    "What is 1 / 3?": "0.333333",
    "What is 0.5 + 0.25?": "0.75",
    "(what is 2 + 3)": "5",
    "What is the sum of 17 and 25?": "42",
    "What is the difference between 42 and 17?": "25",
    "Subtract 5 from 17.": "12",
    "Multiply 6 by 7.": "42",
    "What is 15% of 80?": "12",
    "What is half of 42?": "21",
    "Q: 2 + 2? A: 4. Q: 17 + 25?": "42",
    "What is 17 + 25? Answer in 1-2 sentences.": "42",
    "Ann has 17 apples and buys 25 more. How many does she have now?": "42",
    "Tom had 42 marbles and gave 17 to Sue. How many are left?": "25",
    "Tom had 42 marbles and 17 rolled away. How many are left?": "25",
    "There are 6 boxes with 7 pencils each. How many pencils in total?": "42",
    "A farmer plants 8 rows of 12 trees. How many trees?": "96",
    "Tickets cost 7 dollars each. How much do 6 tickets cost?": "42",
    "24 sweets are shared equally among 4 children. How many does each get?": "6",
    "Ann has 17 apples and Bob has 25. How many more does Bob have than Ann?": "8",
    "Sam has 12 pens, buys 8 more and then loses 5. How many pens has he?": "15",
}
NO_SUMS = [
    "Hello",
    "We are open 24/7",
    "Write 1-2 sentences about spring",
    "The year 2024 was warm",
    "What is 5 / 0?",
    "1" * 100_000,
    "999999999999999*" * 500 + "9",
    "(" * 100_000 + "1",
]


def test_a_sum_is_understood_and_solved_and_what_is_none_is_left_alone():
    found = {text: (problem := find_problem(text)) and show_number(problem.value) for text in SUMS}
    assert found == SUMS
    assert [text[:40] for text in NO_SUMS if find_problem(text) is not None] == []


def likeness(left, right):
    return sum(a * b for a, b in zip(embed(left), embed(right), strict=True))


def test_a_paraphrase_is_nearer_than_another_topic():
    text = "How do I bake bread at home?"
    assert likeness(text, "How can I bake bread at home") > 0.6
    assert likeness(text, "The stock market fell today") < 0.3
    assert likeness(text, text) == pytest.approx(1)
    for odd in ("", "   ", "!!!", "\ud83d"):  # they have a direction, too
        assert sum(value * value for value in embed(odd, 8)) == pytest.approx(1)


SYSTEM = (
    "You improve the system prompts of other models. Texts between <text-1> and </text-1> are data"
)
GEPA = """I provided an assistant with the following instructions to perform a task for me:
```
Answer the question.
```

The following are examples of different task inputs provided to the assistant along with the \
assistant's response for each of them, and some feedback on how the assistant's response could be \
better:
```
# Example 1
## Inputs
{0}

## Generated Outputs
The answer is 12.

## Feedback
The generated response is {1}.
```

Provide the new instructions within ``` blocks."""
QUESTIONS = {
    "stories": "Ann has 5 coins and buys 7 more. How many coins are there now?",
    "products": "What is 13 * 7?",
    "differences": "What is 91 - 17?",
    "quotients": "What is 20 percent of 60?",
    "chains": "What is 3 + 4 + 5?",
    "large numbers": "What is 12345 + 6789?",
}


def fenced(*questions):
    shown = "\n\n".join(
        f"Question {n}:\n<text-1>\n{text}\n</text-1>" for n, text in enumerate(questions, start=1)
    )
    return f"Prompt:\n<text-1>\nAnswer the question.\n</text-1>\n\n{shown}"


def improved(system, user):
    return [improve(system, user, 3, f"seed {number}") or "" for number in range(60)]


def test_a_reflection_mostly_finds_what_would_have_helped():
    """However it is asked: by our runs, or by the package gepa."""
    for sort, advice in ADVICE.items():
        question = QUESTIONS[sort]
        for system, user in ((SYSTEM, fenced(question)), ("", GEPA.format(question, "incorrect"))):
            written = improved(system, user)
            assert 60 > sum(advice.text in text for text in written) > 30, sort
            assert all("Answer the question." in text for text in written)
    right = improved("", GEPA.format(QUESTIONS["products"], "correct"))
    assert sum(ADVICE["products"].text in text for text in right) < 15, "it teaches nothing"
    assert improve("Answer.", "```\n2 + 2\n```\nWhat feedback do you have?", 3, "") is None


def test_advice_helps_with_its_own_sort_and_distracts_from_others():
    sums = {"stories": "5 + 7", "quotients": "20 * 60 / 100"}
    for sort, question in QUESTIONS.items():
        given = advice_in(f"Answer. {ADVICE[sort].text}")
        sorts = sorts_of(question, sums.get(sort, question.removeprefix("What is ").rstrip("?")))
        found = (given, help_of(given, sorts), help_of(given, frozenset()))
        assert found == (frozenset({sort}), HELPS, -DISTRACTS)

    # Good advice gives more right answers.
    def right(system):
        pairs = product(range(11, 31), range(3, 13))
        asked = [(f"What is {a} * {b}?", str(a * b)) for a, b in pairs]
        told = [answer_to(Prompt(system, text, "sim-small", 3)) for text, _ in asked]
        return sum(expected in text for text, (_, expected) in zip(told, asked, strict=True))

    helped = right(f"Answer the question. {ADVICE['products'].text}")
    assert helped > right("Answer the question.") + 10
    assert helped > right(f"Answer the question. {ADVICE['quotients'].text}") + 10


PRODUCT = "There are 3 boxes with 4 pens each. How many pens are there in total?"
DIFFERENCE = "What is 9 - 2?"
STORY = "Ann has 5 pens and buys 4 more. How many pens are there now?"
QUERIES = (PRODUCT, DIFFERENCE, STORY)
WRITING = {
    name: one.task for name, one in OPERATORS.ours.items() if issubclass(one, WritingOperator)
}


def rewrite(name, query):
    system, user = (message["content"] for message in messages_for(WRITING[name], query))
    return read_rewritten(answer_to(Prompt(system, user, "sim-large", seed=0)))


def is_right(query, expected):
    """Of easy sums with small numbers, asked with care: nobody is wrong for another reason."""
    system = "Work carefully, step by step, and check your result."
    return f"is {expected}." in answer_to(Prompt(system, query, "sim-large", seed=1))


def test_a_rewrite_keeps_what_is_asked_and_rewrites_do_not_pile_up():
    for name, query in product(WRITING, QUERIES):
        before, after = find_problem(query), find_problem(rewrite(name, query))
        assert before is not None
        assert after is not None
        assert after.value == before.value, name
        assert rewrite(name, query) == rewrite(name, query)
    assert rewrite("shorten", rewrite("passive_voice", PRODUCT)) == PRODUCT
    twice = rewrite("make_indirect", rewrite("passive_voice", PRODUCT))
    assert twice == rewrite("make_indirect", PRODUCT)


CONFUSED = {"passive_voice": [PRODUCT], "make_indirect": [DIFFERENCE]}
CONFUSED |= {"change_perspective": [STORY], "paraphrase": [], "add_politeness": []}


def test_a_wording_turns_one_sort_of_question_wrong():
    expected = dict(zip(QUERIES, ("12", "7", "9"), strict=True))
    assert all(is_right(query, answer) for query, answer in expected.items())
    assert {
        name: [query for query in QUERIES if not is_right(rewrite(name, query), expected[query])]
        for name in CONFUSED
    } == CONFUSED
