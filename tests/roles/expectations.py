"""Who may use which route: written here once more by hand, so that a slip in the code shows.

A new route fails the matrix until it has its line here."""

from enum import Enum
from typing import NamedTuple

from runs.roles import Role


class Anybody(Enum):
    """Those below the roles."""

    PUBLIC = "without an account"
    SIGNED_IN = "with any account"


class Thing(Enum):
    """What an address is about; its own or somebody else's."""

    COMMON = "everybody's"
    RUN = "a run or a part of it: a shared one may be seen"
    CONFIGURATION = "a stored configuration"
    CACHED = "an answer that a run paid for"
    DATASET = "a dataset or a prompt: a shared one may be seen"
    TOKEN = "a token or a webhook: nobody's but its owner's"


class Rule(NamedTuple):
    least: Role | Anybody
    thing: Thing = Thing.COMMON
    refusal: int = 403  # of somebody whose role does not do
    gone: bool = False  # there is nothing any more, for nobody
    changes: bool = False  # a page for those who may change the thing, also to look at
    looks: bool = False  # what is sent changes something else: a shared thing is enough


PUBLIC, SIGNED_IN = Rule(Anybody.PUBLIC), Rule(Anybody.SIGNED_IN)
VIEWER, RUNNER = Rule(Role.VIEWER), Rule(Role.RUNNER)
OPERATOR, ADMIN = Rule(Role.OPERATOR), Rule(Role.ADMIN)
SEE_RUN, CHANGE_RUN = Rule(Role.VIEWER, Thing.RUN), Rule(Role.RUNNER, Thing.RUN)
SEE_DATASET = Rule(Role.VIEWER, Thing.DATASET)
CHANGE_DATASET = Rule(Role.RUNNER, Thing.DATASET, changes=True)

