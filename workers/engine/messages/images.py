"""Images in messages: an address that the provider fetches, or the image itself as data.

This site never opens an address of an image. Data is checked by its first bytes, so that what is
called an image is one of the four kinds that providers take.
"""

import binascii
import re
from base64 import b64decode
from typing import NamedTuple

from workers.engine.spec.template import TemplateError

KINDS: dict[str, str] = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WebP",
}
MOST_IMAGES = 20  # of one prompt; Anthropic takes 20 of any size
LONGEST_SHOWN = 200  # characters of an address on a page
# Guessed for each: providers count some 85 to 1,600 by its size in pixels, which we do not read.
IMAGE_TOKENS = 1_000
DATA = re.compile(r"data:(image/[a-z+.-]{1,20});base64,")
ADDRESS = re.compile(r"https?://[^\s\x00-\x1f\x7f\"<>\\^`{|}]{1,2000}", re.IGNORECASE)
NOT_AN_IMAGE = (
    "Give an address that begins with http:// or https://, or the image itself as "
    "data:image/png;base64,… (PNG, JPEG, GIF or WebP)."
)


class ImageData(NamedTuple):
    """An image that came as data."""

    media_type: str
    base64: str

    @property
    def bytes(self) -> int:
        return len(self.base64) * 3 // 4 - self.base64[-2:].count("=")


def check_image(text: str) -> str:
    """The image as it is sent. TemplateError says what is wrong with it."""
    source = text.strip()
    if source[:5].lower() != "data:":
        return _check_address(source)
    data = data_of(source)
    if data is None or data.media_type not in KINDS:
        raise TemplateError(f"An image cannot be read: {_start(source)}. {NOT_AN_IMAGE}")
    try:
        raw = b64decode(data.base64, validate=True)
    except (binascii.Error, ValueError):
        raise TemplateError(
            f"An image is no base64: {_start(source)}. Encode it anew, without spaces or line ends."
        ) from None
    found = kind_of(raw)
    if found != data.media_type:
        told = f"is {KINDS[found]}" if found else "is none of PNG, JPEG, GIF and WebP"
        raise TemplateError(
            f"An image says {data.media_type}, but by its first bytes it {told}. Mend one of them."
        )
    return source


def _check_address(source: str) -> str:
    if not ADDRESS.fullmatch(source):
        raise TemplateError(f"An image cannot be sent: {_start(source)}. {NOT_AN_IMAGE}")
    return source


def data_of(source: str) -> ImageData | None:
    """None: it is an address."""
    found = DATA.match(source)
    return ImageData(found[1], source[found.end() :]) if found else None


def kind_of(raw: bytes) -> str:
    """The media type by the first bytes; empty if it is none that providers take."""
    if raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if raw.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if raw.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    is_webp = raw.startswith(b"RIFF") and raw[8:12] == b"WEBP"
    return "image/webp" if is_webp else ""


def describe_image(source: str) -> str:
    """For a page: its kind and size, or its address as text. Nothing is loaded."""
    data = data_of(source)
    if data is None:
        return f"[image at {_start(source)}, fetched by the provider]"
    return f"[image: {KINDS.get(data.media_type, data.media_type)}, {data.bytes:,} bytes]"


def _start(source: str) -> str:
    return source if len(source) <= LONGEST_SHOWN else f"{source[:LONGEST_SHOWN]}…"
