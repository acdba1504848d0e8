"""Rewrites a text when a prompt asks for it: what query mutation and prompt evolution build on."""

import re

from workers.simulator.answers.seeded import draw, pick

_task = re.compile(
    r"\b(?:rewrite|paraphrase|rephrase|reword|reformulate|mutate|shorten|simplify this"
    r"|make (?:it|this|the text) (?:more )?(?:polite|shorter|clearer)"
    r"|improve (?:this|the) (?:prompt|instruction)"
    r"|synonyms?|passive voice)\b",
    re.IGNORECASE,
)
_about_a_prompt = re.compile(r"\b(?:prompt|instructions?)\b", re.IGNORECASE)
_polite = re.compile(r"\bpolite", re.IGNORECASE)
_shorter = re.compile(r"\bshort", re.IGNORECASE)
_quoted = re.compile(r"\"\"\"(.+?)\"\"\"|<text>(.+?)</text>|\"([^\"]{3,})\"", re.DOTALL)
_filler = re.compile(
    r"\b(?:please|kindly|really|very|just|could you|would you|the following)\b ?", re.IGNORECASE
)
_word = re.compile(r"[A-Za-z]+")

SYNONYMS: dict[str, tuple[str, ...]] = {
    "answer": ("reply", "respond"),
    "big": ("large", "sizable"),
    "calculate": ("compute", "work out"),
    "compute": ("calculate", "work out"),
    "explain": ("describe", "clarify"),
    "find": ("determine", "work out"),
    "give": ("provide", "state"),
    "good": ("fine", "solid"),
    "help": ("assist", "support"),
    "make": ("create", "produce"),
    "question": ("query", "task"),
    "show": ("present", "display"),
    "solve": ("work out", "resolve"),
    "tell": ("inform", "let know"),
    "use": ("apply", "employ"),
    "write": ("compose", "draft"),
}
# What a rewritten prompt may gain. Some help and some harm, so that evolution has to choose.
PROMPT_IDEAS = (
    "Think step by step.",
    "Check your result before you answer.",
    "Work carefully.",
    "You are an expert in arithmetic.",
    "Answer with the number only.",
    "Be friendly and conversational.",
    "Answer quickly.",
)
ASKED_ANEW = ("Please tell me: {0}", "I would like to know: {0}", "Here is a task. {0}")
SWAP_SHARE = 0.7  # of the words that have a synonym


def is_rewriting_task(instructions: str) -> bool:
    return bool(_task.search(instructions))


def rewrite(system: str, user: str, seed: int, variant: str) -> str:
    """The text to be rewritten, in other words; its numbers stay as they are."""
    text = _text_to_rewrite(user)
    instructions = f"{system}\n{user.replace(text, ' ')}"
    if _shorter.search(instructions):
        return _filler.sub("", text).strip() or text
    swapped = swap_words(text, seed, variant)
    if _polite.search(instructions):
        return f"Could you please help me with this? {swapped}"
    if _about_a_prompt.search(instructions):
        return _with_an_idea(swapped, seed, variant)
    if swapped != text:
        return swapped
    return pick(ASKED_ANEW, seed, "anew", text, variant).format(text)


def _text_to_rewrite(user: str) -> str:
    """What is quoted; else what follows the first colon or line break; else all of it."""
    quoted = _quoted.search(user)
    if quoted:
        return next(part for part in quoted.groups() if part).strip()
    head, _, tail = user.partition(":") if ":" in user.partition("\n")[0] else user.partition("\n")
    return tail.strip() if tail.strip() and _task.search(head) else user.strip()


def swap_words(text: str, seed: int, variant: str) -> str:
    def swap(found: re.Match[str]) -> str:
        word = found.group()
        synonyms = SYNONYMS.get(word.lower())
        if synonyms is None or draw(seed, "swap", text, word, variant) > SWAP_SHARE:
            return word
        synonym = pick(synonyms, seed, "synonym", text, word, variant)
        return synonym.capitalize() if word[0].isupper() else synonym

    return _word.sub(swap, text)


def _with_an_idea(prompt: str, seed: int, variant: str) -> str:
    new = [idea for idea in PROMPT_IDEAS if idea not in prompt]
    if not new:
        return prompt
    return f"{prompt} {pick(new, seed, 'idea', prompt, variant)}"
