"""Prices and lists as people type them: one line each."""

from typing import Any

from django import forms

from runs.formatting import plain_number

PRICE_EXAMPLE = "some-model 2.50 10"


class LinesField(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        lines = (line.strip() for line in text.replace(",", "\n").splitlines())
        return list(dict.fromkeys(line for line in lines if line))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class HeadersField(forms.CharField):
    """Headers, one a line: Name: value. What is stored never comes back into it."""

    widget = forms.Textarea(
        attrs={"rows": 3, "spellcheck": "false", "autocomplete": "off", "class": "mono"}
    )

    def prepare_value(self, value: Any) -> Any:
        return ""

    def to_python(self, value: Any) -> Any:
        lines = [line for line in (super().to_python(value) or "").splitlines() if line.strip()]
        headers: dict[str, str] = {}
        for number, line in enumerate(lines, start=1):
            name, is_whole, text = line.partition(":")
            if not is_whole:  # the line may be a secret: it is not repeated
                raise forms.ValidationError(f"Line {number}: write a name, a colon and a value.")
            headers[name.strip()] = text.strip()
        return headers


class PricesField(forms.CharField):
    """Models with what a million tokens of them cost, one a line: name, input, output."""

    widget = forms.Textarea(
        attrs={"rows": 4, "spellcheck": "false", "placeholder": PRICE_EXAMPLE, "class": "mono"}
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, **options)  # or an empty first line would not be counted

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return "\n".join(
            f"{model} {plain_number(price['input'])} {plain_number(price['output'])}"
            for model, price in value.items()
        )

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        lines = ((n, line.strip()) for n, line in enumerate(text.splitlines(), start=1))
        prices: dict[str, dict[str, float]] = {}
        problems = []
        for number, line in lines:
            try:
                if line:
                    add_price(prices, line)
            except ValueError as error:
                problems.append(f"Line {number}: {error}")
        if problems:
            raise forms.ValidationError(problems)
        return prices

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(data) != (initial or {}))
        except forms.ValidationError:
            return True


def add_price(prices: dict[str, dict[str, float]], line: str) -> None:
    """Read one line. ValueError says what is wrong with it; the bounds are judged later."""
    parts = line.rsplit(None, 2)
    if len(parts) < 3:
        raise ValueError(f"write the model, its input and its output price, as in {PRICE_EXAMPLE}.")
    model, *amounts = parts
    if model in prices:
        raise ValueError(f"{model} has a price already. Keep one of the two lines.")
    prices[model] = {
        name: read_dollars(name, text)
        for name, text in zip(("input", "output"), amounts, strict=True)
    }


def read_dollars(name: str, text: str) -> float:
    try:
        return float(text.removeprefix("$"))
    except ValueError:
        raise ValueError(
            f"the {name} price {text!r} is not a number. Write dollars per million tokens, "
            f"as in {PRICE_EXAMPLE}."
        ) from None
