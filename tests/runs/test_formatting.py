"""Numbers read the same on every page and in every live frame."""

import math
from ast import literal_eval

from runs import formatting

# What each function writes. Counts are exact below ten thousand; a duration has at most two units;
# the unit of milliseconds changes where a person would change it; a tile has room for eight
# characters; of dollars four digits count below one; a guess has two digits that count.
WRITTEN = """
count: 0 is 0; 999 is 999; 1234 is 1,234; 9_999 is 9,999; 10_000 is 10.0k; 12_345 is 12.3k
count: 999_949 is 999.9k; 999_950 is 1.0M; 4_520_000 is 4.5M; 2_000_000_000 is 2.0G; -12 is -12
exact_count: 1_234_567 is 1,234,567
percent: 0 is 0.0 %; 0.125 is 12.5 %; 1 is 100.0 %; 0.00049 is 0.0 %
duration: -1 is 0.0 s; 0.83 is 0.8 s; 9.94 is 9.9 s; 9.96 is 10 s; 59.4 is 59 s; 59.6 is 1m 00s
duration: 125 is 2m 05s; 3599.7 is 1h 00m; 3720 is 1h 02m; 273_600 is 3d 04h
milliseconds: 0.84 is 0.8 ms; 9.96 is 10 ms; 210.4 is 210 ms; 999.6 is 1.0 s; 1_234 is 1.2 s
milliseconds: 59_940 is 59.9 s; 125_000 is 2m 05s
rate: 0 is 0.0/s; 48.24 is 48.2/s; 1234 is 1,234/s; 12_300 is 12.3k/s; 0.999 is 1.0/s
rate: 0.99 is 59.4/min; 0.1033 is 6.2/min; 0.0166667 is 1.0/min; 0.0041667 is 15.0/h
short_dollars: 0 is $0.00; 0.00001 is <$0.0001; 0.00013084 is $0.00013; 0.012345 is $0.01235
short_dollars: 0.999996 is $1.00; 12.345 is $12.35; 999.99 is $999.99; 1234.5 is $1,234
short_dollars: 12_345 is $12.3k
dollars: 0 is $0.00; 0.0123 is $0.0123; 0.012345 is $0.01235; 0.00001234567 is $0.00001235
dollars: 0.5 is $0.50; 0.999999 is $1.00; 1.234 is $1.23; 12_345.678 is $12,345.68
score: 0.87349 is 0.873
digits: 0.0 is 0; 0.61249 is 0.612; -0.0021349 is −0.00213; 0.00001 is 0.00001; 12345.6 is 12,346
about: 7 is 7; 60 is 60; 345 is 340; 6158 is 6,200; 1_234_567 is 1,200,000
plain_number: 2.5 is 2.5; 10.0 is 10; 0.00005 is 0.00005; 0 is 0
"""
DASHED = [
    *(formatting.count, formatting.exact_count, formatting.percent, formatting.duration),
    *(formatting.milliseconds, formatting.rate, formatting.score, formatting.dollars),
    lambda number: formatting.score_interval(number, 0.5),
    lambda number: formatting.score_interval(0.5, number),
    lambda number: formatting.signed_interval(number, 0.5),
]


def test_a_number_is_written_as_people_read_it():
    wanted, found = {}, {}
    for line in WRITTEN.strip().splitlines():
        name, _, pairs = line.partition(": ")
        for pair in pairs.split("; "):
            number, _, text = pair.partition(" is ")
            wanted[name, number] = text
            found[name, number] = getattr(formatting, name)(literal_eval(number))
    assert found == wanted
    assert max(len(text) for (name, _), text in found.items() if name == "short_dollars") <= 8


def test_an_interval_has_two_decimals_and_what_is_not_a_number_is_a_dash():
    assert formatting.score_interval(0.8449, 0.9) == "0.84 – 0.90"
    assert formatting.signed_interval(-0.0512, 0.01) == "−0.05 to +0.01"
    missing = (None, math.nan, math.inf, -math.inf)
    assert {write(number) for write in DASHED for number in missing} == {"–"}
