"""Who sits where: by largest remainder, and the same for an episode whatever was played before."""

from collections import Counter

import pytest

from workers.engine.playing.assigning import assign, count_agents


@pytest.mark.parametrize(
    ("agents", "shares", "counts"),
    [
        pytest.param(10, [1, 1], [5, 5], id="even"),
        pytest.param(0, [1, 2], [0, 0], id="nobody plays"),
        pytest.param(3, [1, 1], [2, 1], id="of equal remainders the earlier"),
        pytest.param(4, [1, 3], [1, 3], id="exact"),
        pytest.param(10, [1, 1, 1], [4, 3, 3], id="one left over"),
        pytest.param(7, [0.5, 0.25, 0.25], [3, 2, 2], id="largest remainders"),
        pytest.param(1, [1, 9], [0, 1], id="who has little may have nobody"),
    ],
)
def test_agents_are_counted_by_largest_remainder(
    agents: int, shares: list[float], counts: list[int]
) -> None:
    assert count_agents(agents, shares) == counts


@pytest.mark.parametrize("shares", [[0, 0], [1, -1]])
def test_shares_that_are_none_are_refused(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="numbers above 0"):
        count_agents(4, shares)


def test_an_episode_has_the_same_seats_in_any_order() -> None:
    forth = [assign(8, [1, 1], seed) for seed in range(10)]
    back = [assign(8, [1, 1], seed) for seed in reversed(range(10))]
    assert forth == back[::-1]
    assert len(set(forth)) > 1
    assert all(Counter(seats) == {0: 4, 1: 4} for seats in forth)
