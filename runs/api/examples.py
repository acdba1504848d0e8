"""One request for every route, as curl and as Python: shown by the docs page, run by a test."""

import json
import shlex
from pprint import pformat
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

ROOT = "/api/v1"
YAML_TEXT = """name: sums
kind: evaluate
dataset: sums
prompts: [{name: terse, system: Answer with the number only., user: "{{question}}"}]
models: [simulated/sim-small]
scorers: [{numeric: {tolerance: 0.001}}]
"""
CAPITALS = [{"question": "The capital of France?", "expected": "Paris"}]

PROMPT = {"name": "triage", "content": {"system": "Sort mail.", "user": "{{question}}"}}

PROMPTFOO = """prompts: ["The capital of {{country}}?"]
providers: ["openai:sim-small"]
tests: [{vars: {country: France}, assert: [{type: icontains, value: Paris}]}]
"""


class Example(NamedTuple):
    method: str
    path: str  # with its values in place
    query: dict[str, Any] = {}
    body: Any = None  # sent as JSON; a text as YAML
    headers: dict[str, str] = {}

    @property
    def address(self) -> str:
        asked = f"?{urlencode(self.query, safe=',')}" if self.query else ""
        return f"{ROOT}{quote(self.path)}{asked}"

    @property
    def all_headers(self) -> dict[str, str]:
        if self.body is None:
            return self.headers
        kind = "application/yaml" if isinstance(self.body, str) else "application/json"
        return {"Content-Type": kind, **self.headers}


