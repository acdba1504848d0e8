"""A table of rows fails where one of its rows fails, and says which and why."""

import pytest

from tests.harness.table import row, table


def test_every_row_that_fails_is_told():
    seen = []

    @table((1, 1), row(2, 3, id="two is three"), (4, 5))
    def compare(given, one, other):
        seen.append((one, dict(given)))
        given["touched"] = True
        assert one == other

    with pytest.raises(BaseExceptionGroup, match="2 rows") as caught:
        compare(given={})
    assert seen == [(1, {}), (2, {}), (4, {})]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["The row: two is three"],
        ["The row: (4, 5)"],
    ]


@pytest.mark.parametrize("error", [AssertionError, KeyError, pytest.fail.Exception])
async def test_whatever_a_row_raises_fails_the_test(error):
    @table(1, 2)
    async def check(number):
        if number == 2:
            raise error("no")

    with pytest.raises(error):
        await check()
