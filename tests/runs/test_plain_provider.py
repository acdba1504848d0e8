"""A provider that only answers: what it does not tell is unknown on every page, never 0."""

from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.models import Candidate, Endpoint, Run
from runs.roles import Role
from tests.api.asking import Asker
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person, make_run
from tests.toy_things import Parrot
from workers.engine.calling.cache import MemoryCache
from workers.engine.calling.prices import Price
from workers.engine.here import run_here
from workers.engine.kinds import read_configuration
from workers.engine.providers import PROVIDERS, model_list_of
from workers.engine.records import Case

CASES = [Case(place, {"question": f"{place} + 1", "expected": "1 + 1"}) for place in range(3)]


@dataclass
class Parroted:
    person: User
    endpoint: Endpoint


@pytest.fixture
def parroted(db: None, monkeypatch: pytest.MonkeyPatch) -> Parroted:
    monkeypatch.setitem(PROVIDERS, "parrot", Parrot)
    person = make_person("otto", role=Role.OPERATOR)
    endpoint = Endpoint.objects.create(
        name="parrot", kind="parrot", base_url="https://parrot.example", model_names=["polly"]
    )
    return Parroted(person, endpoint)


async def test_a_run_with_it_has_scores_and_no_price() -> None:
    document = {
        "kind": "evaluate",
        "dataset": "sums",
        "prompts": [{"name": "plain", "user": "{{question}}"}],
        "models": ["parrot/polly"],
        "scorers": ["exact"],
    }
    configuration, cache = read_configuration(document), MemoryCache()
    prices = {("parrot", "polly"): Price(1.0, 2.0)}  # for tokens, which nobody counted
    for is_cached in (False, True):
        scores = await run_here(
            configuration, CASES, {"parrot": Parrot()}, cache=cache, prices=prices
        )
        assert [score.value for score in scores] == [0.0, 1.0, 0.0]
        assert {(score.tokens_in, score.tokens_out) for score in scores} == {(None, None)}
        assert {score.full_cost for score in scores} == {None}
        assert {score.cached for score in scores} == {is_cached}
    assert sum(score.unpriced for score in scores) == 0  # nothing was bought the second time


def test_finding_its_models_says_that_it_cannot(parroted: Parroted) -> None:
    assert model_list_of("parrot") is None
    page = client_of(parroted.person).post(reverse("endpoint_test", args=[parroted.endpoint.pk]))
    text = page.content.decode()
    assert "It cannot be asked" in text
    assert "Enter the names of its models yourself." in text
    assert "It does not work" not in text


def test_tokens_that_nobody_counted_are_unknown_on_the_leaderboard(db: None) -> None:
    ada = make_person("ada")
    make_endpoint()
    run: Run = make_run(ada, make_dataset(ada))
    candidate = run.candidates.get()
    Candidate.objects.filter(pk=candidate.pk).update(
        done=3, scored=3, value_sum=3, value_square_sum=3
    )
    (row,) = Asker(ada).get(f"/runs/{run.pk}/candidates").json()["data"]
    assert (row["tokens_in"], row["tokens_out"]) == (None, None)
    page = client_of(ada).get(run.get_absolute_url()).content.decode()
    assert "0 / 0" not in page
