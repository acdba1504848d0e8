"""Rows 1 to 16 and 43 to 48: what breaks is a part of the site."""

from __future__ import annotations

from tests.faults import (
    rows_conditions,
    rows_copies,
    rows_database,
    rows_live,
    rows_redis,
    rows_workers,
)
from tests.faults.matrix_row import Row

PARTS: tuple[Row, ...] = (
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
        "a worker gets no more memory, and large answers",
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
    Row(
        "11",
        "no Redis for 60 s",
        "in flight at most the limit; pages load, and none is stale for more than 15 s; noted",
        rows_redis.lose_redis,
    ),
    Row(
        "12",
        "Redis full for 10 s",
        "0 lost trials, noted; wasted calls at most the slots",
        rows_redis.fill_redis,
    ),
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
        "43",
        "stopped with a paused run, tables of the version before made new",
        "resumed, same table, 0 wasted calls",
        rows_copies.upgrade_while_paused,
    ),
    Row(
        "44",
        "all ended runs and all cached answers removed beside a live run",
        "same table, 0 live rows removed, 0 wasted calls, no lock above 0.2 s, no gap above 5 s",
        rows_copies.clean_up_beside,
    ),
    Row(
        "45",
        "a copy of the site in mid-run, started elsewhere",
        "goes on by itself, same table; its keys are read only with the key files",
        rows_copies.restore_copy,
        is_short=True,
    ),
    Row(
        "45b",
        "the same on PostgreSQL, by pg_dump and pg_restore",
        "goes on by itself, same table; its keys are read only with the key files",
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
    ),
)
