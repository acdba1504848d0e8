"""The rows of the limits suite, in the order in which they are measured."""

from runs.benchmarking.limits.cluster import PROCESSES, equal, shared
from runs.benchmarking.limits.critics import critics
from runs.benchmarking.limits.faults import errors, hangs
from runs.benchmarking.limits.memory import million
from runs.benchmarking.limits.quotas import rpm600, rpm3500, rpm_unknown, tpm
from runs.benchmarking.limits.rounds import rounds
from runs.benchmarking.limits.row import Row
from runs.benchmarking.limits.speed import in_flight, many, schedules

ROWS: dict[str, Row] = {
    # First: memory that other rows have used and freed would hide how much this one takes.
    "million": Row("one million planned trials", million),
    "in_flight": Row("200 ms answers, 20 to 200 in flight", in_flight),
    "critics": Row("200 ms answers, each judged by a model", critics),
    "many": Row("a thousand in flight, then from the cache", many),
    "schedules": Row("work-conserving against two-level", schedules),
    "rounds": Row("rounds of one trial", rounds),
    "errors": Row("5 % random errors", errors),
    "hangs": Row("hangs, dripping answers, resets", hangs),
    "rpm_unknown": Row("a limit on requests that only 429s tell", rpm_unknown),
    "rpm600": Row("600 requests a minute", rpm600),
    "rpm3500": Row("3,500 requests a minute", rpm3500),
    "tpm": Row("tokens a minute", tpm),
    "shared": Row("several runs and processes on one endpoint", shared, PROCESSES),
    "equal": Row("equal trials at once over several processes", equal, PROCESSES),
}
