"""Reads an answer as Markdown into a flat list of parts, which `parts/markdown.html` writes.

HTML in an answer stays text, an image becomes a link to it, and a link shows where it leads: a page
must neither run nor load what a model wrote.
"""

from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST = 20_000  # characters that are read; the plain view has more
MOST_PARTS = 5_000  # written to a page
LONGEST_TARGET = 2_000  # characters of a link; a longer one is text
SCHEMES = ("http://", "https://", "mailto:")

# What a page may contain, by what the parser calls it. Headings begin below those of the page.
_TAGS = {
    **{name: name for name in ("p", "ul", "ol", "li", "blockquote", "em", "strong", "s")},
    **{name: name for name in ("table", "thead", "tbody", "tr", "th", "td")},
    "h1": "h3",
    "h2": "h4",
    "h3": "h5",
    **dict.fromkeys(("h4", "h5", "h6"), "h6"),
}

Kind = Literal[
    "open", "close", "text", "code", "block", "break", "rule", "link", "link_end", "heading"
]


_LEAVES: dict[str, Kind] = {
    "fence": "block",
    "code_block": "block",
    "code_inline": "code",
    "hardbreak": "break",
    "hr": "rule",
}


class Part(NamedTuple):
    kind: Kind
    text: str = ""  # the tag of what opens and closes; where a link leads
    anchor: str = ""  # of a heading in our own documents


class Markdown(NamedTuple):
    parts: list[Part]
    is_cut: bool


def read_markdown(text: str, longest: int | None = LONGEST) -> Markdown:
    """`longest`: None for our own documents, whose links may also lead to pages of the site."""
    is_ours = longest is None
    parts: list[Part] = []
    open_parts: list[Part] = []
    for part in _parts(_parser().parse(text[:longest]), is_ours):
        if len(parts) >= MOST_PARTS:
            return Markdown(parts + [_end_of(one) for one in reversed(open_parts)], is_cut=True)
        if part.kind in ("open", "link"):
            open_parts.append(part)
        elif part.kind in ("close", "link_end"):
            open_parts.pop()
        parts.append(part)
    return Markdown(parts, is_cut=longest is not None and len(text) > longest)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline"])


def _end_of(part: Part) -> Part:
    return Part("link_end", part.text) if part.kind == "link" else Part("close", part.text)


def _parts(tokens: list[Token], is_ours: bool) -> Iterator[Part]:
    links: list[str] = []  # where those lead that are open; empty if it is shown as text
    for token in tokens:
        if token.type == "inline":
            yield from _parts(token.children or [], is_ours)
        elif token.type == "link_open":
            links.append(_target(token, is_ours))
            if links[-1]:
                yield Part("link", links[-1])
        elif token.type == "link_close":
            if target := links.pop():
                yield Part("link_end", target)
        elif token.nesting:
            yield from _tag(token)
        else:
            yield Part(_LEAVES.get(token.type, "text"), token.content or "\n")


def _target(token: Token, is_ours: bool) -> str:
    """Empty: it is no link. What is no web address or longer than anybody reads is not."""
    target = str(token.attrGet("href") or "")
    if is_ours and target.startswith("/"):
        return target
    is_allowed = target.lower().startswith(SCHEMES) and len(target) <= LONGEST_TARGET
    return target if is_allowed else ""


def _tag(token: Token) -> Iterator[Part]:
    tag = _TAGS.get(token.tag)
    if tag and not token.hidden:
        yield Part("open" if token.nesting > 0 else "close", tag)
