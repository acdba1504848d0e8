"""Where and how endpoints are called is told to those who launch, on pages and over REST."""

import pytest
from django.urls import reverse

from runs.models import EndpointKind, Run
from runs.roles import Role
from tests.api.asking import Asker
from tests.harness.factories import add_score, client_of, make_person, make_run
from tests.runs.selection_parts import make_selection

pytestmark = pytest.mark.django_db
TOLD = ("gpu.internal.example", "spare.internal.example", "org-of-the-company", "X-Team", "jane@")


def test_viewers_are_told_no_addresses_proxies_and_options(alice, endpoint, dataset):
    endpoint.kind, endpoint.options = EndpointKind.OPENAI, {"organization": TOLD[2]}
    endpoint.base_url, endpoint.more_urls = f"https://{TOLD[0]}/v1", [f"https://{TOLD[1]}/v1"]
    endpoint.header_names, endpoint.proxy_shown = [TOLD[3]], f"http://{TOLD[4]}proxy.example:80"
    endpoint.private_addresses = [f"{TOLD[0]}:443"]
    endpoint.save()
    run = make_run(alice, dataset, is_shared=True)
    add_score(run, dataset.cases.get(position=0), run.candidates.get(), 0)
    pages = [reverse("endpoints"), endpoint.get_absolute_url(), reverse("trial", args=[run.pk, 0])]
    routes = ["/endpoints", f"/endpoints/{endpoint.name}"]
    for person, told in ((alice, True), (make_person("vera", role=Role.VIEWER), False)):
        client, asker = client_of(person), Asker(person)
        seen = [client.get(page).text for page in pages]
        seen += [asker.get(route).text for route in routes]
        assert [any(word in text for word in TOLD) for text in seen] == [told] * 5


def test_viewers_take_no_file_with_addresses_along(alice, dataset):
    """The matrix of roles asks the same of the API's route."""
    run = make_selection(alice, dataset)
    Run.objects.update(is_shared=True)
    file = reverse("run_file", args=[run.pk, "litellm.yaml"])
    vera = make_person("vera", role=Role.VIEWER)
    assert [client_of(one).get(file).status_code for one in (alice, vera)] == [200, 403]
    assert "litellm" in client_of(alice).get(run.get_absolute_url()).text
    assert "litellm" not in client_of(vera).get(run.get_absolute_url()).text
