"""Azure OpenAI: OpenAI's bodies at Azure's addresses, where a model is a deployment."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import Field

from workers.engine.providers.manner import NOTHING, ProviderOptions
from workers.engine.providers.model_lists import ModelList, openai_names
from workers.engine.providers.openai import OpenAI
from workers.engine.providers.wire import Written
from workers.engine.records import Request

# The list is the same in every version, and this one is no preview: it stays.
LIST_PATH = "/openai/models?api-version=2024-10-21"
API_VERSION = r"\d{4}-\d{2}-\d{2}(-preview)?"


class AzureOptions(ProviderOptions):
    api_version: str = Field(
        default="",
        max_length=40,
        pattern=rf"^({API_VERSION})?$",
        title="API version",
        description="As in 2024-10-21: calls go to /openai/deployments/NAME. Empty: Azure's newer "
        "addresses without a version, /openai/v1.",
    )


def api_key(key: str) -> dict[str, str]:
    return {"api-key": key} if key else {}


class Azure(OpenAI):
    model_list = ModelList(
        LIST_PATH,
        api_key,
        openai_names,
        "Check that the base URL is the resource's address alone, as in "
        "https://my-resource.openai.azure.com.",
        names_callable=False,
    )
    key_headers = staticmethod(api_key)
    options_model = AzureOptions

    @staticmethod
    def written(request: Request, options: Mapping[str, Any] = NOTHING) -> Written:
        version = options.get("api_version", "")
        if not version:
            return Written(f"/openai/v1{request.path}", request.body)
        deployment = quote(request.model, safe="")
        path = f"/openai/deployments/{deployment}{request.path}?api-version={version}"
        return Written(path, request.body)
