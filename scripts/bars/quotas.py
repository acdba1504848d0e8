"""Rows on a provider's quotas: all of it used, and hardly a call refused."""

from functools import partial
from math import ceil

from runs.benchmarking.workload import SYSTEM
from scripts.bars import judging
from scripts.bars.judging import Outcome, at_most
from scripts.bars.stage import Stage
from workers.simulator.answers.tokens import count_message_tokens, count_tokens

LATENCY_MS, JITTER = 200.0, 0.3
SLOTS = 100
OVER_A_WINDOW = 1.1  # of a minute's quota: the provider has to refuse what comes too fast
REFUSED_SHARE = 0.01
REQUESTS_USED, TOKENS_USED = 0.95, 0.9

TOKENS_PER_MINUTE = 60_000

UNKNOWN_PER_MINUTE, UNKNOWN_WINDOW_SECONDS = 2400, 15.0
UNKNOWN_WINDOWS = 3.5  # quotas of a window: it says 429 at the end of each
AMPLIFICATION = 1.15


def known_requests(per_minute: int, stage: Stage) -> Outcome:
    """A limit that we know, and that the provider counts in a sliding minute."""
    trials = ceil(per_minute * OVER_A_WINDOW)
    stage.provider(latency_ms=LATENCY_MS, jitter=JITTER, rpm=per_minute)
    model = stage.endpoint(max_concurrent=SLOTS, requests_per_minute=per_minute, adaptive=True)
    document = stage.work(model, stage.dataset(trials), SLOTS)
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=60 * OVER_A_WINDOW)
    bars = [
        judging.lost(trials, found),
        judging.refused_share(REFUSED_SHARE, found),
        judging.used_share("requests", REQUESTS_USED, per_minute, stage.ledger_rows()),
    ]
    return Outcome(bars, f"{trials:,} trials, {LATENCY_MS:.0f} ms, adaptive, {SLOTS} slots")


rpm600 = partial(known_requests, 600)
rpm3500 = partial(known_requests, 3500)


def rpm_unknown(stage: Stage) -> Outcome:
    """A limit that nobody tells: no setting of ours, no header of the provider's, only 429s."""
    per_window = UNKNOWN_PER_MINUTE * UNKNOWN_WINDOW_SECONDS / 60
    trials = ceil(per_window * UNKNOWN_WINDOWS)
    stage.provider(
        latency_ms=LATENCY_MS,
        jitter=JITTER,
        rpm=UNKNOWN_PER_MINUTE,
        window_seconds=UNKNOWN_WINDOW_SECONDS,
        limit_headers="hidden",
    )
    document = stage.work(stage.endpoint(adaptive=True), stage.dataset(trials), SLOTS)
    expected = UNKNOWN_WINDOWS * UNKNOWN_WINDOW_SECONDS
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=expected)
    bars = [
        judging.lost(trials, found),
        at_most("calls sent / trials", AMPLIFICATION, found.traffic.calls / trials),
    ]
    limit = f"{per_window:.0f} requests in any {UNKNOWN_WINDOW_SECONDS:.0f} s"
    return Outcome(bars, f"{trials:,} trials, at most {limit}, told by Retry-After only")


def tpm(stage: Stage) -> Outcome:
    """Tokens a minute, known to us and counted by the provider."""
    trials = ceil(TOKENS_PER_MINUTE * OVER_A_WINDOW / tokens_of_a_call(stage))
    stage.provider(latency_ms=LATENCY_MS, jitter=JITTER, tpm=TOKENS_PER_MINUTE)
    model = stage.endpoint(max_concurrent=SLOTS, tokens_per_minute=TOKENS_PER_MINUTE, adaptive=True)
    document = stage.work(model, stage.dataset(trials), SLOTS)
    found = stage.measure(document, latency_ms=LATENCY_MS, expected_seconds=60 * OVER_A_WINDOW)
    bars = [
        judging.lost(trials, found),
        judging.refused_share(REFUSED_SHARE, found),
        judging.used_share("tokens", TOKENS_USED, TOKENS_PER_MINUTE, stage.ledger_rows()),
    ]
    return Outcome(bars, f"{trials:,} trials, {LATENCY_MS:.0f} ms, adaptive, {SLOTS} slots")


def tokens_of_a_call(stage: Stage) -> int:
    (row,) = stage.questions(1)
    return count_message_tokens([SYSTEM, row["question"]]) + count_tokens(row["expected"])
