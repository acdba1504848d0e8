"""Configurations as YAML, judged by the same schema as everywhere, problem by problem."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from runs.models import Configuration
from runs.services.configurations import (
    check_configuration,
    refuse_deleted,
    save_configuration,
    set_preset,
)
from runs.services.removing.configuration_trash import remove_configuration
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.documents import read_document, write_document


class DocumentField(forms.CharField):
    """A document as text: shown as YAML, taken as YAML or JSON."""

    widget = forms.Textarea(attrs={"rows": 30, "class": "vLargeTextField", "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return write_document(value) if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None  # the field says that it is needed
        try:
            return read_document(text)
        except ConfigurationError as error:
            raise forms.ValidationError([_line(problem) for problem in error.problems]) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(data) != initial)
        except forms.ValidationError:
            return True


class ConfigurationForm(forms.ModelForm[Configuration]):
    document = DocumentField(
        strip=False,
        help_text="YAML or JSON: kind, dataset, prompts, models, scorers, limits, …",
    )

    class Meta:
        model = Configuration
        fields = ("name", "description", "is_preset", "document")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "document" not in cleaned:
            return cleaned
        name = self.instance.name or cleaned.get("name", "")
        try:
            check_configuration(name, cleaned["document"], cleaned.get("description", ""))
            refuse_deleted(name)
        except ConfigurationError as error:
            for problem in error.problems:
                self._place(problem)
        return cleaned

    def _place(self, problem: Problem) -> None:
        if problem.path in self.fields and problem.path != "document":
            if problem.path not in self.errors:
                self.add_error(problem.path, problem.message)
            return
        self.add_error("document", _line(problem))


def _line(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message


@admin.register(Configuration)
class ConfigurationAdmin(admin.ModelAdmin[Configuration]):
    form = ConfigurationForm
    list_display = ("name", "kind", "version", "is_preset", "owner", "updated")
    list_filter = ("is_preset", "kind")
    search_fields = ("name", "description")
    list_select_related = ("owner",)
    actions = ("offer_as_preset", "withdraw_preset")
    fields = (
        "name",
        "description",
        "is_preset",
        "document",
        "kind",
        "version",
        "owner",
        "created",
        "updated",
    )

    def get_readonly_fields(
        self, request: HttpRequest, obj: Configuration | None = None
    ) -> tuple[str, ...]:
        """The name is what others write in files and commands: it stays."""
        facts = ("kind", "version", "owner", "created", "updated")
        return facts if obj is None else ("name", *facts)

    def save_model(self, request: HttpRequest, obj: Configuration, form: Any, change: bool) -> None:
        owner = request.user if request.user.is_authenticated else None
        saved = save_configuration(
            owner, obj.name, form.cleaned_data["document"], obj.description, obj.is_preset
        )
        obj.pk, obj.version, obj.kind = saved.pk, saved.version, saved.kind

    def delete_model(self, request: HttpRequest, obj: Configuration) -> None:
        remove_configuration(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Configuration]) -> None:
        for configuration in queryset:
            remove_configuration(configuration)

    @admin.action(description="Offer as a preset on the new-run page", permissions=["change"])
    def offer_as_preset(self, request: HttpRequest, queryset: QuerySet[Configuration]) -> None:
        count = set_preset(list(queryset), True)
        self.message_user(request, f"{count} offered as presets.", messages.SUCCESS)

    @admin.action(description="No longer offer as a preset", permissions=["change"])
    def withdraw_preset(self, request: HttpRequest, queryset: QuerySet[Configuration]) -> None:
        count = set_preset(list(queryset), False)
        self.message_user(request, f"{count} no longer offered.", messages.SUCCESS)
