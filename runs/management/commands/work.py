"""`manage.py work`: one worker process. Any number may run, on any machine."""

import asyncio
import gc
import os
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import uvloop
from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import BaseCommand
from dramatiq import Worker
from dramatiq.asyncio import get_event_loop_thread

from evalsite.watchdog import beat
from workers.engine.lanes.child_program import limit_memory

POLL_MILLISECONDS = 200  # how long an idle worker may take to see a message
STOP_MILLISECONDS = 25_000
PATIENCE_SECONDS = 1.0
PLUGIN_MEGABYTES = 4096  # a worker has some 150, with thousands of calls in flight some 500
STOPS = (signal.SIGTERM, signal.SIGINT)

_kept: list[asyncio.Task[None]] = []  # a loop forgets tasks that nobody else holds


class Command(BaseCommand):
    help = (
        "Starts one worker process. It takes chunks of trials, calls the providers and writes "
        "the scores."
    )

    requires_system_checks = (Tags.compatibility,)  # of plug-ins; others would load every page

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--threads", type=int, default=8, help="chunks to work on at once")
        told = "a file to touch every second while the worker lives, for a container's check"
        parser.add_argument("--beat-file", type=Path, help=told)

    def handle(self, *args: Any, threads: int, beat_file: Path | None, **options: Any) -> None:
        # Before anything makes an event loop.
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
        from workers import actors  # connects to Redis on import
        from workers.broker import broker

        bound_memory()
        stop = listen_for_stop()
        broker.delay_queues.clear()  # nothing is ever delayed: no thread need look for it
        worker = Worker(broker, worker_threads=threads, worker_timeout=POLL_MILLISECONDS)
        worker.queue_prefetch = threads  # more would keep messages from idle workers
        spare_the_collector()
        worker.start()
        wait_patiently(worker)
        on_loop(actors.open_runtime())
        on_loop(keep_beating(beat_file))
        self.stdout.write(f"Worker ready, {threads} chunks at once.")
        self.stdout.flush()  # whoever waits for this line may be reading a file or a pipe
        wait_for_stop(stop)
        on_loop(actors.close_runtime())
        worker.stop(timeout=STOP_MILLISECONDS)


async def keep_beating(file: Path | None) -> None:
    """To the very end: a worker that hangs while it stops is ended, too."""
    _kept.append(asyncio.create_task(beat(settings.HANG_SECONDS, file)))


def bound_memory() -> None:
    """Strategies and agents of plug-ins run in this process: what they ask for beyond the limit
    raises MemoryError there, before the machine has none left for anybody."""
    most = settings.WORKER_MEGABYTES or (PLUGIN_MEGABYTES if settings.PLUGINS else None)
    if most:
        limit_memory(most * 1024 * 1024)


def listen_for_stop() -> int:
    """A pipe that signals are written to, whichever thread they meet and whenever they come. An
    event that their handler sets could miss one that comes just before the wait for it begins."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for name in STOPS:
        signal.signal(name, lambda *_: None)
    return reader


def wait_for_stop(reader: int) -> None:
    while os.read(reader, 1)[0] not in STOPS:
        pass


def spare_the_collector() -> None:
    """What is loaded by now stays; thousands of calls in flight are not garbage to look for."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def wait_patiently(worker: Worker) -> None:
    """A message wakes the thread that takes it. Otherwise threads look up several times a second,
    whether to stop or be interrupted: once a second is enough."""
    for waiting in worker.workers:
        waiting.timeout = PATIENCE_SECONDS
    thread = get_event_loop_thread()
    if thread is not None:
        thread.interrupt_check_ival = PATIENCE_SECONDS


def on_loop(coroutine: Any) -> None:
    """Run a coroutine on the worker's event loop and wait for it."""
    thread = get_event_loop_thread()
    if thread is None:
        raise RuntimeError("The AsyncIO middleware made no event loop.")
    thread.run_coroutine(coroutine)