EXAMPLES: dict[str, Example] = {
    "list_runs": Example("GET", "/runs", {"state": "running", "fields": "id,name,counts"}),
    "start_run": Example(
        "POST", "/runs", body={"configuration": "sums"}, headers={"Idempotency-Key": "build-4711"}
    ),
    "estimate_run": Example("POST", "/runs/estimate", body={"configuration": "sums"}),
    "dry_run": Example("POST", "/runs/dry", body={"configuration": "sums"}),
    "show_run": Example("GET", "/runs/1"),
    "run_live": Example("GET", "/runs/1/live"),
    "pause": Example("POST", "/runs/1/pause", body={"reason": "the provider is busy"}),
    "resume": Example("POST", "/runs/1/resume"),
    "change_limits": Example(
        "PATCH", "/runs/1/limits", body={"max_concurrent": 20, "reason": "be gentle"}
    ),
    "retry": Example("POST", "/runs/1/retry"),
    "rerun": Example("POST", "/runs/1/trials/0/rerun"),
    "override": Example(
        "POST",
        "/runs/1/trials/0/overrides",
        body={"verdict": "wrong", "comment": "The unit is missing."},
    ),
    "rerun_trials": Example("POST", "/runs/1/rerun", body={"trials": [0]}),
    "cancel": Example("POST", "/runs/1/cancel"),
    "change_run": Example("PATCH", "/runs/2", body={"tags": ["baseline"], "note": "Before May."}),
    "star": Example("PUT", "/runs/2/star"),
    "unstar": Example("DELETE", "/runs/2/star"),
    "remove_run": Example("DELETE", "/runs/2", {"dry_run": "true"}),
    "list_candidates": Example("GET", "/runs/1/candidates", {"limit": 10}),
    "list_combinations": Example("GET", "/runs/3/combinations"),
    "show_board": Example("GET", "/runs/4/board"),
    "show_litellm": Example("GET", "/runs/3/litellm", headers={"Accept": "application/yaml"}),
    "list_scores": Example(
        "GET", "/runs/1/scores", {"status": "correct"}, headers={"Accept": "text/csv"}
    ),
    "show_run_report": Example("GET", "/runs/1/report", headers={"Accept": "text/markdown"}),
    "show_trial": Example("GET", "/runs/1/trials/0"),
    "show_record": Example("GET", "/runs/1/scores/0/record"),
    "show_agreement": Example("GET", "/runs/1/agreement"),
    "list_samples": Example("GET", "/runs/1/samples"),
    "list_events": Example("GET", "/runs/1/events", {"level": "warning"}),
    "stream_events": Example(
        "GET", "/runs/2/events/stream", headers={"Accept": "text/event-stream"}
    ),
    "compare": Example("GET", "/compare", {"base": 1, "with": "2"}),
    "add_prompt": Example("POST", "/prompts", body=PROMPT),
    "list_all_prompts": Example("GET", "/prompts"),
    "show_prompt": Example("GET", "/prompts/triage"),
    "change_prompt": Example("PATCH", "/prompts/triage", body={"shared": True}),
    "remove_prompt": Example("DELETE", "/prompts/triage"),
    "import_rows": Example("POST", "/datasets", body={"name": "capitals", "rows": CAPITALS}),
    "list_all_datasets": Example("GET", "/datasets"),
    "show_dataset": Example("GET", "/datasets/sums", {"limit": 20}),
    "change_dataset": Example("PATCH", "/datasets/capitals", body={"shared": True}),
    "show_report": Example("GET", "/dataset-reports/sums"),
    "show_changes": Example("GET", "/dataset-changes/capitals", {"base": 1, "kind": "added"}),
    "add_split": Example(
        "POST", "/dataset-splits/capitals", body={"parts": {"train": 0.8, "test": 0.2}, "seed": 0}
    ),
    "delete_rows": Example("DELETE", "/datasets/capitals"),
    "add_endpoint": Example(
        "POST",
        "/endpoints",
        body={
            "name": "my-provider",
            "kind": "openai",
            "base_url": "https://provider.example/v1",
            "api_key": "sk-not-a-real-key",
            "models": ["some-model"],
            "max_concurrent": 50,
            "requests_per_minute": 3000,
            "prices": {"some-model": {"input": 2.5, "output": 10}},
        },
    ),
    "list_providers": Example("GET", "/providers"),
    "try_a_prompt": Example(
        "POST", "/endpoints/simulated/try", body={"model": "sim-small", "prompt": "What is 2 + 2?"}
    ),
    "find_its_models": Example("POST", "/endpoints/simulated/models"),
    "list_all_endpoints": Example("GET", "/endpoints"),
    "show_endpoint": Example("GET", "/endpoints/simulated"),
    "change_endpoint": Example("PATCH", "/endpoints/simulated", body={"max_concurrent": 40}),
    "remove_endpoint": Example("DELETE", "/endpoints/old-provider"),
    "pause_calls": Example("POST", "/endpoints/simulated/pause"),
    "resume_calls": Example("POST", "/endpoints/simulated/resume"),
    "add_promptfoo": Example("POST", "/promptfoo", body={"text": PROMPTFOO, "name": "capitals"}),
    "add_configuration": Example(
        "POST", "/configurations", body=YAML_TEXT.replace("name: sums", "name: more sums", 1)
    ),
    "list_all_configurations": Example("GET", "/configurations"),
    "show_configuration": Example(
        "GET", "/configurations/sums", headers={"Accept": "application/yaml"}
    ),
    "list_versions": Example("GET", "/configuration-versions/sums"),
    "show_gate": Example("GET", "/configuration-gates/sums"),
    "put_gate": Example(
        "PUT", "/configuration-gates/sums", body={"min_score": 0.8, "max_error_rate": 0.05}
    ),
    "put_schedule": Example(
        "PUT",
        "/configuration-schedules/sums",
        body={"cron": "30 6 * * 1-5", "time_zone": "Europe/Paris"},
    ),
    "show_schedule": Example("GET", "/configuration-schedules/sums"),
    "change_schedule": Example("PATCH", "/configuration-schedules/sums", body={"on": False}),
    "remove_schedule": Example("DELETE", "/configuration-schedules/sums"),
    "show_trend": Example("GET", "/configuration-trends/sums", {"limit": 30}),
    "change_configuration": Example(
        "PATCH", "/configurations/sums", body={"description": "Every night."}
    ),
    "remove_configuration": Example("DELETE", "/configurations/more sums"),
    "put_configuration": Example("PUT", "/configurations/sums", body=YAML_TEXT),
    "show_cache": Example("GET", "/cache"),
    "list_cached": Example("GET", "/cache/entries", {"model": "simulated/sim-small"}),
    "prune": Example("POST", "/cache/prune", body={"before": "2026-01-01T00:00:00Z"}),
    "list_removed": Example("GET", "/cache/removals"),
    "restore_cached": Example(
        "POST", "/cache/restore", body={"remove_after": "2026-01-08T00:00:00Z"}
    ),
    "list_all_benchmarks": Example("GET", "/benchmarks"),
    "show_benchmark": Example("GET", "/benchmarks/1"),
    "add_webhook": Example(
        "POST",
        "/webhooks",
        body={"url": "https://ci.example/evalsite", "events": ["run.ended", "run.gate_failed"]},
    ),
    "confirm_address": Example("POST", "/webhooks/1/confirm", body={"code": "12ab34cd"}),
    "list_all_webhooks": Example("GET", "/webhooks"),
    "list_all_deliveries": Example("GET", "/webhooks/1/deliveries"),
    "send_delivery_again": Example("POST", "/deliveries/1/again"),
    "remove_webhook": Example("DELETE", "/webhooks/1"),
    "list_actions": Example("GET", "/audit", {"action": "role.changed", "limit": 10}),
    "show_me": Example("GET", "/me"),
    "change_me": Example("PATCH", "/me", body={"time_zone": "Europe/Berlin"}),
    "erase_account": Example("DELETE", "/people/grace", {"dry_run": "true"}),
    "make_team": Example("POST", "/teams", body={"name": "research"}),
    "list_my_teams": Example("GET", "/teams"),
    "join_team": Example("PUT", "/teams/research/members/grace"),
    "leave_team": Example("DELETE", "/teams/research/members/grace"),
    "rename_a_team": Example("PATCH", "/teams/research", body={"name": "evaluation"}),
    "remove_a_team": Example("DELETE", "/teams/evaluation"),
    "invite_somebody": Example("POST", "/invitations", body={"role": "runner", "note": "Grace"}),
    "list_open_invitations": Example("GET", "/invitations"),
    "take_back": Example("DELETE", "/invitations/1"),
    "openapi": Example("GET", "/openapi.json"),
}


