"""The fault matrix: every row with what it promises, where it is played, and which are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.faults import (
    rows_answers,
    rows_clients,
    rows_conditions,
    rows_copies,
    rows_database,
    rows_live,
    rows_provider,
    rows_redis,
    rows_rest,
    rows_workers,
)
from tests.faults.cluster import Shape
from tests.faults.stage import Stage

SHORT_LEASE_SECONDS = 6  # of the short tier, which has no time to wait for the usual ones

SHAPES: dict[str, Shape] = {
    "sqlite": Shape(),
    "postgres": Shape(database="postgres"),
    "web": Shape(web=True),
    "small disk": Shape(storage_mb=96),
    "lossy": Shape(web=True, settings="tests.faults.lossy_settings"),
}


class Row(NamedTuple):
    """The number in the matrix; a letter marks a variant of it."""

    name: str
    fault: str
    bar: str
    play: Callable[[Stage], None]
    shape: str = "sqlite"
    is_short: bool = False  # part of the short tier


ROWS: tuple[Row, ...] = (
    Row(
        "1",
        "kill -9 of one of two workers at 30 %",
        "resumed within 40 s; wasted calls at most the slots",
        rows_workers.kill_one_worker,
        is_short=True,
    ),
    Row(
        "2",
        "kill -9 of all workers, started again after 20 s",
        "first call within 45 s of the start",
        rows_workers.kill_all_workers,
    ),
    Row(
        "3",
        "crashes after a lease, after an answer, after a write (100 each)",
        "0 missing, 0 doubled",
        rows_workers.crash_at_failpoints,
        is_short=True,
    ),
    Row(
        "4",
        "a worker frozen for 60 s, then going on",
        "late results discarded, 0 doubled",
        rows_workers.freeze_worker,
        is_short=True,
    ),
    Row(
        "5",
        "a trial that kills every worker",
        "given up after 3 deaths, the rest finishes",
        rows_workers.poison,
    ),
    Row(
        "6",
        "a worker gets no more memory",
        "dies of it, back within 10 s, same table",
        rows_conditions.starve_worker,
    ),
    Row(
        "7",
        "SIGTERM under load",
        "exit within 30 s, 0 wasted calls, 0 leases left",
        rows_workers.terminate_worker,
        is_short=True,
    ),
    Row(
        "8",
        "web and workers restarted in turn, five times",
        "at most 1 % server errors, 0 wasted calls",
        rows_live.rolling_restarts,
        "web",
    ),
    Row(
        "9",
        "kill -9 of Redis, started again",
        "no gap above 10 s",
        rows_redis.restart_redis,
        is_short=True,
    ),
    Row(
        "10",
        "Redis emptied at 50 %, under a rate",
        "no gap above 15 s; limits hold",
        rows_redis.empty_redis,
        is_short=True,
    ),
    Row(
        "10b",
        "Redis emptied four times",
        "no gap above 15 s; limits hold",
        rows_redis.empty_redis_without_rate,
    ),
    Row("11", "no Redis for 60 s", "in flight at most the limit", rows_redis.lose_redis),
    Row("12", "Redis full for 10 s", "0 lost trials", rows_redis.fill_redis),
    Row(
        "13",
        "PostgreSQL crashes and is started again",
        "no gap above 15 s; wasted calls at most the slots",
        rows_database.restart_postgres,
        "postgres",
        is_short=True,
    ),
    Row(
        "14",
        "no PostgreSQL for 90 s",
        "0 wasted calls",
        rows_database.lose_postgres,
        "postgres",
    ),
    Row("15", "SQLite locked for 5 s", "0 errors, 0 wasted calls", rows_database.lock_sqlite),
    Row(
        "16",
        "the disk is full for 10 s",
        "says so, pauses, 0 lost, 0 wasted calls; goes on when resumed",
        rows_database.fill_disk,
        "small disk",
    ),
    Row(
        "17",
        "5 % of the calls hang",
        "slot free within deadline + 1 s",
        rows_provider.hang,
        is_short=True,
    ),
    Row(
        "18",
        "5 % of the answers drip, a byte in 0.5 s",
        "ended within deadline + 1 s",
        rows_provider.drip,
        is_short=True,
    ),
    Row("19", "10 % of the connections reset in mid-body", "same table", rows_provider.reset),
    Row(
        "20",
        "all calls answered 503 for 60 s",
        "at most 20 calls + slots meanwhile; resumed within 20 s",
        rows_provider.outage,
    ),
    Row(
        "21",
        "429 above 10 calls in flight",
        "0 failed; at most 1.15 calls per trial",
        rows_provider.storm,
        is_short=True,
    ),
    Row(
        "22",
        "429 without Retry-After, and with an hour in it",
        "no wait above 125 s",
        rows_provider.absurd_waits,
    ),
    Row(
        "23",
        "10 % of the calls answered 5xx",
        "99.9 % succeed; at most 15 % retries",
        rows_provider.random_errors,
    ),
    Row(
        "24",
        "the key is revoked in mid-run, then replaced",
        "per worker, paused after 3 refusals + slots",
        rows_provider.revoke_key,
    ),
    Row(
        "25",
        "every call refused with 400",
        "per worker, paused after 20 refusals + slots",
        rows_provider.refuse_all,
    ),
    Row(
        "26",
        "broken JSON, HTML, empty, wrong shape, 100,000 brackets",
        "right class, never a score, at most 2 retries",
        rows_answers.broken_answers,
        is_short=True,
    ),
    Row(
        "27",
        "prose, NaN, Infinity, 1e400, 9/10, brackets as the answer",
        "0 non-finite values",
        rows_answers.senseless_answers,
        is_short=True,
    ),
    Row(
        "28",
        "NUL, half a surrogate pair, bidi, a line of 1,000,000 characters",
        "0 lost trials",
        rows_answers.unprintable_answers,
        is_short=True,
    ),
    Row(
        "29",
        "300 MB, an endless answer, a gzip bomb",
        "memory grows by at most 50 MB",
        rows_answers.huge_answers,
        is_short=True,
    ),
    Row(
        "30",
        "the same launch 20 times at once, and once more",
        "1 run",
        rows_clients.launch_twenty_times,
        is_short=True,
    ),
    Row(
        "31",
        "10 clients leave before the answer and send again; 20 send the same at once",
        "1 run per key, another body refused",
        rows_rest.leave_early,
        "web",
    ),
    Row(
        "32",
        "cancelled with all slots in use",
        "no call starts after 1 s",
        rows_clients.cancel_in_flight,
    ),
    Row("33", "paused and resumed 20 times", "same table", rows_clients.pause_and_resume),
    Row(
        "34",
        "clocks of the workers jump by an hour, ahead, back, and right again",
        "same table, 0 wasted calls, 0 negative durations",
        rows_conditions.wrong_clocks,
        "postgres",
    ),
    Row(
        "35",
        "1,000 equal trials, twice",
        "1 call per repeat",
        rows_clients.stampede,
        is_short=True,
    ),
    Row(
        "36",
        "other bytes in a third of the cached answers",
        "same table; exactly the damaged ones are asked again",
        rows_clients.damage_cache,
    ),
    Row(
        "37",
        "key and prices of the endpoint edited in mid-run",
        "same table, 0 wasted calls",
        rows_clients.edit_in_mid_run,
    ),
    Row(
        "38",
        "kill -9 of the web part with 50 pages open",
        "all live within 35 s; at most 50 connects a second",
        rows_live.kill_web,
        "web",
    ),
    Row(
        "39",
        "30 % of the nudges lost, others doubled or late",
        "pages right within 11 s of the end",
        rows_live.lose_nudges,
        "lossy",
        is_short=True,
    ),
    Row(
        "40",
        "a page that reads one frame in 10 s",
        "the web part grows by at most 5 MB",
        rows_live.slow_viewer,
        "web",
    ),
    Row(
        "41",
        "two small runs behind a huge one",
        "at most 4 times as long as alone",
        rows_clients.small_beside_huge,
    ),
    Row(
        "42",
        "a run of 1.5 billion trials",
        "refused within 0.3 s, nothing stored",
        rows_clients.refuse_a_million,
    ),
    Row(
        "43",
        "stopped with a paused run, tables of the version before made new",
        "resumed, same table, 0 wasted calls",
        rows_copies.upgrade_while_paused,
    ),
    Row(
        "44",
        "all ended runs and all cached answers removed beside a live run",
        "same table, 0 wasted calls, no gap above 5 s",
        rows_copies.clean_up_beside,
    ),
    Row(
        "45",
        "a copy of the site in mid-run, started elsewhere",
        "goes on by itself, same table",
        rows_copies.restore_copy,
        is_short=True,
    ),
    Row(
        "45b",
        "the same on PostgreSQL, by pg_dump and pg_restore",
        "goes on by itself, same table",
        rows_copies.restore_dump,
        "postgres",
    ),
    Row(
        "46",
        "one worker alone without Redis for 20 s, later without the database",
        "same table; limits hold",
        rows_conditions.part_one_worker,
        "postgres",
    ),
    Row(
        "48",
        "kill -9 of web, workers and Redis, all started again",
        "first call within 45 s of the start; finishes by itself",
        rows_workers.kill_everything,
        "web",
    ),
)

BY_NAME = {row.name: row for row in ROWS}
