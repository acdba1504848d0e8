"""What an administrator says a person, or everybody of a role, may use."""

from typing import Any

from django import forms

from runs.selectors.quotas import Quota

LARGEST = 2_000_000_000  # what an integer column can hold
WORDS = {
    "trials_per_run": ("Trials of a run", "At most; candidates × cases × repeats."),
    "active_runs": ("Runs under way", "That have not ended, paused ones too."),
    "dollars_per_day": (
        "Dollars a day",
        "From midnight to midnight UTC, by the prices of the endpoints. Runs pause when they are "
        "used up.",
    ),
    "stored_megabytes": (
        "Megabytes stored",
        "Of datasets, prompts, configurations and what runs stored, about.",
    ),
    "slots": ("Calls at once", "In flight over all runs of the person."),
    "sockets": ("Live pages", "Of runs, in all browsers of the person. Others are still shown."),
}


class QuotaForm(forms.Form):
    """Every field may be empty: then the number shown in it holds."""

    def __init__(self, *args: Any, otherwise: Quota, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, (label, help_text) in WORDS.items():
            kind = forms.FloatField if name == "dollars_per_day" else forms.IntegerField
            self.fields[name] = kind(
                required=False, min_value=0, max_value=LARGEST, label=label, help_text=help_text
            )
            held = getattr(otherwise, name)
            hint = "no limit" if held is None else f"{held:,}"
            self.fields[name].widget.attrs["placeholder"] = hint

    @property
    def values(self) -> dict[str, float | None]:
        return {name: self.cleaned_data[name] for name in WORDS}
