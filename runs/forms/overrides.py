"""What a person says of a trial, on its page; and where its case goes."""

from django import forms

from runs.models import Verdict
from runs.models.score import LONGEST_COMMENT


class OverrideForm(forms.Form):
    verdict = forms.ChoiceField(choices=Verdict.choices)
    value = forms.FloatField(required=False, min_value=0, max_value=1)
    comment = forms.CharField(required=False, max_length=LONGEST_COMMENT, strip=True)


class CollectForm(forms.Form):
    name = forms.CharField(max_length=120, label="Dataset")
    expected = forms.CharField(required=False, strip=False, max_length=200_000)
