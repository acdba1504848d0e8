"""A router whose routes must declare a scope and refuse parameters that they do not know."""

from collections.abc import Callable
from typing import Any

from ninja import Router
from ninja.errors import ConfigError
from ninja.operation import Operation

from runs.api.doors import Door


class Routes(Router):
    def add_api_operation(
        self, path: str, methods: list[str], view_func: Callable[..., Any], **options: Any
    ) -> None:
        doors = options.get("auth")
        if not isinstance(doors, list) or not all(isinstance(door, Door) for door in doors):
            raise ConfigError(f"{methods} {path} declares no scope. Add auth=needs(Scope.READ).")
        options["operation_id"] = options.get("operation_id") or view_func.__name__
        options["openapi_extra"] = {
            **(options.get("openapi_extra") or {}),
            "x-scope": doors[0].scope.value,
        }
        super().add_api_operation(path, methods, view_func, **options)
        operation: Operation = view_func._ninja_operation  # type: ignore[attr-defined]
        names = query_names(operation)
        for door in doors:
            door.query = names


def query_names(operation: Operation) -> list[str]:
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            return list(getattr(model, "__ninja_flatten_map__", None) or model.model_fields)
    return []
