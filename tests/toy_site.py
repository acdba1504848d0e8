"""What the site needs of the toy kind: all as most kinds have it, so a name is enough."""

from typing import ClassVar

from runs.kinds.base import SiteKind


class ToySite(SiteKind):
    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "Toy"


class MadeToySite(ToySite):
    name: ClassVar[str] = "made_toy"
    title: ClassVar[str] = "Toy on cases of its own"
