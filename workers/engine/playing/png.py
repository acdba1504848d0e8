"""A picture of an environment, made small and written as PNG."""

import struct
import zlib
from typing import Any

import numpy as np

WIDEST, HIGHEST = 320, 240  # pixels; half of what most environments draw, and still easy to follow
LARGEST_SIDE = 8192  # pixels of what is taken at all
MOST_COLOURS = 256
BITS = ((5, 5, 5), (4, 4, 4), (3, 3, 2))  # of red, green and blue, until that many colours are left
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PALETTE_IMAGE = 3


def small_picture(drawn: Any) -> Any:
    """Rows, columns and three colours, each pixel the mean of those it stands for. ValueError if
    it is no picture."""
    picture = np.asarray(drawn)
    shape = picture.shape
    if picture.dtype != np.uint8 or len(shape) != 3 or shape[2] not in (3, 4):
        raise ValueError("It drew something else than an array of rows, columns and 3 colours.")
    rows, columns = shape[:2]
    if not (0 < rows <= LARGEST_SIDE and 0 < columns <= LARGEST_SIDE):
        raise ValueError(f"It drew a picture of {columns} x {rows} pixels.")
    by = max(1, -(-columns // WIDEST), -(-rows // HIGHEST))
    kept = picture[: max(1, rows // by) * by, : max(1, columns // by) * by, :3]
    if by == 1 or min(rows, columns) < by:
        return kept
    # Row by row, then column by column: numpy's own mean of blocks takes six times as long.
    lines: Any = sum(kept[row::by].astype(np.uint32) for row in range(by))
    total: Any = sum(lines[:, column::by] for column in range(by))
    return (total // by**2).astype(np.uint8)


def png_of(picture: Any) -> bytes:
    """With a palette of at most 256 colours: few environments draw more, and it is a third."""
    palette, places = reduced(picture)
    rows, columns = places.shape
    lines = np.zeros((rows, columns + 1), dtype=np.uint8)  # each begins with its filter: none
    lines[:, 1:] = places
    head = struct.pack("!IIBBBBB", columns, rows, 8, PALETTE_IMAGE, 0, 0, 0)
    return b"".join(
        [
            SIGNATURE,
            part(b"IHDR", head),
            part(b"PLTE", palette),
            part(b"IDAT", zlib.compress(lines.tobytes())),
            part(b"IEND", b""),
        ]
    )


def reduced(picture: Any) -> tuple[bytes, Any]:
    """The colours, and for each pixel which of them it has."""
    for bits in BITS:
        index = np.zeros(picture.shape[:2], dtype=np.int32)
        for channel, wide in enumerate(bits):
            index = (index << wide) | (picture[:, :, channel] >> (8 - wide))
        used = np.flatnonzero(np.bincount(index.reshape(-1), minlength=1 << sum(bits)))
        if len(used) <= MOST_COLOURS:
            break
    places = np.zeros(1 << sum(bits), dtype=np.uint8)
    places[used] = np.arange(len(used))
    left, levels = used, []
    for wide in reversed(bits):
        levels.append((left & ((1 << wide) - 1)) * 255 // ((1 << wide) - 1))
        left = left >> wide
    palette = np.stack(levels[::-1], axis=1).astype(np.uint8).tobytes()
    return palette, places[index]


def part(name: bytes, content: bytes) -> bytes:
    checked = zlib.crc32(name + content)
    return struct.pack("!I", len(content)) + name + content + struct.pack("!I", checked)