def as_curl(example: Example) -> str:
    method = "" if example.method == "GET" else f"-X {example.method} "
    lines = [f'curl -sS --fail-with-body {method}"$EVALSITE_URL{example.address}"']
    lines.append('-H "Authorization: Bearer $EVALSITE_TOKEN"')
    lines += [
        f"-H {shlex.quote(f'{name}: {value}')}" for name, value in example.all_headers.items()
    ]
    if isinstance(example.body, str):
        lines.append(f"--data-binary {shlex.quote(example.body)}")
    elif example.body is not None:
        lines.append(f"-d {shlex.quote(json.dumps(example.body))}")
    return " \\\n  ".join(lines)


def as_python(example: Example) -> str:
    headers = "".join(
        f"        {name!r}: {value!r},\n" for name, value in example.all_headers.items()
    )
    is_json = "Accept" not in example.headers
    read = "print(json.load(answer))" if is_json else "print(answer.read().decode())"
    return (
        "import json\nimport os\nimport urllib.request\n\n"
        f"{data_lines(example.body)}"
        "request = urllib.request.Request(\n"
        f"    os.environ['EVALSITE_URL'] + {example.address!r},\n"
        f"    method={example.method!r},\n"
        "    headers={\n"
        "        'Authorization': 'Bearer ' + os.environ['EVALSITE_TOKEN'],\n"
        f"{headers}"
        "    },\n"
        f"{'' if example.body is None else '    data=data,' + chr(10)}"
        ")\n"
        f"with urllib.request.urlopen(request) as answer:\n    {read}\n"
    )


def data_lines(body: Any) -> str:
    if body is None:
        return ""
    if isinstance(body, str):
        return f'data = b"""{body}"""\n'
    return f"body = {pformat(body, width=72, sort_dicts=False)}\ndata = json.dumps(body).encode()\n"
