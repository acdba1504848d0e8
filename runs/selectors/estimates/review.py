"""What a launch would do, in a few sentences, for a last look."""

from collections.abc import Iterator, Sequence

from runs import formatting
from runs.kinds import kind_named
from runs.selectors.limits.budgets import amount_text
from workers.engine.spec.configuration import Configuration

MOST_NAMED = 2  # models or scorers; of others only their number is told
CACHE = {
    "use": "Answers in the cache are used again.",
    "refresh": "Every answer is asked for again, whatever the cache has.",
    "off": "The cache is neither read nor filled.",
}


def review_text(
    configuration: Configuration, cases: int, calls: int, dollars: float, *, is_priced: bool = True
) -> str:
    told = [*sentences(configuration, cases, calls, dollars)]
    if not is_priced:
        told.append(kind_named(configuration.kind).without_prices(configuration))
    return " ".join(filter(None, told))


def sentences(
    configuration: Configuration, cases: int, calls: int, dollars: float
) -> Iterator[str]:
    kind = kind_named(configuration.kind)
    candidates = formatting.counted(
        configuration.candidates, kind.candidate_word, kind.candidate_words
    )
    each = kind.tried_on(configuration, cases)
    asked = [model.label for model in configuration.called]
    by = f" with {some_of(asked, 'model')}" if asked else ""
    scorers = some_of([scorer.name for scorer in configuration.scorers], "scorer")
    judged = f", scored by {scorers}" if scorers else ""
    yield (
        f"Launch tries {candidates}{by} on {formatting.counted(each.number, each.word)}"
        f"{times_text(configuration.repeats)}{judged}."
    )
    cold = [one.label for one in configuration.called if one.parameters.get("temperature") == 0]
    if configuration.repeats > 1 and cold:
        yield f"At temperature 0 the tries of {some_of(cold, 'model')} will hardly differ."
    cost = f", for up to {formatting.dollars(dollars)}" if dollars else ""
    if calls:
        yield f"It sends up to {formatting.counted(calls, 'call')}{cost}."
    if configuration.every_model:
        yield CACHE[configuration.cache]
    yield stops_text(configuration)


def times_text(repeats: int) -> str:
    return "" if repeats == 1 else f", {repeats:,} times each"


def some_of(names: Sequence[str], word: str) -> str:
    """As in `a/small and a/large`, or `12 models`."""
    different = list(dict.fromkeys(names))
    if len(different) > MOST_NAMED:
        return formatting.counted(len(different), word)
    return " and ".join(different)


def stops_text(configuration: Configuration) -> str:
    reasons = [
        f"at {amount_text(name, total)}"
        for name, total in configuration.budget
        if total is not None
    ]
    if (most := configuration.fail_on_error) is not None:
        share = f"{most:.0%}" if most <= 1 else f"{most:,.0f}"
        reasons.append(f"when more than {share} of its trials fail")
    if not reasons:
        return "No budget stops it."
    return f"It pauses {' or '.join(reasons)}."
