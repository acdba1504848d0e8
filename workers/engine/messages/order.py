"""The order of messages that every provider takes: system messages first, then user and assistant,
beginning and ending with the user. Anthropic demands it; the same prompt then means the same to
every model that is compared."""

from collections.abc import Sequence

ROLES = ("system", "user", "assistant")
TALK = ("user", "assistant")
UNKNOWN = ""  # the place of a conversation that only the case will tell


def order_problem(roles: Sequence[str]) -> str:
    """What is wrong with the order of messages with these roles. Empty: nothing."""
    talk = [role for role in roles if role != "system"]
    if not talk:
        return "A model answers a user: add a message with role user."
    spoken = next((n for n, role in enumerate(roles) if role in TALK), len(roles))
    if late := next((n for n, role in enumerate(roles) if role == "system" and n > spoken), 0):
        return (
            f"Message {late + 1} is a system message after others. Providers take them first: move "
            "it to the beginning."
        )
    if talk[0] == "assistant":
        return "The first message after the system's is the assistant's. Begin with the user's."
    if talk[-1] == "assistant":
        return "The last message is the assistant's. A model answers a user: end with the user's."
    return ""
