"""Configurations: every problem is listed at once, and says what is allowed."""

from typing import Any

import pytest

from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.kinds.evaluate import Evaluation
from workers.engine.spec.checks import check_against
from workers.engine.spec.configuration import count_trials
from workers.engine.spec.presets import PRESETS


def problems_of(document: Any) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(document)
    return dict(caught.value.problems)


def test_short_and_long_forms_mean_the_same(document: dict[str, Any]) -> None:
    long = {
        **document,
        "dataset": {"name": "sums"},
        "models": [{"endpoint": "simulated", "model": m} for m in ("sim-small", "sim-large")],
    }
    assert read_configuration(long) == read_configuration(document)


def test_a_model_name_may_hold_slashes(document: dict[str, Any]) -> None:
    document["models"] = ["router/vendor/model"]
    [model] = read_configuration(document).called
    assert (model.endpoint, model.model) == ("router", "vendor/model")


def test_every_problem_is_listed_at_once(document: dict[str, Any]) -> None:
    del document["dataset"]
    document |= {
        "colour": "red",
        "models": ["nowhere"],
        "scorers": ["vibes"],
        "prompts": [{"name": "a", "usr": "b"}],
        "repeats": 0,
    }
    document["limits"]["max_concurrent"] = "many"
    found = problems_of(document)
    assert set(found) == {
        "dataset",
        "colour",
        "models.0",
        "scorers.0",
        "prompts.0.usr",
        "repeats",
        "limits.max_concurrent",
    }


def with_parameters(**parameters: Any) -> dict[str, Any]:
    return {"models": [{"endpoint": "x", "model": "y", "parameters": parameters}]}


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"colour": 1}, "colour", "Allowed here: name, kind, seed"),
        ({"kind": "dance"}, "kind", "'evaluate'"),
        ({"prompts": []}, "prompts", "Add at least one prompt."),
        ({"prompts": [{"name": "a"}, {"name": "a"}]}, "prompts", "Given twice: a"),
        ({"models": ["x/y", "x/y"]}, "models", "Given twice"),
        (with_parameters(temperature="hot"), "models.0.parameters", "a number from 0 to 10"),
        (with_parameters(temperature=True), "models.0.parameters", "temperature is True"),
        (with_parameters(top_p=1.5), "models.0.parameters", "a number from 0 to 1"),
        (with_parameters(max_tokens=0), "models.0.parameters", "a whole number from 1"),
        (with_parameters(max_tokens=1.5), "models.0.parameters", "a whole number from 1"),
        (with_parameters(max_tokens=float("nan")), "models.0.parameters", "whole number"),
        ({"scorers": ["vibes"]}, "scorers.0", "exact, contains, starts_with"),
        (
            {"scorers": [{"name": "vibes", "options": {}}]},
            "scorers.0",
            "exact, contains, starts_with",
        ),
        ({"scorers": [{"name": "exact", "option": 1}]}, "scorers.0", "takes: ignore_case, strip"),
        ({"seed": True}, "seed", "not true or false"),
        ({"limits": {"adaptive": 1}}, "limits.adaptive", "valid boolean"),
        ({"seed": 2**63}, "seed", "less than or equal"),
        ({"cache": "maybe"}, "cache", "'use', 'refresh' or 'off'"),
        ({"dataset": {"rows": []}}, "dataset.rows", "Add at least one row."),
        ({"dataset": ""}, "dataset.name", "Choose a dataset."),
        ({"dataset": {"name": "sums", "first": 0}}, "dataset.first", "greater than or equal to 1"),
        ({"models": []}, "models", "Choose at least one model."),
        ({"scorers": []}, "scorers", "Choose at least one scorer."),
        ({"name": ""}, "name", "Enter a name."),
        ({"prompts": [{"name": "a", "user": ""}]}, "prompts.0.user", "Enter a prompt."),
        ({"cache": True}, "cache", "not a mode of the cache. Choose use, refresh or off"),
        ({"cache": 0}, "cache", "'use', 'refresh' or 'off'"),
        ({"dataset": {}}, "dataset", "one of the two"),
        ({"limits": {"preset": "warp"}}, "limits.preset", "'conservative', 'balanced'"),
        ({"limits": {"speed": 1}}, "limits.speed", "Allowed here: preset, max_concurrent"),
        ({"limits": {"attempts": 0}}, "limits.attempts", "greater than or equal to 1, got 0"),
        ({"budget": {"calls": 0}}, "budget.calls", "greater than 0, got 0"),
        ({"budget": {"calls": "many"}}, "budget.calls", "valid integer"),
        ({"budget": {"seconds": float("inf")}}, "budget.seconds", "finite number"),
        ({"budget": {"dollars": -2}}, "budget.dollars", "greater than 0, got -2"),
        ({"budget": {"max_cost": 2}}, "budget.max_cost", "Allowed here: dollars, calls, seconds"),
        ({"budget": 5}, "budget", "valid dictionary"),
    ],
)
def test_a_problem_says_where_and_what_is_allowed(
    document: dict[str, Any], change: dict[str, Any], path: str, words: str
) -> None:
    found = problems_of({**document, **change})
    assert words in found[path]


