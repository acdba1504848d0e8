"""The guides of docs/ as help pages: their parts, their sections, and where a link of one leads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse

from runs.answers.markdown import Markdown, Part, read_markdown
from runs.kinds import every_kind

DOCS = settings.RESOURCES / "docs"
COMMON = {
    "first-run": "guides/FIRST_RUN.md",
    "providers": "guides/PROVIDERS.md",
    "ollama": "guides/OLLAMA.md",
    "ci": "guides/CI.md",
}
"""By the name in the address. Those of kinds of run are named by the kinds."""
TAGS = {"h4": "h2", "h5": "h3", "h6": "h4"}  # answers begin deeper, below the headings of a page
PICTURE = re.compile(r"!\[([^\]]*)\]\(\.\./screenshots/([\w.-]+\.png)\)")
LINK = re.compile(r"\]\(([\w./-]+\.md)\)")


class Section(NamedTuple):
    title: str
    anchor: str


class Picture(NamedTuple):
    words: str
    file: str

    @property
    def address(self) -> str:
        return static(f"guides/{self.file}")


class Guide(NamedTuple):
    name: str
    title: str
    lead: str  # its first sentences
    parts: list[Part]
    sections: list[Section]
    picture: Picture | None

    @property
    def address(self) -> str:
        return reverse("help_guide", args=[self.name])


class HelpPlace(NamedTuple):
    name: str
    address: str
    detail: str


def guide_files() -> dict[str, str]:
    of_kinds = {kind.guide.name: kind.guide.file for kind in every_kind() if kind.guide}
    return {**COMMON, **of_kinds}


@cache
def read_guides() -> dict[str, Guide]:
    """They do not change while the process runs."""
    files = guide_files()
    return {name: read_guide(name, file, files) for name, file in files.items()}


def read_guide(name: str, file: str, files: Mapping[str, str]) -> Guide:
    text = (DOCS / file).read_text(encoding="utf-8")
    heading, _, body = text.partition("\n")
    found = PICTURE.search(body)
    body = LINK.sub(lambda link: f"]({lead_to(link.group(1), file, files)})", body)
    read = read_markdown(PICTURE.sub("", body), longest=None)
    parts = list(with_anchors(read))
    return Guide(
        name=name,
        title=heading.removeprefix("# ").strip(),
        lead=" ".join(body.strip().split("\n\n")[0].split()).replace("`", ""),
        parts=parts,
        sections=[Section(part.text, part.anchor) for part in parts if part.anchor],
        picture=Picture(found.group(1), found.group(2)) if found else None,
    )


def lead_to(link: str, file: str, files: Mapping[str, str]) -> str:
    """The page of another guide. What is no guide is in the repository: its name stays, as text."""
    beside = PurePosixPath(file).parent / link
    wanted = str(PurePosixPath(*resolved(beside.parts)))
    names = {one: name for name, one in files.items()}
    return reverse("help_guide", args=[names[wanted]]) if wanted in names else link


def resolved(parts: Iterable[str]) -> list[str]:
    found: list[str] = []
    for part in parts:
        found = found[:-1] if part == ".." else [*found, part]
    return found


def with_anchors(read: Markdown) -> Iterator[Part]:
    """Headings of the second level become one part each, with the words as its address."""
    words: list[str] | None = None
    for part in read.parts:
        tag = TAGS.get(part.text, part.text) if part.kind in ("open", "close") else part.text
        if part.kind == "open" and tag == "h2":
            words = []
        elif part.kind == "close" and tag == "h2" and words is not None:
            title = "".join(words)
            yield Part("heading", title, anchor_of(title))
            words = None
        elif words is not None:
            words.append(part.text)
        else:
            yield part._replace(text=tag)


def anchor_of(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def find_help(text: str, most: int) -> list[HelpPlace]:
    """Guides and their sections by a part of their titles; guides first."""
    wanted = text.strip().lower()
    guides = read_guides().values()
    by_title = [
        HelpPlace(guide.title, guide.address, "")
        for guide in guides
        if wanted in f"help {guide.title} {guide.name}".lower()
    ]
    by_section = [
        HelpPlace(section.title, f"{guide.address}#{section.anchor}", guide.title)
        for guide in guides
        for section in guide.sections
        if wanted and wanted in section.title.lower()
    ]
    return [*by_title, *by_section][:most]
