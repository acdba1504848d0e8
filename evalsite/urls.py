"""Addresses: the admin, answers for machines, and everything of runs."""

from django.contrib import admin
from django.urls import include, path

from evalsite.health import healthz, readyz
from runs.api.metrics import metrics

admin.autodiscover()

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("", include("runs.urls")),
]
