"""Numbers read the same on every page and in every live frame."""

import math
from typing import Any

import pytest

from runs import formatting

# What each function writes; the reason where it is not plain.
WRITTEN: dict[Any, dict[Any, str]] = {
    # exact below ten thousand, short above
    formatting.count: {
        0: "0",
        999: "999",
        1234: "1,234",
        9_999: "9,999",
        10_000: "10.0k",
        12_345: "12.3k",
        999_949: "999.9k",
        999_950: "1.0M",
        4_520_000: "4.5M",
        2_000_000_000: "2.0G",
        -12: "-12",
    },
    formatting.exact_count: {1_234_567: "1,234,567"},
    formatting.percent: {0: "0.0 %", 0.125: "12.5 %", 1: "100.0 %", 0.00049: "0.0 %"},
    # at most two units
    formatting.duration: {
        -1: "0.0 s",
        0.83: "0.8 s",
        9.94: "9.9 s",
        9.96: "10 s",
        59.4: "59 s",
        59.6: "1m 00s",
        125: "2m 05s",
        3599.7: "1h 00m",
        3720: "1h 02m",
        273_600: "3d 04h",
    },
    # the unit changes where a person would change it
    formatting.milliseconds: {
        0.84: "0.8 ms",
        9.96: "10 ms",
        210.4: "210 ms",
        999.6: "1.0 s",
        1_234: "1.2 s",
        59_940: "59.9 s",
        125_000: "2m 05s",
    },
    formatting.rate: {
        0: "0.0/s",
        48.24: "48.2/s",
        1234: "1,234/s",
        12_300: "12.3k/s",
        0.999: "1.0/s",
        0.99: "59.4/min",
        0.1033: "6.2/min",
        1 / 60: "1.0/min",
        1 / 240: "15.0/h",
    },
    # a tile has room for eight characters
    formatting.short_dollars: {
        0: "$0.00",
        0.00001: "<$0.0001",
        0.00013084: "$0.00013",
        0.012345: "$0.01235",
        0.999996: "$1.00",
        12.345: "$12.35",
        999.99: "$999.99",
        1234.5: "$1,234",
        12_345: "$12.3k",
    },
    # cents from one dollar up, four digits below
    formatting.dollars: {
        0: "$0.00",
        0.0123: "$0.0123",
        0.012345: "$0.01235",
        0.00001234567: "$0.00001235",
        0.5: "$0.50",
        0.999999: "$1.00",
        1.234: "$1.23",
        12_345.678: "$12,345.68",
    },
    formatting.score: {0.87349: "0.873"},
    # three digits that count, of a number of any size
    formatting.digits: {
        0.0: "0",
        0.61249: "0.612",
        -0.0021349: "−0.00213",
        0.00001: "0.00001",
        12345.6: "12,346",
    },
    # a guess has two digits that count
    formatting.about: {7: "7", 60: "60", 345: "340", 6158: "6,200", 1_234_567: "1,200,000"},
    # as typed
    formatting.plain_number: {2.5: "2.5", 10.0: "10", 0.00005: "0.00005", 0: "0"},
}
DASHED = [
    formatting.count,
    formatting.exact_count,
    formatting.percent,
    formatting.duration,
    formatting.milliseconds,
    formatting.rate,
    formatting.score,
    formatting.dollars,
    lambda number: formatting.score_interval(number, 0.5),
    lambda number: formatting.score_interval(0.5, number),
    lambda number: formatting.signed_interval(number, 0.5),
]


@pytest.mark.parametrize("write", WRITTEN, ids=lambda write: write.__name__)
def test_a_number_is_written_as_people_read_it(write):
    wanted = WRITTEN[write]
    assert {number: write(number) for number in wanted} == wanted


def test_an_interval_has_two_decimals_and_a_tile_eight_characters():
    assert formatting.score_interval(0.8449, 0.9) == "0.84 – 0.90"
    assert formatting.signed_interval(-0.0512, 0.01) == "−0.05 to +0.01"
    assert max(map(len, WRITTEN[formatting.short_dollars].values())) <= 8


def test_what_is_not_a_number_is_a_dash():
    missing = (None, math.nan, math.inf, -math.inf)
    assert {write(number) for write in DASHED for number in missing} == {"–"}
