"""What is wrong with a configuration that only the stored parts can tell."""

from collections.abc import Collection, Mapping, Sequence

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.configuration import Configuration, count_trials
from workers.engine.spec.expected import expected_problems
from workers.engine.spec.library import unfilled
from workers.engine.spec.template import names_in

NO_ENDPOINTS = "none yet; add one under Endpoints or with `manage.py save_endpoint`"
MAX_CANDIDATES = 10_000  # known at a launch: they are all made, stored and shown
MAX_TRIALS = 2_000_000  # a run's quota; the product is computed before anything is built


def check_against(
    configuration: Configuration,
    *,
    endpoints: Mapping[str, Collection[str]],
    columns: Sequence[str],
    cases: int,
) -> None:
    """Refuse what only the stored parts can tell: endpoints, with the models whose price is known;
    dataset columns, among them the expected answer; size, which comes before anything is made."""
    if (candidates := configuration.candidates_at_launch) > MAX_CANDIDATES:
        told = (
            f"{candidates:,} candidates are more than the {MAX_CANDIDATES:,} a run may have. Take "
            "out models or prompts, or split the run."
        )
        raise ConfigurationError([Problem("", told)])
    named = [
        (f"{configuration.model_path(index)}.endpoint", model)
        for index, model in enumerate(configuration.called)
    ]
    problems = [
        Problem(
            path,
            f"There is no endpoint {model.endpoint!r}. "
            f"Choose one of: {', '.join(endpoints) or NO_ENDPOINTS}.",
        )
        for path, model in [*named, *configuration.judges]
        if model.endpoint not in endpoints
    ]
    problems += configuration.plugin_problems()
    problems += unfilled(configuration)
    problems += template_problems(configuration, columns)
    problems += expected_problems(
        configuration.expected_column,
        [choice.name for choice in configuration.scorers if choice.compares],
        columns,
        {name for template in configuration.templates() for name in names_in(template.text)},
    )
    problems += budget_problems(configuration, endpoints)
    problems += held_out_problems(configuration, cases)
    ranked = max(0, configuration.count_ranked(cases))
    trials = count_trials(configuration, ranked) + configuration.count_told(ranked)
    trials += configuration.count_confirming(cases)
    if trials > MAX_TRIALS:
        problems.append(
            Problem("", f"{trials:,} trials are more than the {MAX_TRIALS:,} a run may have.")
        )
    if problems:
        raise ConfigurationError(problems)


def held_out_problems(configuration: Configuration, cases: int) -> list[Problem]:
    if configuration.held_out is None or configuration.count_ranked(cases) > 0:
        return []
    told = (
        f"The run has {cases:,} cases: hold out at most {max(0, cases - 1):,}, so that candidates "
        "can be ranked by the others."
    )
    return [Problem("held_out", told)]


def budget_problems(
    configuration: Configuration, priced: Mapping[str, Collection[str]]
) -> list[Problem]:
    """Dollars can only be kept to where every price is known, by endpoint and model."""
    if configuration.budget.dollars is None:
        return []
    unpriced = {
        model.label: model.endpoint
        for model in configuration.every_model
        if model.model not in priced.get(model.endpoint, ())
    }
    if not unpriced:
        return []
    places = ", ".join(sorted(set(unpriced.values())))
    told = (
        f"A budget in dollars needs the price of every model; unknown: {', '.join(unpriced)}. "
        f"Enter it under Endpoints ({places}), or set a budget of calls instead."
    )
    return [Problem("budget.dollars", told)]


def template_problems(configuration: Configuration, columns: Sequence[str]) -> list[Problem]:
    return [
        Problem(template.path, unknown_name(name, columns, template.known))
        for template in configuration.templates()
        for name in names_in(template.text)
        if name not in columns and name not in template.known
    ]


def unknown_name(name: str, columns: Sequence[str], steps: Sequence[str]) -> str:
    told = f"{{{{{name}}}}} is not a column of the dataset. It has: {', '.join(columns)}."
    return f"{told} Earlier steps: {', '.join(steps)}." if steps else told
