"""The provider behind the HTTP door: takes a request, decides its reply, and keeps account."""

import json
from collections.abc import Callable
from zlib import crc32

from workers.simulator.answers.answering import answer_ask
from workers.simulator.answers.seeded import counted, draw
from workers.simulator.fault_choice import AskedModel, order_by_rate
from workers.simulator.ledger import Arrival, Ledger
from workers.simulator.limits import Limits
from workers.simulator.protocols.anthropic_routes import ANTHROPIC_ROUTES
from workers.simulator.protocols.app_routes import APP_ROUTES
from workers.simulator.protocols.azure_routes import as_openai, is_azure, refusal_of
from workers.simulator.protocols.exchange import Account, Exchange, FaultOrder
from workers.simulator.protocols.ollama_routes import OLLAMA_ROUTES, list_tags
from workers.simulator.protocols.ollama_routes import write_refusal as write_ollama_refusal
from workers.simulator.protocols.openai_routes import OPENAI_ROUTES, list_models
from workers.simulator.protocols.openai_routes import write_refusal as write_openai_refusal
from workers.simulator.protocols.reading import read_json
from workers.simulator.records import (
    Ask,
    HttpRequest,
    Json,
    Refusal,
    RefusedError,
    Reply,
    Route,
)
from workers.simulator.script import Script
from workers.simulator.settings import Settings

