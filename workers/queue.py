"""Sends messages by name. A message only says "look at this row": losing or doubling it is
harmless, because the sweep sends again what the database says is still to be done."""

import logging

import redis
from dramatiq import Message
from dramatiq.errors import BrokerConnectionError

from workers.broker import broker
from workers.queue_names import ADVANCE_QUEUE, CHUNK_QUEUE, redis_key

logger = logging.getLogger(__name__)


def enqueue_advance(run_id: int) -> None:
    """Have a worker plan the next trials of a run, or finish it."""
    send(ADVANCE_QUEUE, "advance", run_id)


def enqueue_chunk(chunk_id: int) -> None:
    """Have a worker execute a chunk."""
    send(CHUNK_QUEUE, "execute_chunk", chunk_id)


def count_queued_chunks() -> int:
    """Messages that no worker has taken yet. 0 when Redis is away: then nothing can be sent."""
    try:
        return int(broker.client.llen(redis_key(CHUNK_QUEUE)))
    except redis.RedisError:
        return 0


def send(queue_name: str, actor_name: str, row_id: int) -> None:
    message: Message[None] = Message(
        queue_name=queue_name, actor_name=actor_name, args=(row_id,), kwargs={}, options={}
    )
    try:
        broker.enqueue(message)
    except (BrokerConnectionError, redis.RedisError):
        logger.warning("Redis did not take %s(%s); the sweep will send it.", actor_name, row_id)
