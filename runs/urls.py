"""Every address of the site but the admin's and the health checks'."""

from django.urls import path

from runs.views import accounts, datasets, endpoints, live, new_run, run_pages, runs, trials

urlpatterns = [
    path("", runs.home, name="home"),
    path("sign-in/", accounts.sign_in, name="sign_in"),
    path("sign-out/", accounts.sign_out, name="sign_out"),
    path("setup/<str:token>/", accounts.setup, name="setup"),
    path("theme/", accounts.theme, name="theme"),
    path("runs/", runs.runs, name="runs"),
    path("runs/new/", new_run.run_new, name="run_new"),
    path("runs/estimate/", new_run.run_estimate, name="run_estimate"),
    path("runs/demo/", runs.run_demo, name="run_demo"),
    path("runs/<int:run_id>/", run_pages.run, name="run"),
    path("runs/<int:run_id>/scores/", run_pages.run_scores, name="run_scores"),
    path("runs/<int:run_id>/errors/", run_pages.run_errors, name="run_errors"),
    path("runs/<int:run_id>/events/", run_pages.run_events, name="run_events"),
    path("runs/<int:run_id>/configuration/", run_pages.run_configuration, name="run_configuration"),
    path("runs/<int:run_id>/leaderboard/", run_pages.run_leaderboard, name="run_leaderboard"),
    path("runs/<int:run_id>/cancel/", runs.run_cancel, name="run_cancel"),
    path("runs/<int:run_id>/trials/<int:position>/", trials.trial, name="trial"),
    path("api/v1/runs/<int:run_id>/live", live.run_live, name="run_live"),
    path("datasets/", datasets.datasets, name="datasets"),
    path("datasets/import/", datasets.dataset_import, name="dataset_import"),
    path("datasets/<int:pk>/", datasets.dataset, name="dataset"),
    path("endpoints/", endpoints.endpoints, name="endpoints"),
    path("endpoints/new/", endpoints.endpoint_new, name="endpoint_new"),
    path("endpoints/<int:pk>/", endpoints.endpoint, name="endpoint"),
    path("endpoints/<int:pk>/test/", endpoints.endpoint_test, name="endpoint_test"),
]
