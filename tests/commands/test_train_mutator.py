"""`manage.py train_mutator`: its options become a configuration, and it trains without a file."""

from argparse import Namespace
from typing import Any

import pytest

from runs.management.commands.train_mutator import Command
from runs.models import Dataset, Endpoint
from workers.engine.kinds import read_configuration
from workers.engine.kinds.mutate import Mutation

pytestmark = pytest.mark.django_db
SEED = (
    "--num-processes 16 --num-steps 32 --ppo-epoch 4 --num-mini-batch 4 --num-env-steps 5000 "
    "--use-batching"
)


def read(text):
    command = Command()
    given: Namespace = command.create_parser("manage.py", "train_mutator").parse_args(text.split())
    options: dict[str, Any] = vars(given)
    found = read_configuration(command.read_subject(options))
    assert isinstance(found, Mutation)
    return found


def test_the_usual_options_train_on_the_simulated_provider():
    found = read(SEED)
    assert found.options.count_updates == 5000 // 32 // 16
    assert found.use_batching
    assert found.limits.max_concurrent is None
    assert Endpoint.objects.filter(name=found.roles.target.endpoint).exists()
    assert found.dataset.name in set(Dataset.objects.values_list("name", flat=True))


def test_without_batching_one_call_is_made_at_a_time():
    found = read("--no-batching --updates 2 --batch-size 8")
    assert not found.use_batching
    assert found.limits.max_concurrent == 1
    assert read("--batch-size 8").limits.max_concurrent == 8


def test_models_operators_and_numbers_are_taken_over():
    found = read("--judge local/big --embedder local/e --operators noop,shorten --lr 0.01 --seed 4")
    assert [scorer.name for scorer in found.scorers] == ["factuality"]
    assert [one.name for one in found.operators] == ["noop", "shorten"]
    assert (found.strategy.options["lr"], found.seed) == (0.01, 4)
    assert found.roles.embedder is not None

    consistent = read("--goal consistent")  # two answers are compared as texts
    assert [scorer.name for scorer in consistent.scorers] == ["token_f1"]
    assert not consistent.plugin_problems()
