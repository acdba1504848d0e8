"""The site, and a page whose author forgot to say who may open it."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def forgotten(request: HttpRequest) -> HttpResponse:
    return HttpResponse("everybody sees this")


urlpatterns = [path("forgotten/", forgotten), path("", include("evalsite.urls"))]