PAGES: dict[str, Rule] = {
    "GET healthz": PUBLIC,
    "GET readyz": PUBLIC,
    "GET metrics": Rule(Role.OPERATOR, refusal=401),
    "GET sign_in": PUBLIC,
    "POST sign_in": PUBLIC,
    "GET setup": Rule(Anybody.PUBLIC, gone=True),
    "POST setup": Rule(Anybody.PUBLIC, gone=True),
    "GET password_link": Rule(Anybody.PUBLIC, gone=True),
    "POST password_link": Rule(Anybody.PUBLIC, gone=True),
    "GET password": SIGNED_IN,
    "POST password": SIGNED_IN,
    "POST sign_out": SIGNED_IN,
    "POST theme": SIGNED_IN,
    "GET home": VIEWER,
    "GET health": VIEWER,
    "GET jump": VIEWER,
    "GET system": OPERATOR,
    "POST maintenance": OPERATOR,
    "POST retention": ADMIN,
    "GET api_docs": VIEWER,
    "GET configuration_docs": VIEWER,
    "GET runs": VIEWER,
    "GET runs_news": VIEWER,
    "GET run_new": RUNNER,
    "POST run_new": RUNNER,
    "POST run_estimate": RUNNER,
    "POST run_demo": RUNNER,
    "GET runs_several": RUNNER,
    "POST runs_several": RUNNER,
    "POST run_views": VIEWER,
    "POST run_view_remove": Rule(Role.VIEWER, Thing.TOKEN),
    "POST run_star": Rule(Role.VIEWER, Thing.RUN, looks=True),
    "POST run_archive": CHANGE_RUN,
    "GET run_about": Rule(Role.RUNNER, Thing.RUN, changes=True),
    "POST run_about": CHANGE_RUN,
    "GET run": SEE_RUN,
    "GET run_scores": SEE_RUN,
    "GET run_errors": SEE_RUN,
    "GET run_events": SEE_RUN,
    "GET run_configuration": SEE_RUN,
    "GET run_leaderboard": SEE_RUN,
    "GET run_pictures": SEE_RUN,
    "GET run_heatmap": SEE_RUN,
    "GET run_cell": SEE_RUN,
    "GET run_scores_csv": SEE_RUN,
    "GET run_scores_jsonl": SEE_RUN,
    "GET run_scores_parquet": SEE_RUN,
    "GET run_file": SEE_RUN,
    "GET trial": SEE_RUN,
    "GET trial_row": SEE_RUN,
    "GET tries_row": SEE_RUN,
    "GET trial_record": SEE_RUN,
    "POST run_retune": CHANGE_RUN,
    "POST run_raise": CHANGE_RUN,
    "POST run_pause": CHANGE_RUN,
    "POST run_resume": CHANGE_RUN,
    "POST run_cancel": CHANGE_RUN,
    "POST run_share": CHANGE_RUN,
    "POST run_retry": CHANGE_RUN,
    "POST trial_rerun": CHANGE_RUN,
    "GET run_rerun": Rule(Role.RUNNER, Thing.RUN, changes=True),
    "POST run_rerun": CHANGE_RUN,
    "GET run_collect_trials": Rule(Role.RUNNER, Thing.RUN),
    "POST run_collect_trials": Rule(Role.RUNNER, Thing.RUN, looks=True),
    "POST trial_override": CHANGE_RUN,
    "POST trial_collect": CHANGE_RUN,
    "POST run_collect": Rule(Role.RUNNER, Thing.RUN, looks=True),
    "GET compare": SEE_RUN,
    "GET compare_trials": SEE_RUN,
    "POST compare_collect": Rule(Role.RUNNER, Thing.RUN, looks=True),
    "GET datasets": VIEWER,
    "GET dataset": SEE_DATASET,
    "POST dataset_columns": CHANGE_DATASET,
    "POST dataset_split": CHANGE_DATASET,
    "GET dataset_report": SEE_DATASET,
    "GET dataset_changes": SEE_DATASET,
    "GET dataset_csv": SEE_DATASET,
    "GET dataset_jsonl": SEE_DATASET,
    "POST dataset_share": CHANGE_DATASET,
    "GET prompts": VIEWER,
    "GET prompt": SEE_DATASET,
    "GET prompt_new": RUNNER,
    "POST prompt_new": RUNNER,
    "GET prompt_edit": CHANGE_DATASET,
    "POST prompt_edit": CHANGE_DATASET,
    "POST prompt_share": CHANGE_DATASET,
    "GET prompt_remove": CHANGE_DATASET,
    "POST prompt_remove": CHANGE_DATASET,
    "GET promptfoo_import": RUNNER,
    "POST promptfoo_import": RUNNER,
    "GET dataset_import": RUNNER,
    "POST dataset_import": RUNNER,
    "GET dataset_remove": CHANGE_DATASET,
    "POST dataset_remove": CHANGE_DATASET,
    "POST dataset_restore": CHANGE_DATASET,
    "GET dataset_erase": CHANGE_DATASET,
    "POST dataset_erase": CHANGE_DATASET,
    "GET endpoints": VIEWER,
    "GET endpoints_use": VIEWER,
    "GET endpoint": VIEWER,
    "GET endpoint_use": VIEWER,
    "POST endpoint": OPERATOR,
    "GET endpoint_new": OPERATOR,
    "POST endpoint_new": OPERATOR,
    "POST endpoint_pause": OPERATOR,
    "POST endpoint_resume": OPERATOR,
    "POST endpoint_reset": OPERATOR,
    "POST endpoint_test": OPERATOR,
    "GET endpoint_remove": OPERATOR,
    "POST endpoint_remove": OPERATOR,
    "POST endpoint_restore": OPERATOR,
    "GET cache": VIEWER,
    "GET cache_entry": Rule(Role.VIEWER, Thing.CACHED),
    "GET cache_prune": OPERATOR,
    "POST cache_prune": OPERATOR,
    "GET tokens": VIEWER,
    "POST tokens": VIEWER,
    "POST token_revoke": Rule(Role.VIEWER, Thing.TOKEN),
    "GET people": ADMIN,
    "POST person_add": ADMIN,
    "POST person_password": ADMIN,
    "POST person_role": ADMIN,
    "POST person_active": ADMIN,
    "GET person_quota": ADMIN,
    "POST person_quota": ADMIN,
    "GET role_quota": ADMIN,
    "POST role_quota": ADMIN,
    "GET person_erase": ADMIN,
    "POST person_erase": ADMIN,
    "GET audit": ADMIN,
    "GET audit_csv": ADMIN,
    "GET audit_jsonl": ADMIN,
    "GET benchmarks": VIEWER,
    "GET benchmark": VIEWER,
    "GET benchmark_export": VIEWER,
}

