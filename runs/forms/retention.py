"""What the site removes by itself, as an administrator enters it."""

from typing import Any

from django import forms

from runs.selectors.system.retention import LONGEST_DAYS, Rules


class RetentionForm(forms.Form):
    """Empty leaves a rule to the environment, 0 keeps for ever."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in Rules._fields:
            self.fields[name] = forms.IntegerField(
                required=False, min_value=0, max_value=LONGEST_DAYS
            )

    @property
    def values(self) -> dict[str, int | None]:
        return {name: self.cleaned_data[name] for name in Rules._fields}
