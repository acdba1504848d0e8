"""The endpoints pages and the model picker of the new-run page."""

from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import Endpoint


class ModelGroup(NamedTuple):
    """The models one endpoint offers, as a configuration names them."""

    endpoint: str
    kind: str
    models: list[str]


def list_endpoints(endpoints: QuerySet[Endpoint]) -> list[Endpoint]:
    unseen = ("key_ciphertext", "headers_ciphertext", "proxy_ciphertext", "ca_bundle")
    return list(endpoints.select_related("key_set_by").defer(*unseen).order_by("name"))


def group_models(endpoints: QuerySet[Endpoint]) -> list[ModelGroup]:
    rows = endpoints.order_by("name").values_list("name", "kind", "model_names")
    return [
        ModelGroup(name, kind, [f"{name}/{model}" for model in models])
        for name, kind, models in rows
    ]
