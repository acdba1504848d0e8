"""What the runs of a configuration are held to."""

from typing import Any

from django import forms

from runs.models import Configuration
from runs.selectors.gates import BASELINE, FIELDS, LONGEST_CANDIDATE
from workers.engine.errors import Problem
from workers.engine.statistics.gates import DEFAULT_ALPHA

LARGEST = 2**63 - 1


class GateForm(forms.Form):
    """Every field may be empty: then it is not asked for."""

    baseline = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST,
        label="Baseline",
        help_text="The number of a complete run with the same scorers.",
    )
    alpha = forms.FloatField(
        required=False,
        min_value=0.0001,
        max_value=0.9999,
        label="Alpha",
        help_text="How unlikely by chance a fall must be to count as a regression.",
        widget=forms.NumberInput(attrs={"placeholder": f"{DEFAULT_ALPHA:g}", "step": "any"}),
    )
    max_regressions = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST,
        label="Most regressions",
        help_text="Trials that passed in the baseline and do not any more.",
    )
    min_score = forms.FloatField(
        required=False, label="Least score", help_text="Failed trials count as wrong."
    )
    score_of = forms.CharField(
        required=False,
        max_length=LONGEST_CANDIDATE,
        empty_value=None,
        label="Whose score",
        help_text="A candidate, as the leaderboard names it. Empty: the best.",
    )
    max_error_rate = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        label="Most errors",
        help_text="As a share of the trials. Empty: 0.05.",
    )
    max_cost = forms.FloatField(
        required=False, min_value=0, label="Most dollars", help_text="That a run may cost."
    )

    @classmethod
    def of(cls, stored: Configuration) -> "GateForm":
        return cls(initial={**stored.gates, BASELINE: stored.baseline_id})

    @property
    def gates(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in FIELDS}

    def take_problems(self, problems: list[Problem]) -> None:
        for problem in problems:
            self.add_error(problem.path if problem.path in self.fields else None, problem.message)
