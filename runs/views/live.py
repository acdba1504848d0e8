"""The live numbers for clients without a socket: a snapshot with an ETag."""

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from django.views.decorators.http import require_safe

from runs.access import get_run_for
from runs.selectors.snapshot import take_snapshot


@require_safe
def run_live(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id)
    etag = f'"{run.pk}-{run.version}-{run.state}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponseNotModified(headers={"ETag": etag})
    return JsonResponse(take_snapshot(run), headers={"ETag": etag})
