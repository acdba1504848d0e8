"""The form of the promptfoo import: a file or its text, and a name."""

from typing import Any

from django import forms

from workers.engine.spec.documents import MAX_BYTES, TOO_LARGE


class PromptfooForm(forms.Form):
    file = forms.FileField(
        required=False,
        label="promptfooconfig.yaml",
        widget=forms.ClearableFileInput(attrs={"accept": ".yaml,.yml,.json"}),
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label="Or paste it",
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false", "class": "mono"}),
    )
    name = forms.CharField(
        required=False,
        max_length=100,
        help_text="Of the configuration and of the dataset. Blank: the description in the file.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        file = cleaned.get("file")
        if file is not None:
            cleaned["text"] = self._read(file)
        if not self.errors and not cleaned.get("text", "").strip():
            self.add_error("text", "Choose a file or paste its text.")
        return cleaned

    def _read(self, file: Any) -> str:
        if file.size > MAX_BYTES:
            self.add_error("file", TOO_LARGE)
            return ""
        try:
            return str(file.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            self.add_error("file", f"This is no text in UTF-8: see the byte at {error.start}.")
            return ""
