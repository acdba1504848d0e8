"""`/metrics`: the numbers of the installation in the text format of Prometheus."""

from collections.abc import Iterator

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from ninja.errors import AuthenticationError
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from runs.api.doors import BearerToken
from runs.api.problems import TRANSLATIONS, RequestProblem, report
from runs.models import Scope
from runs.permissions import requires
from runs.roles import Permission, may
from runs.selectors.metrics import Metric, read_metrics

TOKEN = BearerToken(Scope.READ, Permission.SEE)


class Installation(Collector):
    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = metrics

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        for metric in self.metrics:
            family = CounterMetricFamily if metric.is_total else GaugeMetricFamily
            names = list(metric.samples[0][0]) if metric.samples else []
            made = family(metric.name, metric.help, labels=names)
            for labels, value in metric.samples:
                made.add_metric([labels[name] for name in names], value)
            yield made


@requires(Permission.PUBLIC)
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For a token that may read, and for operators who look themselves."""
    try:
        is_known = TOKEN(request) is not None or may(request.user, Permission.OTHERS_WORK)
    except (AuthenticationError, PermissionDenied, RequestProblem) as problem:
        return report(request, TRANSLATIONS[type(problem)](problem))
    if not is_known:
        return report(request, TRANSLATIONS[AuthenticationError](AuthenticationError()))
    registry = CollectorRegistry()
    registry.register(Installation(read_metrics()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