API: dict[str, Rule] = {
    "GET /openapi.json": VIEWER,
    "GET /runs": VIEWER,
    "POST /runs": RUNNER,
    "POST /runs/estimate": RUNNER,
    "GET /runs/{int:run_id}": SEE_RUN,
    "PATCH /runs/{int:run_id}": CHANGE_RUN,
    "DELETE /runs/{int:run_id}": CHANGE_RUN,
    "PUT /runs/{int:run_id}/star": Rule(Role.VIEWER, Thing.RUN, looks=True),
    "DELETE /runs/{int:run_id}/star": Rule(Role.VIEWER, Thing.RUN, looks=True),
    "GET /runs/{int:run_id}/live": SEE_RUN,
    "GET /runs/{int:run_id}/candidates": SEE_RUN,
    "GET /runs/{int:run_id}/combinations": SEE_RUN,
    "GET /runs/{int:run_id}/litellm": SEE_RUN,
    "GET /runs/{int:run_id}/board": SEE_RUN,
    "GET /runs/{int:run_id}/scores": SEE_RUN,
    "GET /runs/{int:run_id}/agreement": SEE_RUN,
    "GET /runs/{int:run_id}/report": SEE_RUN,
    "GET /runs/{int:run_id}/samples": SEE_RUN,
    "GET /runs/{int:run_id}/events": SEE_RUN,
    "GET /runs/{int:run_id}/events/stream": SEE_RUN,
    "GET /runs/{int:run_id}/scores/{int:position}/record": SEE_RUN,
    "GET /runs/{int:run_id}/trials/{int:position}": SEE_RUN,
    "POST /runs/{int:run_id}/pause": CHANGE_RUN,
    "POST /runs/{int:run_id}/resume": CHANGE_RUN,
    "POST /runs/{int:run_id}/cancel": CHANGE_RUN,
    "POST /runs/{int:run_id}/retry": CHANGE_RUN,
    "POST /runs/{int:run_id}/rerun": CHANGE_RUN,
    "POST /runs/{int:run_id}/trials/{int:position}/overrides": CHANGE_RUN,
    "POST /runs/{int:run_id}/trials/{int:position}/rerun": CHANGE_RUN,
    "PATCH /runs/{int:run_id}/limits": CHANGE_RUN,
    "GET /compare": SEE_RUN,
    "GET /prompts": VIEWER,
    "POST /prompts": RUNNER,
    "GET /prompts/{path:name}": SEE_DATASET,
    "PATCH /prompts/{path:name}": CHANGE_DATASET,
    "DELETE /prompts/{path:name}": CHANGE_DATASET,
    "GET /datasets": VIEWER,
    "POST /datasets": RUNNER,
    "GET /datasets/{path:name}": SEE_DATASET,
    "PATCH /datasets/{path:name}": CHANGE_DATASET,
    "DELETE /datasets/{path:name}": CHANGE_DATASET,
    "GET /dataset-reports/{path:name}": SEE_DATASET,
    "GET /dataset-changes/{path:name}": SEE_DATASET,
    "POST /dataset-splits/{path:name}": CHANGE_DATASET,
    "GET /endpoints": VIEWER,
    "POST /endpoints": OPERATOR,
    "GET /endpoints/{name}": VIEWER,
    "PATCH /endpoints/{name}": OPERATOR,
    "DELETE /endpoints/{name}": OPERATOR,
    "POST /endpoints/{name}/pause": OPERATOR,
    "POST /endpoints/{name}/resume": OPERATOR,
    "GET /configurations": VIEWER,
    "POST /configurations": RUNNER,
    "POST /promptfoo": RUNNER,
    "GET /configurations/{path:name}": Rule(Role.VIEWER, Thing.CONFIGURATION),
    "PUT /configurations/{path:name}": Rule(Role.RUNNER, Thing.CONFIGURATION),
    "GET /webhooks": VIEWER,
    "POST /webhooks": RUNNER,
    "DELETE /webhooks/{int:webhook_id}": Rule(Role.RUNNER, Thing.TOKEN),
    "GET /cache": VIEWER,
    "GET /cache/entries": VIEWER,
    "POST /cache/prune": OPERATOR,
    "GET /audit": ADMIN,
    "GET /me": VIEWER,
    "DELETE /people/{name}": ADMIN,
    "GET /benchmarks": VIEWER,
    "GET /benchmarks/{int:benchmark_id}": VIEWER,
}
RULES = PAGES | API
