"""Token counts as the simulated provider bills them."""

CHARACTERS_PER_TOKEN = 4  # the usual rule of thumb for English text
TOKENS_PER_MESSAGE = 4  # role and separators, as chat models bill them


TOKENS_PER_IMAGE = 1000


def count_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count_message_tokens(texts: list[str], images: int = 0) -> int:
    """Tokens of a chat: its texts, the frame around each message, and its images."""
    words = sum(count_tokens(text) + TOKENS_PER_MESSAGE for text in texts)
    return words + TOKENS_PER_IMAGE * images


def cut_to_tokens(text: str, limit: int) -> str:
    """The beginning of a text that costs at most `limit` tokens."""
    return text[: limit * CHARACTERS_PER_TOKEN]
