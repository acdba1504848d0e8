"""What the routes of endpoints take and answer. No answer holds a key."""

from datetime import date, datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator

from runs.models import EndpointKind
from runs.services.endpoints import LONGEST_KEY
from workers.engine.providers.known import KNOWN_PROVIDERS
from workers.engine.spec.configuration import Concurrency, NotSwitch, RequestRate, Strict, TokenRate

Url = Annotated[str, Field(max_length=300)]
ProviderName = Annotated[
    str, Field(max_length=40, json_schema_extra={"enum": list(KNOWN_PROVIDERS)})
]
EndpointName = Annotated[str, Field(max_length=60)]


class Price(Strict):
    """Dollars per million tokens."""

    input: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False), NotSwitch]
    output: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False), NotSwitch]


class EndpointChanges(Strict):
    """What is not given stays. `base_urls` are servers with the same models; the first one is the
    base URL. An empty `api_key` removes the key."""

    provider: Annotated[
        ProviderName,
        Field(
            description="Fills in the kind, base URL and limits that are not given (`GET "
            "/providers`)."
        ),
    ] = "other"
    kind: EndpointKind = EndpointKind.OPENAI
    options: Annotated[
        dict[Annotated[str, Field(max_length=40)], Any],
        Field(
            max_length=20,
            description="What its kind can be told besides: for azure api_version, for openai "
            "organization and project. Another kind needs them anew.",
        ),
    ] = {}
    base_url: Url = ""
    base_urls: Annotated[list[Url], Field(min_length=1, max_length=51)] = [""]
    api_key: Annotated[
        str,
        Field(
            max_length=LONGEST_KEY, description="Write-only.", json_schema_extra={"writeOnly": True}
        ),
    ] = ""
    headers: Annotated[
        dict[
            Annotated[str, Field(min_length=1, max_length=100)],
            Annotated[str, Field(max_length=LONGEST_KEY)],
        ],
        Field(
            max_length=20,
            description="Sent with every call; stored encrypted, and never answered. They replace "
            "those that are set; {} removes them. Write-only.",
            json_schema_extra={"writeOnly": True},
        ),
    ] = {}
    proxy: Annotated[
        str,
        Field(
            max_length=300,
            description="By CONNECT (http) or SOCKS, as in socks5://me:secret@proxy.example:80; "
            "direct: none, whatever the site has. Empty: that of the site. The password is never "
            "answered.",
        ),
    ] = ""
    ca_bundle: Annotated[
        str,
        Field(
            max_length=200_000,
            description="Certificates in PEM that its servers may be signed by, besides the usual.",
        ),
    ] = ""
    private_addresses: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=300)]],
        Field(
            max_length=51,
            description="Of its servers those in a private network, as host:port, which an admin "
            "lets this endpoint call. One that is left out may no longer be called.",
        ),
    ] = []
    allow_private: Annotated[
        bool,
        Field(
            strict=True,
            description="Instead of private_addresses: true names all of its servers, false none.",
        ),
    ] = False
    models: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=1000)
    ] = []
    max_concurrent: Concurrency = 20
    requests_per_minute: RequestRate | None = None
    tokens_per_minute: TokenRate | None = None
    adaptive: Annotated[bool, Field(strict=True)] = True
    prices: dict[Annotated[str, Field(min_length=1, max_length=200)], Price] = {}

    @model_validator(mode="after")
    def check_one_address(self) -> "EndpointChanges":
        if {"base_url", "base_urls"} <= self.model_fields_set:
            raise ValueError("Give base_url or base_urls: one of the two.")
        if {"allow_private", "private_addresses"} <= self.model_fields_set:
            raise ValueError("Give allow_private or private_addresses: one of the two.")
        return self


class EndpointPatch(EndpointChanges):
    archived: Annotated[bool, Field(strict=True)] = False


class EndpointBody(EndpointChanges):
    name: Annotated[str, Field(min_length=1, max_length=60, pattern="^[a-z0-9][a-z0-9._-]*$")]

    @model_validator(mode="after")
    def check_kind(self) -> "EndpointBody":
        if not {"kind", "provider"} & self.model_fields_set:
            raise ValueError("Give the kind, or a provider by name.")
        return self


class DeleteEndpointQuery(BaseModel):
    now: Annotated[
        bool, Field(description="For good at once, instead of some days in which it can come back.")
    ] = False


class EndpointAnswer(BaseModel):
    """Of the key only whether there is one. Viewers are told no addresses, proxies and options."""

    name: str
    kind: EndpointKind
    options: dict[str, Any]
    header_names: list[str]
    proxy: str
    ca_bundle: str
    base_url: str
    base_urls: list[str]
    private_addresses: list[str]
    models: list[str]
    max_concurrent: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    adaptive: bool
    prices: dict[str, Any]
    prices_from_list: list[str]
    price_list_date: date | None
    is_paused: bool
    has_key: bool
    key_set_at: datetime | None
    archived: datetime | None
    remove_after: datetime | None


class FoundModels(BaseModel):
    ok: bool
    message: str
    advice: str
    models: list[str]


class ProviderAnswer(BaseModel):
    """A provider by name, with what an endpoint of it is filled in with."""

    name: str
    title: str
    kind: EndpointKind
    base_url: str
    needs_key: bool
    max_concurrent: int
    requests_per_minute: int | None
    hint: str


class Providers(BaseModel):
    providers: list[ProviderAnswer]


class TryBody(Strict):
    model: Annotated[str, Field(min_length=1, max_length=200)]
    prompt: Annotated[str, Field(min_length=1, max_length=20_000)]


class TriedExchange(BaseModel):
    request: str
    response: str


class TriedAnswer(BaseModel):
    """Unknown tokens and costs are null."""

    model: str
    answer: str
    problem: str
    advice: str
    latency_ms: float | None
    waited_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    exchanges: list[TriedExchange]
