"""An Endpoint: where calls go, how many at once, and the key they need."""

from datetime import date
from typing import ClassVar

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse

from workers.engine.http import read_proxy

DIRECT = "direct"  # instead of a proxy: none, also where the site has one


class EndpointKind(models.TextChoices):
    OPENAI = "openai", "OpenAI-compatible"
    AZURE = "azure", "Azure OpenAI"
    ANTHROPIC = "anthropic", "Anthropic messages"
    OLLAMA = "ollama", "Ollama"
    APP = "app", "Your own HTTP app"
    SIMULATED = "simulated", "Simulated provider"


class Endpoint(models.Model):
    """A provider. Its key is stored encrypted and is never shown again."""

    name = models.CharField(
        max_length=60,
        unique=True,
        validators=[
            RegexValidator(
                r"^[a-z0-9][a-z0-9._-]*$",
                "Use lower-case letters, digits, dots, dashes and underscores, as in openai-main.",
            )
        ],
        help_text="Configurations name a model as endpoint/model, so no spaces or slashes.",
    )
    kind = models.CharField(max_length=20, choices=EndpointKind)
    base_url = models.URLField(
        max_length=300,
        blank=True,
        help_text="Up to and including the version, as in https://provider.example/v1. "
        "Leave empty for the simulated provider that is shipped with the site.",
    )
    model_names = models.JSONField(
        default=list, blank=True, help_text="Model names offered on the new-run page."
    )
    max_concurrent = models.PositiveIntegerField(
        default=20,
        validators=[MinValueValidator(1)],
        help_text="Calls in flight per model, over all runs and workers.",
    )
    requests_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Per model, over all runs and workers. Empty: no limit.",
    )
    tokens_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Input and output, per model, over all runs and workers. Empty: no limit.",
    )
    adaptive = models.BooleanField(
        default=True,
        help_text="Start gently, grow while all goes well, and slow down when the provider "
        "says so. Never above the limits given here.",
    )
    is_paused = models.BooleanField(
        default=False, editable=False, help_text="Starts no new calls until it is resumed."
    )
    more_urls = models.JSONField(
        default=list,
        blank=True,
        help_text="Further servers of the same kind with the same models: the least loaded "
        "one gets the next call (Ollama).",
    )
    options = models.JSONField(
        default=dict,
        blank=True,
        help_text='What its kind can be told besides, as in {"api_version": "2024-10-21"}.',
    )
    private_addresses = models.JSONField(
        default=list,
        blank=True,
        help_text="Addresses within a private network that an admin allowed this endpoint to "
        "call, as host:port. Of others its calls are refused.",
    )
    private_set_at = models.DateTimeField(null=True, blank=True, editable=False)
    private_set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    prices = models.JSONField(
        default=dict,
        blank=True,
        help_text='Dollars per million tokens, as in {"some-model": {"input": 2.5, "output": 10}}. '
        "A model without a price costs an unknown amount, never nothing.",
    )
    listed_prices = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="Of its prices those that come from the list kept with the site, and its date.",
    )
    header_names = models.JSONField(default=list, blank=True, editable=False)
    headers_ciphertext = models.TextField(blank=True, editable=False)
    proxy_shown = models.CharField(
        max_length=300,
        blank=True,
        editable=False,
        help_text="Its own proxy without the password; direct: none, whatever the site has.",
    )
    proxy_ciphertext = models.TextField(blank=True, editable=False)
    ca_bundle = models.TextField(
        blank=True,
        help_text="Certificates in PEM that its servers may be signed by, besides the usual ones.",
    )
    key_ciphertext = models.TextField(blank=True, editable=False)
    key_hint = models.CharField(max_length=8, blank=True, editable=False)
    key_set_at = models.DateTimeField(null=True, blank=True, editable=False)
    key_set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    archived = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since then offered for no new run."
    )
    remove_after = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Deleted: archived, and removed for good after that.",
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("endpoint", args=[self.pk])

    @property
    def revision(self) -> str:
        """Another one after every change of its settings."""
        return self.updated.isoformat()

    @property
    def urls(self) -> list[str]:
        """Of all its servers, as entered."""
        return [url for url in (self.base_url, *self.more_urls) if url]

    @property
    def called_urls(self) -> list[str]:
        """Of all that its calls connect to: its servers, and its own proxy."""
        return [*self.urls, *([read_proxy(self.proxy_shown).address] if self.has_proxy else [])]

    @property
    def has_proxy(self) -> bool:
        return bool(self.proxy_shown) and self.proxy_shown != DIRECT

    @property
    def prices_from_list(self) -> list[str]:
        """The models whose price nobody entered."""
        return [name for name, note in self.listed_prices.items() if note]

    @property
    def price_list_date(self) -> date | None:
        """Of the newest list that a price of it comes from."""
        days = [note["date"] for note in self.listed_prices.values() if note]
        return date.fromisoformat(max(days)) if days else None

    @property
    def models_without_price(self) -> list[str]:
        return [name for name in self.model_names if name not in self.prices]

    @property
    def has_key(self) -> bool:
        return bool(self.key_ciphertext)
