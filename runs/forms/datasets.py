"""The import form: a name, and rows from a file or pasted; and what is said of a dataset later."""

from typing import Any

from django import forms

from runs.models import Dataset
from runs.models.dataset import ColumnRole

MEGABYTE = 1024 * 1024
LARGEST_SHARE = 1_000_000.0
LARGEST_FILE = 20 * MEGABYTE


class RolesForm(forms.Form):
    """What each column of a stored dataset is for."""

    def __init__(self, data: Any, dataset: Dataset) -> None:
        super().__init__(data)
        self.columns = list(dataset.columns)
        for number, column in enumerate(self.columns):
            self.fields[f"role-{number}"] = forms.ChoiceField(
                choices=ColumnRole.choices,
                label=column,
                initial=dataset.role_of(column),
                widget=forms.Select(attrs={"class": "input"}),
            )

    def roles(self) -> dict[str, str]:
        """By column."""
        given = enumerate(self.columns)
        return {column: self.cleaned_data[f"role-{number}"] for number, column in given}


class SplitForm(forms.Form):
    """Parts with their shares, one text for all."""

    parts = forms.CharField(
        max_length=500,
        initial="train = 80, test = 20",
        help_text="Each part with its share; shares of any scale.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**63 - 1, initial=0, help_text="Another seed parts otherwise."
    )

    def clean_parts(self) -> dict[str, float]:
        shares: dict[str, float] = {}
        for text in self.cleaned_data["parts"].split(","):
            name, equals, share = (part.strip() for part in text.partition("="))
            if not name or not equals or name in shares:
                raise forms.ValidationError("Write each part once, as in train = 80, test = 20.")
            shares[name] = read_share(share)
        return {name: share / sum(shares.values()) for name, share in shares.items()}


def read_share(text: str) -> float:
    try:
        share = float(text.removesuffix("%"))
    except ValueError:
        share = 0.0
    if not 0 < share <= LARGEST_SHARE:
        raise forms.ValidationError(f"{text[:20]!r} is no share. Give a number above 0.")
    return share


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
