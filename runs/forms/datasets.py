"""The import form: a name, and rows from a file or pasted; and what is said of a dataset later."""

from typing import Any, cast

from django import forms

from runs.models import Dataset

MEGABYTE = 1024 * 1024
LARGEST_FILE = 20 * MEGABYTE


class ExpectedForm(forms.Form):
    """Which column of a stored dataset holds the expected answers."""

    expected = forms.ChoiceField(required=False, label="Expected answer")

    def __init__(self, data: Any, dataset: Dataset) -> None:
        super().__init__(data, initial={"expected": dataset.expected_column})
        choices = [("", "none"), *((column, column) for column in dataset.columns)]
        cast(forms.ChoiceField, self.fields["expected"]).choices = choices


class ImportForm(forms.Form):
    name = forms.CharField(
        max_length=120,
        error_messages={"required": "Enter a name for the dataset."},
        help_text="A name of yours gets a new version. Earlier runs keep the version they used.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "capital-cities"}),
    )
    file = forms.FileField(
        required=False,
        label="CSV, JSON or JSONL file",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.json,.jsonl,.ndjson,.txt"}),
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label="Or paste the rows",
        widget=forms.Textarea(
            attrs={
                "rows": 10,
                "spellcheck": "false",
                "placeholder": "question,expected\nWhat is the capital of France?,Paris",
            }
        ),
    )

    expected = forms.CharField(
        required=False,
        max_length=100,
        label="Expected answer",
        help_text="The column with the right answers, which scorers compare with. Empty: the one "
        "of the version before, else a column named expected, answer, target, label or output.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "found by its name"}
        ),
    )

    share = forms.BooleanField(
        required=False,
        label="Share it",
        help_text="Everybody on this site may see it and run on it, in all its versions. Not "
        "ticked: as it was; a new one is seen by you and operators only.",
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file is not None and file.size > LARGEST_FILE:
            raise forms.ValidationError(
                f"The file has {file.size / MEGABYTE:.1f} MB; at most 20 MB can be imported. "
                "Split it into several datasets."
            )
        return file

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and not cleaned.get("file") and not cleaned.get("text", "").strip():
            self.add_error("text", "There are no rows. Choose a file or paste some.")
        return cleaned
