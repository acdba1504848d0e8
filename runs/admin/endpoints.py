"""Endpoints: a key goes in and never comes out; addresses are judged before they are stored."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from runs.forms.endpoint_options import option_names
from runs.forms.endpoints import EndpointForm
from runs.models import Endpoint, EndpointKind
from runs.secrets import NewSecrets
from runs.selectors.dependents import dependents_of_endpoint
from runs.services.endpoints import save_endpoint, test_connection, validate_endpoint
from runs.services.removing.archiving import remove_endpoint

MOST_TESTS = 5  # at once; each may take its full deadline


class EndpointAdminForm(EndpointForm):
    remove_key = forms.BooleanField(required=False, label="Remove the key that is set")

    @property
    def new_secrets(self) -> NewSecrets:
        new = super().new_secrets
        return new._replace(key="") if self.cleaned_data.get("remove_key") else new

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("remove_key") and cleaned.get("new_key"):
            self.add_error("remove_key", "Either remove the key or give a new one, not both.")
        return cleaned

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        try:
            validate_endpoint(self.instance, self.new_secrets)
        except ValidationError as error:
            self.add_error(None, error)


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin[Endpoint]):
    form = EndpointAdminForm
    list_display = ("name", "kind", "base_url", "key", "max_concurrent", "requests_per_minute")
    list_filter = ("kind",)
    search_fields = ("name", "base_url")
    list_select_related = ("key_set_by",)
    readonly_fields = ("key", "created", "updated")
    actions = ("test_connections",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "name",
                    "kind",
                    "base_url",
                    "more_urls",
                    "private_addresses",
                    "model_names",
                    "prices",
                )
            },
        ),
        (
            "Limits",
            {
                "fields": (
                    "max_concurrent",
                    "requests_per_minute",
                    "tokens_per_minute",
                    "adaptive",
                )
            },
        ),
        ("Key", {"fields": ("key", "new_key", "remove_key")}),
        ("Network", {"fields": ("new_headers", "remove_headers", "new_proxy", "ca_bundle")}),
        ("Dates", {"fields": ("created", "updated")}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Endpoint | None = None) -> Any:
        """What its kind can be told; the admin has no script that would hide the others."""
        told = [
            (f"Only for {EndpointKind(kind).label}", {"fields": names, "classes": ("collapse",)})
            for kind, names in option_names().items()
        ]
        return [*self.fieldsets, *told]

    def get_form(
        self, request: HttpRequest, obj: Endpoint | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The form adds the fields of the kinds itself."""
        return super().get_form(
            request, obj, change, **{**kwargs, "fields": flatten_fieldsets(self.fieldsets)}
        )

    @admin.display(description="Key")
    def key(self, endpoint: Endpoint) -> str:
        if not endpoint.has_key:
            return "not set"
        hint = f"…{endpoint.key_hint}" if endpoint.key_hint else "set"
        when = f"{endpoint.key_set_at:%-d %b %Y}" if endpoint.key_set_at else "once"
        return f"{hint}, {when}, by {endpoint.key_set_by or 'somebody who is gone'}"

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        new = form.new_secrets
        save_endpoint(request.user, obj, new.key, new_headers=new.headers, new_proxy=new.proxy)

    def get_deleted_objects(
        self, objs: QuerySet[Endpoint] | Sequence[Endpoint], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """What is used is protected, from its page and from the list."""
        gone, counts, missing, protected = super().get_deleted_objects(objs, request)
        for endpoint in objs:
            if used := dependents_of_endpoint(endpoint):
                protected.append(f"{endpoint.name}: used by {used.text}. Archive it on its page.")
        return gone, counts, missing, protected

    def delete_model(self, request: HttpRequest, obj: Endpoint) -> None:
        remove_endpoint(request.user, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        for endpoint in queryset:
            remove_endpoint(request.user, endpoint)

    @admin.action(description="Test the connection", permissions=["change"])
    def test_connections(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        for endpoint in queryset[:MOST_TESTS]:
            report = test_connection(endpoint)
            level = messages.SUCCESS if report.ok else messages.ERROR
            if report.unlisted or not report.was_asked:
                level = messages.WARNING
            text = f"{endpoint.name}: {report.message} {report.advice}".strip()
            self.message_user(request, text, level)
        if queryset.count() > MOST_TESTS:
            self.message_user(
                request, f"Only the first {MOST_TESTS} were tested.", messages.WARNING
            )
