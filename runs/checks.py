"""What `manage.py check`, and every command that starts a part of the site, says of plug-ins;
and what `manage.py check --deploy` says of the way to the site."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register

from evalsite.env import LOOPBACK_HOSTS


@register(Tags.compatibility)
def check_plugins(**_: Any) -> list[CheckMessage]:
    """Better at the start than as a page that fails."""
    # Loads everything that can be named: a second that commands without checks need not wait.
    from workers.engine.registries import plugin_problems

    return [
        Error(found.message, hint=found.hint, id="runs.E001")
        if found.stops
        else Warning(found.message, hint=found.hint, id="runs.W001")
        for found in plugin_problems()
    ]


@register(Tags.security, deploy=True)
def check_cookies(**_: Any) -> list[CheckMessage]:
    """Browsers take Secure and __Host- cookies over https only, so that plain http has neither."""
    if settings.ENVIRONMENT.is_https:
        return []
    plain = "Cookies are neither Secure nor bound to this host by __Host-, since {} is plain http."
    hint = "Put a proxy with TLS in front and list only https:// addresses in EVALSITE_ORIGINS."
    http = [origin for origin in settings.ORIGINS if origin.startswith("http://")]
    seen_by_others = [origin for origin in http if not is_loopback(origin)]
    if seen_by_others:
        return [Warning(plain.format(seen_by_others[0]), hint=hint, id="runs.W002")]
    return [Info(plain.format(http[0]), hint=f"Fine on this machine. {hint}", id="runs.I001")]


@register(Tags.security, deploy=True)
def check_proxies(**_: Any) -> list[CheckMessage]:
    trusted = settings.TRUSTED_PROXIES
    if not settings.ENVIRONMENT.is_https or trusted.hops or trusted.networks:
        return []
    told = "Behind the proxy that speaks https, everybody has the proxy's address: failed sign-ins"
    told += " of one make all others wait who use a new browser."
    hint = "Set EVALSITE_TRUSTED_PROXIES to the number of proxies or to their addresses."
    return [Warning(told, hint=hint, id="runs.W003")]


def is_loopback(origin: str) -> bool:
    host = urlsplit(origin).hostname or ""
    return host in LOOPBACK_HOSTS or f"[{host}]" in LOOPBACK_HOSTS
