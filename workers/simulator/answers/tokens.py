"""Token counts as the simulated provider bills them."""

CHARACTERS_PER_TOKEN = 4  # the usual rule of thumb for English text
TOKENS_PER_MESSAGE = 4  # role and separators, as chat models bill them


def count_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count_message_tokens(texts: list[str]) -> int:
    """Tokens of a chat: its texts and the frame around each message."""
    return sum(count_tokens(text) + TOKENS_PER_MESSAGE for text in texts)


def cut_to_tokens(text: str, limit: int) -> str:
    """The beginning of a text that costs at most `limit` tokens."""
    return text[: limit * CHARACTERS_PER_TOKEN]
