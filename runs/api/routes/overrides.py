"""What people say of trials, beside what the scorers said."""

from typing import Annotated

from django.http import Http404, HttpRequest, HttpResponse
from pydantic import Field

from runs.access import get_run_for
from runs.api.doors import caller, needs
from runs.api.pages import answer
from runs.api.problems import of_problems
from runs.api.router import Routes
from runs.api.routes.control import Position
from runs.api.routes.runs import RunId
from runs.models import Scope, Verdict
from runs.models.score import LONGEST_COMMENT
from runs.selectors.scores.overrides import OverrideRow, override_row
from runs.selectors.scores.trials import get_trial
from runs.services.overriding import override_score
from workers.engine.errors import ConfigurationError
from workers.engine.spec.configuration import Strict

routes = Routes(tags=["Results"])


class OverrideBody(Strict):
    """`right` is 1 and `wrong` is 0 unless `value` says otherwise; `value` needs one. `original`
    takes back what was said before. `flag` marks the trial, for `status=flagged`; `unflag` removes
    that."""

    verdict: Verdict = Verdict.COMMENT
    value: Annotated[float | None, Field(ge=0, le=1)] = None
    comment: Annotated[str, Field(max_length=LONGEST_COMMENT)] = ""


@routes.post(
    "/runs/{int:run_id}/trials/{int:position}/overrides",
    auth=needs(Scope.RUN),
    response={201: OverrideRow},
    summary="Say something of a trial",
)
def override(
    request: HttpRequest, run_id: RunId, position: Position, body: OverrideBody
) -> HttpResponse:
    """Another value, a verdict or a comment, kept beside the score, which never changes. The
    leaderboard shows the score with and without them; `GET` of the trial lists them."""
    score = get_trial(get_run_for(caller(request), run_id, write=True), position)
    if score is None:
        raise Http404(position)
    try:
        given = override_score(score, caller(request), body.verdict, body.value, body.comment)
    except ConfigurationError as error:
        raise of_problems(error.problems) from None
    return answer(override_row(given).model_dump(), 201)