ROUTES: dict[str, Route] = OPENAI_ROUTES | OLLAMA_ROUTES | ANTHROPIC_ROUTES | APP_ROUTES
LISTS_BY_PATH: dict[str, Callable[[], Reply]] = {"/v1/models": list_models, "/api/tags": list_tags}
UNKNOWN_ROUTE = "(unknown)"
MOST_HELD_SECONDS = 600.0  # then a script that forgot to let go gets its answers all the same
MOST_WAITING_SECONDS = 60.0  # a client that never sends so many at once is answered all the same

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class SimulatedProvider:
    """All that a simulated provider knows: settings, ledger, limits and script."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        self.change_settings(settings)
        self._clock = clock
        self.reset()

    def change_settings(self, settings: Settings) -> None:
        self.settings = settings
        self._fault_rates = settings.fault_rates()  # asked for every request
        self._answered = 0  # since then

    def reset(self) -> None:
        """Forgets what happened; settings stay."""
        self.ledger = Ledger(self._clock())
        self.limits = Limits()
        self.script = Script([])
        self._gathered_at: float | None = None

    def now(self) -> float:
        return self._clock()

    def receive(self, request: HttpRequest) -> Exchange:
        """Decides everything about a request at the moment it has been read."""
        if is_azure(request):
            return self._receive_at_azure(request)
        route = ROUTES.get(request.path)
        if route is None or request.method != "POST":
            return self._receive_other(request)
        body: Json = {}
        try:
            body = read_json(request.body)
            ask = route.read(body)
            model = AskedModel(ask.model, route.model_kind)
        except RefusedError as refused:
            return self._refuse(request, route, body, refused.refusal)
        return self._answer(request, route, ask, model, _hash_of(request, body))

    def _receive_at_azure(self, request: HttpRequest) -> Exchange:
        refused, asked = refusal_of(request), as_openai(request)
        if refused is not None or is_azure(asked):
            arrival = Arrival(UNKNOWN_ROUTE, model="", body_hash=_hash_of(request, {}))
            reply = refused or _not_found(request, is_known_path=False)
            return self._reply_at_once(request, arrival, reply)
        return self.receive(asked)

    def _answer(
        self, request: HttpRequest, route: Route, ask: Ask, model: AskedModel, body_hash: int
    ) -> Exchange:
        now, settings = self._clock(), self.settings
        seconds = _latency_seconds(settings, model.name, body_hash)
        answer = answer_ask(ask, model.name, settings.seed, seconds, body_hash)
        shown = request.authorization or request.api_key
        key = f"{crc32(shown.encode()):08x}"  # enough to tell keys apart
        tokens_out = answer.tokens_out
        arrival = Arrival(route.path, ask.model, body_hash, ask.tokens_in, tokens_out, key=key)
        scope = ask.model if settings.limit_scope == "model" else "server"
        tokens = ask.tokens_in + tokens_out
        refusal, headers = self.limits.admit(settings, scope, tokens, now)
        if refusal is not None:
            refused = Arrival(route.path, ask.model, body_hash, is_accepted=False)
            told = refusal._replace(headers=refusal.headers + headers)
            return self._reply_at_once(request, refused, route.write_refusal(told))
        order = self._order(route, ask, model, body_hash)
        if order is not None:
            arrival = arrival._replace(fault=order.name)
            seconds = seconds if order.delay_ms is None else order.delay_ms / 1000
        self._answered += 1
        is_held = settings.hold_after is not None and self._answered > settings.hold_after
        due = self.limits.due(settings, scope, seconds, now)
        return Exchange(
            request=request,
            reply=route.write(ask, answer)._replace(headers=route.name_headers(headers)),
            settings=settings,
            due=due if seconds or settings.gather or is_held else 0.0,
            account=self._open(arrival, now, scope),
            order=order,
            route=route,
            ask=ask,
            answer=answer,
            is_held=is_held,
        )

    def holds_back(self, exchange: Exchange) -> bool:
        """Whether an answer still waits, as the settings `hold_after` and `gather` say."""
        now = self._clock()
        if exchange.is_held and exchange.settings is self.settings:
            return now < exchange.due + MOST_HELD_SECONDS
        account, wanted = exchange.account, self.settings.gather
        if wanted is None or account is None or account.ledger is not self.ledger:
            return False  # also not from before a reset: nobody counts those any more
        return self._is_gathering(wanted, exchange, now)

    def _is_gathering(self, wanted: int, exchange: Exchange, now: float) -> bool:
        """Once all are there, they wait for the usual latency: one that is too many would show."""
        if self._gathered_at is None and self.ledger.peak >= wanted:
            self._gathered_at = now
        if self._gathered_at is None:
            return now < exchange.due + MOST_WAITING_SECONDS
        return now < self._gathered_at + self.settings.latency_ms / 1000

    def _order(
        self, route: Route, ask: Ask, model: AskedModel, body_hash: int
    ) -> FaultOrder | None:
        return (
            model.order or self.script.order_for(ask, route.path) or self._order_by_rate(body_hash)
        )

    def _order_by_rate(self, body_hash: int) -> FaultOrder | None:
        times_asked = self.ledger.times_asked(body_hash)
        return order_by_rate(self._fault_rates, self.settings.seed, body_hash, times_asked)

    def _refuse(self, request: HttpRequest, route: Route, body: Json, refusal: Refusal) -> Exchange:
        """A request that cannot be answered: it uses no limits."""
        asked = body.get("model")
        model = asked if isinstance(asked, str) else ""
        arrival = Arrival(route.path, model, _hash_of(request, body))
        return self._reply_at_once(request, arrival, route.write_refusal(refusal))

    def _receive_other(self, request: HttpRequest) -> Exchange:
        """Lists of models, and what is no route of any provider."""
        write_list = LISTS_BY_PATH.get(request.path)
        is_known = write_list is not None or request.path in ROUTES
        route = request.path if is_known else UNKNOWN_ROUTE
        arrival = Arrival(route, model="", body_hash=_hash_of(request, {}))
        if write_list is not None and request.method == "GET":
            return self._reply_at_once(request, arrival, write_list())
        return self._reply_at_once(request, arrival, _not_found(request, is_known))

    def _reply_at_once(self, request: HttpRequest, arrival: Arrival, reply: Reply) -> Exchange:
        account = self._open(arrival, self._clock())
        return Exchange(request, reply, self.settings, account=account)

    def _open(self, arrival: Arrival, now: float, scope: str | None = None) -> Account:
        row = self.ledger.begin(arrival, now)
        return Account(self.ledger, row, self.limits, scope, self._clock)


def _latency_seconds(settings: Settings, model: str, body_hash: int) -> float:
    """The base latency, times the model's factor, with a jitter that depends on the content."""
    if settings.latency_ms == 0:
        return 0.0
    swing = settings.jitter * (2 * draw(settings.seed, "latency", body_hash) - 1)
    return settings.latency_ms / 1000 * settings.latency_factor(model) * (1 + swing)


def _hash_of(request: HttpRequest, body: Json) -> int:
    """Equal for requests that ask the same, whatever the order of their keys."""
    canonical = _canonical(body) if body else request.body.decode("utf-8", "replace")
    return counted(f"{request.method} {request.path}\n{canonical}")


def _not_found(request: HttpRequest, is_known_path: bool) -> Reply:
    write = write_ollama_refusal if request.path.startswith("/api/") else write_openai_refusal
    if not is_known_path:
        return write(Refusal(404, f"Invalid URL ({request.method} {request.path})."))
    allowed = "GET" if request.path in LISTS_BY_PATH else "POST"
    message = f"Not allowed to {request.method} on {request.path}. Use {allowed}."
    return write(Refusal(405, message, headers=(("allow", allowed),)))