def test_off_without_quotes_switches_the_cache_off(document: dict[str, Any]) -> None:
    """YAML says false for it, and the JSON schema admits that."""
    assert read_configuration({**document, "cache": False}).cache == "off"
    assert False in Evaluation.model_json_schema()["properties"]["cache"]["enum"]


@pytest.mark.parametrize("document", [None, 3, "kind: evaluate", ["evaluate"]])
def test_what_is_no_mapping_is_refused(document: Any) -> None:
    assert "mapping" in problems_of(document)[""]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_fills_what_is_not_given(document: dict[str, Any], preset: str) -> None:
    document["limits"] = {"preset": preset, "attempts": 2}
    limits = read_configuration(document).limits
    assert limits.max_concurrent == PRESETS[preset]["max_concurrent"]
    assert limits.requests_per_minute == PRESETS[preset]["requests_per_minute"]
    assert limits.attempts == 2


def test_no_rate_limit_can_be_asked_for(document: dict[str, Any]) -> None:
    document["limits"] = {"preset": "balanced", "requests_per_minute": None}
    assert read_configuration(document).limits.requests_per_minute is None


def test_what_the_stored_parts_tell_is_checked_too(document: dict[str, Any]) -> None:
    document["prompts"][0]["user"] = "{{question}} {{answer}}"
    document["repeats"] = 1000
    configuration = read_configuration(document)
    with pytest.raises(ConfigurationError) as caught:
        check_against(configuration, endpoints={"other": []}, columns=["question"], cases=1000)
    paths = [problem.path for problem in caught.value.problems]
    assert paths == ["models.0.endpoint", "models.1.endpoint", "prompts.0.user", "expected", ""]
    assert "It has: question." in str(caught.value)
    assert "4,000,000 trials" in str(caught.value)


@pytest.mark.parametrize(
    ("budget", "meant"),
    [
        ({}, (None, None, None)),
        ({"dollars": 5.0, "calls": 20000, "seconds": 3600}, (5.0, 20000, 3600.0)),
        ({"calls": "7", "seconds": None}, (None, 7, None)),
    ],
)
def test_a_budget_is_any_of_three(
    document: dict[str, Any], budget: dict[str, Any], meant: tuple[Any, ...]
) -> None:
    read = read_configuration({**document, "budget": budget}).budget
    assert (read.dollars, read.calls, read.seconds) == meant


def test_every_problem_of_a_budget_is_listed(document: dict[str, Any]) -> None:
    document["budget"] = {"dollars": 0, "calls": -1, "hours": 3}
    assert set(problems_of(document)) == {"budget.dollars", "budget.calls", "budget.hours"}


def test_trials_are_counted_without_building_them(document: dict[str, Any]) -> None:
    document["repeats"] = 3
    assert count_trials(read_configuration(document), 10**6) == 12 * 10**6


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"async_batch_size": 30}, {"batch_size": 30}),
        ({"rate_limit_per_minute": 3500}, {"requests_per_minute": 3500}),
        ({"async_timeout": 12}, {"timeout_seconds": 12}),
        (
            {"max_concurrent_requests": 10, "max_concurrent_genomes": 5, "genome_batch_size": 10},
            {"max_concurrent": 50, "max_concurrent_candidates": 5, "candidate_batch_size": 10},
        ),
        ({"schedule": "sequential", "max_concurrent": 9}, {"max_concurrent": 1}),
    ],
)
def test_the_names_of_the_evaluation_guide_are_understood(
    document: dict[str, Any], given: dict[str, Any], meant: dict[str, Any]
) -> None:
    limits = read_configuration({**document, "limits": given}).limits
    assert {name: getattr(limits, name) for name in meant} == meant
