"""Numbers read the same on every page and in every live frame."""

import math

import pytest

from runs import formatting


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1234, "1,234"),
        (9_999, "9,999"),
        (10_000, "10.0k"),
        (12_345, "12.3k"),
        (999_949, "999.9k"),
        (999_950, "1.0M"),
        (4_520_000, "4.5M"),
        (2_000_000_000, "2.0G"),
        (-12, "-12"),
    ],
)
def test_counts_are_exact_below_ten_thousand_and_short_above(number, text):
    assert formatting.count(number) == text


def test_exact_counts_keep_every_digit():
    assert formatting.exact_count(1_234_567) == "1,234,567"


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0.0 %"), (0.125, "12.5 %"), (1, "100.0 %"), (0.00049, "0.0 %")]
)
def test_percent_has_one_decimal(share, text):
    assert formatting.percent(share) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (0.83, "0.8 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1m 00s"),
        (125, "2m 05s"),
        (3599.7, "1h 00m"),
        (3720, "1h 02m"),
        (273_600, "3d 04h"),
    ],
)
def test_durations_have_at_most_two_units(seconds, text):
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.84, "0.8 ms"),
        (9.96, "10 ms"),
        (210.4, "210 ms"),
        (999.6, "1.0 s"),
        (1_234, "1.2 s"),
        (59_940, "59.9 s"),
        (125_000, "2m 05s"),
    ],
)
def test_latencies_change_unit_where_a_person_would(number, text):
    assert formatting.milliseconds(number) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (0, "0.0/s"),
        (48.24, "48.2/s"),
        (1234, "1,234/s"),
        (12_300, "12.3k/s"),
        (0.999, "1.0/s"),
        (0.99, "59.4/min"),
        (0.1033, "6.2/min"),
        (1 / 60, "1.0/min"),
        (1 / 240, "15.0/h"),
    ],
)
def test_rates(per_second, text):
    assert formatting.rate(per_second) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (0.00001, "<$0.0001"),
        (0.00013084, "$0.00013"),
        (0.012345, "$0.01235"),
        (0.999996, "$1.00"),
        (12.345, "$12.35"),
        (999.99, "$999.99"),
        (1234.5, "$1,234"),
        (12_345, "$12.3k"),
    ],
)
def test_dollars_on_a_tile_have_room_there(amount, text):
    assert formatting.short_dollars(amount) == text
    assert len(text) <= 8


def test_a_score_has_three_decimals_and_its_interval_two():
    assert formatting.score(0.87349) == "0.873"
    assert formatting.score_interval(0.8449, 0.9) == "0.84 – 0.90"
    assert formatting.signed_interval(-0.0512, 0.01) == "−0.05 to +0.01"


def test_a_number_of_any_size_has_three_digits_that_count():
    told = {
        0.0: "0",
        0.61249: "0.612",
        -0.0021349: "−0.00213",
        0.00001: "0.00001",
        12345.6: "12,346",
    }
    assert {number: formatting.digits(number) for number in told} == told


def test_a_guess_has_two_digits_that_count():
    told = {7: "7", 60: "60", 345: "340", 6158: "6,200", 1_234_567: "1,200,000"}
    assert {number: formatting.about(number) for number in told} == told


@pytest.mark.parametrize("missing", [None, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "write",
    [
        formatting.count,
        formatting.exact_count,
        formatting.percent,
        formatting.duration,
        formatting.milliseconds,
        formatting.rate,
        formatting.score,
        lambda number: formatting.score_interval(number, 0.5),
        lambda number: formatting.score_interval(0.5, number),
        lambda number: formatting.signed_interval(number, 0.5),
    ],
)
def test_what_is_not_a_number_is_a_dash(write, missing):
    assert write(missing) == "–"


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (0.0123, "$0.0123"),
        (0.012345, "$0.01235"),
        (0.00001234567, "$0.00001235"),
        (0.5, "$0.50"),
        (0.999999, "$1.00"),
        (1.234, "$1.23"),
        (12_345.678, "$12,345.68"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_dollars_have_cents_from_one_up_and_four_digits_below(amount, text):
    assert formatting.dollars(amount) == text


@pytest.mark.parametrize(
    ("number", "text"), [(2.5, "2.5"), (10.0, "10"), (0.00005, "0.00005"), (0, "0")]
)
def test_plain_numbers_are_as_typed(number, text):
    assert formatting.plain_number(number) == text
