"""The demo's material: prompts that differ in quality, two models, and questions with answers."""

from random import Random
from typing import NamedTuple

DEMO_DATASET = "arithmetic"
DEMO_ENDPOINT = "simulated"
DEMO_MODELS = ("sim-small", "sim-large")


class DemoPrompt(NamedTuple):
    name: str
    system: str
    user: str  # a template: {{question}} stands for the question


class Question(NamedTuple):
    question: str
    expected: str


DEMO_PROMPTS = (
    DemoPrompt(
        name="hurried",
        system="You have no time. Answer quickly with your first guess.",
        user="{{question}}",
    ),
    DemoPrompt(
        name="terse",
        system="Answer with the number only.",
        user="{{question}}",
    ),
    DemoPrompt(
        name="step by step",
        system="You are a careful math teacher. Solve the problem step by step, "
        "then state the answer.",
        user="{{question}}",
    ),
)

NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn")
THINGS = ("apples", "books", "coins", "marbles", "pencils", "stamps")


def make_questions(count: int = 60, seed: int = 7) -> list[Question]:
    """Different arithmetic questions, the same for the same seed; expected answers are integers."""
    random = Random(seed)
    questions: dict[str, Question] = {}
    while len(questions) < count:
        make = MAKERS[len(questions) % len(MAKERS)]
        made = make(random)
        questions.setdefault(made.question, made)
    return list(questions.values())


def _addition(random: Random) -> Question:
    left, right = random.randint(11, 99), random.randint(11, 99)
    return Question(f"What is {left} + {right}?", str(left + right))


def _subtraction(random: Random) -> Question:
    left, right = random.randint(50, 99), random.randint(11, 49)
    return Question(f"What is {left} - {right}?", str(left - right))


def _multiplication(random: Random) -> Question:
    left, right = random.randint(3, 19), random.randint(3, 12)
    return Question(f"What is {left} * {right}?", str(left * right))


def _gain(random: Random) -> Question:
    name, thing = random.choice(NAMES), random.choice(THINGS)
    start, more = random.randint(5, 60), random.randint(5, 40)
    text = f"{name} has {start} {thing} and buys {more} more. How many {thing} are there now?"
    return Question(text, str(start + more))


def _loss(random: Random) -> Question:
    name, thing = random.choice(NAMES), random.choice(THINGS)
    start, fewer = random.randint(40, 90), random.randint(5, 39)
    text = f"{name} has {start} {thing} and gives away {fewer}. How many {thing} are left?"
    return Question(text, str(start - fewer))


def _boxes(random: Random) -> Question:
    thing = random.choice(THINGS)
    boxes, each = random.randint(3, 12), random.randint(4, 15)
    text = f"There are {boxes} boxes with {each} {thing} each. How many {thing} are there in total?"
    return Question(text, str(boxes * each))


MAKERS = (_addition, _subtraction, _multiplication, _gain, _loss, _boxes)
