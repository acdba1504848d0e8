"""What the queues are called: who sends, who works and who only counts agree on it here."""

NAMESPACE = "evalsite"
ADVANCE_QUEUE = "advance"
CHUNK_QUEUE = "chunks"
QUEUES = (ADVANCE_QUEUE, CHUNK_QUEUE)


def redis_key(queue: str) -> str:
    """Under which Redis has the messages that no worker has taken."""
    return f"{NAMESPACE}:{queue}"
