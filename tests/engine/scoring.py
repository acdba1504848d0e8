"""Answers judged by scorers that judge at once."""

from workers.engine.records import Case
from workers.engine.scorers import Scorer, build_scorer


def case(expected=None, **fields):
    if expected is not None:
        fields["expected"] = expected
    return Case(position=3, fields=fields)


def quick(name, options):
    """One that judges at once; those that ask are in test_judges.py."""
    scorer = build_scorer(name, options)
    assert isinstance(scorer, Scorer)
    return scorer


def value(name, options, answer, the_case):
    judgement = quick(name, options).judge(answer, the_case)
    assert judgement.name == name
    assert judgement.passed == (judgement.value == 1.0)
    return judgement.value
