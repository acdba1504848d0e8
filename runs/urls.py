"""Every address of the site but the admin's and the health checks'."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from runs.api.api import urls as api_urls
from runs.api.docs_page import api_docs
from runs.views import (
    accounts,
    audit,
    benchmarks,
    cache,
    configuration_docs,
    datasets,
    endpoint_use,
    endpoints,
    health,
    jump,
    limits,
    new_run,
    people_page,
    removing,
    run_control,
    run_exports,
    run_pages,
    runs,
    tokens,
    trials,
)


class FileName(StringConverter):
    """With a dot, which no other address has."""

    regex = r"[a-z_]+\.[a-z]+"


register_converter(FileName, "file")

urlpatterns = [
    path("api/v1/", api_urls()),
    path("api/docs", api_docs, name="api_docs"),
    path("docs/configuration/", configuration_docs.configuration_docs, name="configuration_docs"),
    path("", runs.home, name="home"),
    path("sign-in/", accounts.sign_in, name="sign_in"),
    path("sign-out/", accounts.sign_out, name="sign_out"),
    path("setup/<str:token>/", accounts.setup, name="setup"),
    path("theme/", accounts.theme, name="theme"),
    path("health/", health.health, name="health"),
    path("jump/", jump.jump, name="jump"),
    path("runs/", runs.runs, name="runs"),
    path("runs/news/", runs.runs_news, name="runs_news"),
    path("runs/new/", new_run.run_new, name="run_new"),
    path("runs/estimate/", new_run.run_estimate, name="run_estimate"),
    path("runs/demo/", runs.run_demo, name="run_demo"),
    path("runs/<int:run_id>/", run_pages.run, name="run"),
    path("runs/<int:run_id>/scores/", run_pages.run_scores, name="run_scores"),
    path("runs/<int:run_id>/errors/", run_pages.run_errors, name="run_errors"),
    path("runs/<int:run_id>/events/", run_pages.run_events, name="run_events"),
    path("runs/<int:run_id>/configuration/", run_pages.run_configuration, name="run_configuration"),
    path("runs/<int:run_id>/leaderboard/", run_pages.run_leaderboard, name="run_leaderboard"),
    path("runs/<int:run_id>/limits/", limits.run_retune, name="run_retune"),
    path("runs/<int:run_id>/raise/", limits.run_raise, name="run_raise"),
    path("runs/<int:run_id>/pause/", run_control.run_pause, name="run_pause"),
    path("runs/<int:run_id>/resume/", run_control.run_resume, name="run_resume"),
    path("runs/<int:run_id>/cancel/", run_control.run_cancel, name="run_cancel"),
    path("runs/<int:run_id>/share/", run_control.run_share, name="run_share"),
    path("runs/<int:run_id>/retry/", run_control.run_retry, name="run_retry"),
    path("runs/<int:run_id>/trials/<int:position>/", trials.trial, name="trial"),
    path("runs/<int:run_id>/trials/<int:position>/row/", trials.trial_row, name="trial_row"),
    path(
        "runs/<int:run_id>/trials/<int:position>/record/",
        trials.trial_record,
        name="trial_record",
    ),
    path(
        "runs/<int:run_id>/trials/<int:position>/again/",
        run_control.trial_rerun,
        name="trial_rerun",
    ),
    path("runs/<int:run_id>/scores.csv", run_exports.run_scores_csv, name="run_scores_csv"),
    path("runs/<int:run_id>/scores.jsonl", run_exports.run_scores_jsonl, name="run_scores_jsonl"),
    path("runs/<int:run_id>/<file:file_name>", run_exports.run_file, name="run_file"),
    path("datasets/", datasets.datasets, name="datasets"),
    path("datasets/import/", datasets.dataset_import, name="dataset_import"),
    path("datasets/<int:pk>/", datasets.dataset, name="dataset"),
    path("datasets/<int:pk>/expected/", datasets.dataset_expected, name="dataset_expected"),
    path("datasets/<int:pk>/remove/", removing.dataset_remove, name="dataset_remove"),
    path("datasets/<int:pk>/restore/", removing.dataset_restore, name="dataset_restore"),
    path("endpoints/", endpoints.endpoints, name="endpoints"),
    path("endpoints/new/", endpoints.endpoint_new, name="endpoint_new"),
    path("endpoints/use/", endpoint_use.endpoints_use, name="endpoints_use"),
    path("endpoints/<int:pk>/use/", endpoint_use.endpoint_use, name="endpoint_use"),
    path("endpoints/<int:pk>/pause/", endpoint_use.endpoint_pause, name="endpoint_pause"),
    path("endpoints/<int:pk>/resume/", endpoint_use.endpoint_resume, name="endpoint_resume"),
    path("endpoints/<int:pk>/breaker/", endpoint_use.endpoint_reset, name="endpoint_reset"),
    path("endpoints/<int:pk>/remove/", removing.endpoint_remove, name="endpoint_remove"),
    path("endpoints/<int:pk>/restore/", removing.endpoint_restore, name="endpoint_restore"),
    path("endpoints/<int:pk>/", endpoints.endpoint, name="endpoint"),
    path("endpoints/<int:pk>/test/", endpoints.endpoint_test, name="endpoint_test"),
    path("cache/", cache.cache, name="cache"),
    path("cache/prune/", cache.cache_prune, name="cache_prune"),
    path("cache/<str:key>/", cache.cache_entry, name="cache_entry"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
    path("people/", people_page.people, name="people"),
    path("people/<int:pk>/role/", people_page.person_role, name="person_role"),
    path("people/<int:pk>/active/", people_page.person_active, name="person_active"),
    path("audit/", audit.audit, name="audit"),
    path("audit/rows.csv", audit.audit_csv, name="audit_csv"),
    path("audit/rows.jsonl", audit.audit_jsonl, name="audit_jsonl"),
    path("benchmarks/", benchmarks.benchmarks, name="benchmarks"),
    path("benchmarks/<int:pk>/", benchmarks.benchmark, name="benchmark"),
    path("benchmarks/<int:pk>/data.json", benchmarks.benchmark_export, name="benchmark_export"),
]
