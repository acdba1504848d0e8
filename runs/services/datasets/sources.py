"""The text of a dataset piece by piece, from memory or from a file: never all of it at once."""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

PIECE = 64 * 1024  # bytes of a file, characters of a text
MAX_BYTES = 20 * 1024 * 1024
MAX_ROW = 2 * 1024 * 1024  # characters


class BinaryFile(Protocol):
    """What an upload, an open file and BytesIO have in common."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> object: ...


Source = str | BinaryFile


class LineProblem(NamedTuple):
    """What is wrong on a line, counted from 1 as an editor does."""

    line: int
    message: str


class UnreadableError(Exception):
    """Nothing after this place can be read."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.problem = LineProblem(line, message)


class RowTooLongError(Exception):
    """The reader knows where."""

    def __init__(self) -> None:
        super().__init__(f"A row has more than {MAX_ROW // 1024 // 1024} MB. Shorten its fields.")


def text_pieces(source: Source) -> Iterator[str]:
    """From the beginning, without a byte-order mark. `check_source` finds what is not UTF-8."""
    if isinstance(source, str):
        start = 1 if source.startswith("\ufeff") else 0
        yield from (source[at : at + PIECE] for at in range(start, len(source), PIECE))
        return
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for data in byte_pieces(source):
        yield decoder.decode(data, final=not data)


def byte_pieces(source: Source) -> Iterator[bytes]:
    """The last one is empty."""
    if isinstance(source, str):
        for at in range(0, len(source), PIECE):
            yield source[at : at + PIECE].encode("utf-8", "surrogatepass")
        yield b""
        return
    source.seek(0)
    data = b"-"
    while data:
        data = source.read(PIECE)
        yield data


def check_source(source: Source) -> None:
    """UnreadableError if it is too large or no text, with the place."""
    errors = "surrogatepass" if isinstance(source, str) else "strict"
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    size, line = 0, 1
    for data in byte_pieces(source):
        whole = decoder.getstate()[0] + data  # with the first bytes of a character that was cut
        try:
            decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            byte = size - (len(whole) - len(data)) + error.start
            told = f"Byte {byte:,} of the file is not UTF-8. Save the file as UTF-8 and try again."
            raise UnreadableError(line + whole.count(b"\n", 0, error.start), told) from None
        if b"\x00" in data:
            told = "There is a NUL character: this is not a text file. Export it as CSV or JSONL."
            raise UnreadableError(line + data.count(b"\n", 0, data.index(b"\x00")), told)
        size += len(data)
        line += data.count(b"\n")
        if size > MAX_BYTES:
            raise UnreadableError(1, too_large(whole_size(source, size)))


def whole_size(source: Source, read: int) -> int:
    """Of what was not read to its end."""
    if isinstance(source, str):
        return len(source.encode("utf-8", "surrogatepass"))
    return read + sum(map(len, iter(lambda: source.read(PIECE), b"")))


def split_lines(pieces: Iterable[str], line_end: re.Pattern[str]) -> Iterator[str]:
    """Each with its end. RowTooLongError where none ends for long."""
    rest = ""
    for piece in pieces:
        text, place = rest + piece, 0
        for match in line_end.finditer(text):
            yield text[place : match.end()]
            place = match.end()
        rest = text[place:]
        if len(rest) > MAX_ROW:
            raise RowTooLongError
    if rest:
        yield rest


def too_large(size: int) -> str:
    """What is said of so many bytes, by whichever door they come."""
    return (
        f"The data has {size / 1024 / 1024:.1f} MB; at most {MAX_BYTES // 1024 // 1024} MB can be "
        "imported. Split it into several datasets."
    )
