"""Parallel maps keep order, keep None, and lose nothing when one item fails."""

import threading
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from workers.engine.parallel import (
    CandidateResponse,
    ParallelError,
    generate_candidates,
    generate_candidates_parallel,
    map_parallel,
    run_parallel,
    score_batch_parallel,
)


class Crowd:
    """Counts how many calls are inside at once; lets them go when `wanted` have come."""

    def __init__(self, wanted):
        self.together = threading.Barrier(wanted)
        self.lock = threading.Lock()
        self.inside = self.peak = 0

    def visit(self, item):
        with self.lock:
            self.inside += 1
            self.peak = max(self.peak, self.inside)
        self.together.wait(timeout=PATIENCE_SECONDS)
        with self.lock:
            self.inside -= 1
        return item


@dataclass
class Model:
    """A model that answers with what it was asked, and remembers the calls."""

    calls: list[Any] = field(default_factory=list)

    def complete(self, prompt, *, max_tokens, temperature, **options):
        self.calls.append((prompt, max_tokens, temperature, options))
        if "broken" in prompt:
            raise ConnectionError("gone")
        return f"<{prompt}>"


@table(*product([[], [1], list(range(20))], [None, 0, 1, 2, 50]))
def test_results_come_in_the_order_of_the_items(items, workers):
    assert map_parallel(lambda item: item * 2, items, workers) == [item * 2 for item in items]


def test_results_keep_their_place_when_the_last_item_finishes_first():
    last_is_done = threading.Event()

    def work(item):
        if item == 2:
            last_is_done.set()
        else:
            assert last_is_done.wait(timeout=PATIENCE_SECONDS)
        return item

    assert map_parallel(work, [0, 1, 2], max_workers=3) == [0, 1, 2]


def test_none_is_a_result_like_any_other_and_items_are_spread_over_the_arguments():
    assert map_parallel(lambda item: None, [1, 2, 3]) == [None, None, None]
    assert run_parallel(lambda a, b: a if a == b else None, [(1, 1), (1, 2)]) == [1, None]
    assert run_parallel(lambda a, b=0: a - b, [(5, 3), [4, 1], (7,)]) == [2, 3, 7]
    items = [("p", "q", "r" * length) for length in range(6)]
    assert score_batch_parallel(lambda p, q, r: len(p + q + r), items) == [2, 3, 4, 5, 6, 7]


@table(
    row(8, None, 4, id="at most four by default"),
    row(8, 0, 4, id="zero means the default"),
    row(3, None, 3, id="no more than there are items"),
    row(12, 6, 6, id="as many as asked for"),
    row(4, 1, 1, id="one after the other"),
)
def test_so_many_run_at_once(items, workers, at_once):
    crowd = Crowd(wanted=at_once)
    assert map_parallel(crowd.visit, range(items), workers) == list(range(items))
    assert crowd.peak == at_once


def divide(item):
    return 10 // item


def test_one_failure_does_not_lose_the_others():
    with pytest.raises(ParallelError) as error:
        map_parallel(divide, [1, 0, 5, 0, 10], max_workers=2)
    results = error.value.results
    assert [results[0], results[2], results[4]] == [10, 2, 1]
    assert [failure.position for failure in error.value.failures] == [1, 3]
    assert all(isinstance(failure.error, ZeroDivisionError) for failure in error.value.failures)
    assert results[1] is error.value.failures[0].error
    assert "2 of 5 items failed; the first was item 1 with ZeroDivisionError" in str(error.value)
    # Failures can be returned in their places.
    first, gap, last = map_parallel(divide, [1, 0, 5], on_error="return")
    assert (first, last) == (10, 2)
    assert isinstance(gap, ZeroDivisionError)
    # Every item is tried, also after a failure.
    tried = []

    def work(item):
        tried.append(item)
        raise ValueError(item)

    with pytest.raises(ParallelError) as error:
        map_parallel(work, range(10), max_workers=1)
    assert tried == list(range(10))
    assert len(error.value.failures) == 10


@table(generate_candidates, generate_candidates_parallel)
def test_one_response_per_system_prompt_in_their_order(generate):
    model, prompts = Model(), [f"Prompt {number}" for number in range(9)]
    responses = generate(model, prompts, "Why?", temperature=0.1, top_p=0.5)
    answers = [f"<{prompt}\n\nUser: Why?>" for prompt in prompts]
    assert responses == [
        CandidateResponse(text=answer, system_prompt=prompt, prompt_index=place, raw=answer)
        for place, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
    ]
    assert {call[1:3] for call in model.calls} == {(512, 0.1)}
    assert all(call[3] == {"top_p": 0.5} for call in model.calls)


class CrowdedModel(Crowd):
    def complete(self, prompt, **options):
        return self.visit(prompt)


def test_generation_is_parallel_only_where_asked():
    together, alone = CrowdedModel(wanted=3), CrowdedModel(wanted=1)
    generate_candidates_parallel(together, ["a", "b", "c"], "?", max_workers=3)
    generate_candidates(alone, ["a", "b", "c"], "?")
    assert (together.peak, alone.peak) == (3, 1)
    # An answer may be an object with a text.
    answer = SimpleNamespace(text="42")
    model = SimpleNamespace(complete=lambda prompt, **options: answer)
    (response,) = generate_candidates(model, ["a"], "?")
    assert (response.text, response.raw) == ("42", answer)


@table(generate_candidates, generate_candidates_parallel)
def test_a_call_that_fails_leaves_the_other_responses(generate):
    with pytest.raises(ParallelError) as error:
        generate(Model(), ["a", "broken", "c"], "?")
    assert [failure.position for failure in error.value.failures] == [1]
    assert [error.value.results[place].system_prompt for place in (0, 2)] == ["a", "c"]


@table(({"on_error": "ignore"}, "Choose one of: raise, return"), ({"max_workers": -1}, "1 or more"))
def test_a_wrong_option_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        map_parallel(divide, [1], **options)
