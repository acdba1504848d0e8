"""Addresses: the admin, two health answers, and everything of runs."""

from django.contrib import admin
from django.urls import include, path

from evalsite.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("admin/", admin.site.urls),
    path("", include("runs.urls")),
]
