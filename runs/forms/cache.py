"""What to remove from the cache, and the filters of its page."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone

from runs.forms.filters import read_text
from runs.selectors.cache_page import CacheFilters, ModelGroup, Pruning

LONGEST_AGE_DAYS = 36_500


def read_cache_filters(query: QueryDict) -> CacheFilters:
    endpoint, _, model = read_text(query.get("model")).partition("/")
    return CacheFilters(text=read_text(query.get("q")), endpoint=endpoint, model=model)


class PruneForm(forms.Form):
    older_than_days = forms.FloatField(
        required=False,
        min_value=0,
        max_value=LONGEST_AGE_DAYS,
        label="Older than, days",
        help_text="0 takes every age.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "placeholder": "30"}),
    )
    model = forms.ChoiceField(required=False, label="Model")
    run = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        label="Paid for by run",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "placeholder": "number"}),
    )
    # An exact moment: what is confirmed is what was counted, however long the person thinks.
    before = forms.DateTimeField(required=False, widget=forms.HiddenInput)
    for_good = forms.BooleanField(
        required=False, label="For good, at once: makes room, and cannot be undone"
    )

    def __init__(self, *args: Any, groups: Iterable[ModelGroup], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(group.name, group.name) for group in groups]
        self.fields["model"].choices = [("", "Any"), *choices]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        given = (cleaned.get(name) for name in ("older_than_days", "before", "run"))
        if not self.errors and not cleaned["model"] and all(value is None for value in given):
            raise forms.ValidationError("Choose an age, a model or a run; 0 days takes everything.")
        return cleaned

    def selection(self) -> Pruning:
        before, days = self.cleaned_data["before"], self.cleaned_data["older_than_days"]
        if before is None and days is not None:
            before = timezone.now() - timedelta(days=days)
        endpoint, _, model = self.cleaned_data["model"].partition("/")
        return Pruning(before, endpoint, model, self.cleaned_data["run"])


class RestoreForm(forms.Form):
    remove_after = forms.DateTimeField()
