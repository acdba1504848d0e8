"""Makes text that nobody vouches for (names, questions, answers) fit for a line of a report."""

CUT = "…"


def one_line(text: str, most: int = 80) -> str:
    """Printable characters only: no line breaks, no escape sequences of terminals, no marks that
    turn the direction of what follows."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + CUT


def code_span(text: str, most: int = 80) -> str:
    """For Markdown. In a code span nothing is markup, a link, an issue or a person's name; what
    could end the span or the table's cell is shown by a character that looks like it."""
    line = one_line(text, most).replace("`", "ˋ").replace("|", "│")
    return f"`{line}`" if line else "–"


def xml_text(text: str) -> str:
    """Without the characters that XML cannot hold, escaped or not."""
    return "".join(c if _is_xml(ord(c)) else "\ufffd" for c in text)


def _is_xml(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )


def plain_text(text: str) -> str:
    """Its lines, without what moves a terminal's cursor or colours it."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
