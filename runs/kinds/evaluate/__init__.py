"""Kind `evaluate` on the site: all as most kinds have it, and prompts and models in the form."""

from typing import ClassVar

from runs.kinds.base import SiteKind
from runs.kinds.evaluate.form import PromptsSection
from runs.kinds.section import FormSection


class EvaluateKind(SiteKind):
    name: ClassVar[str] = "evaluate"
    title: ClassVar[str] = "Evaluate"
    purpose: ClassVar[str] = "Compare prompts and models"
    section: ClassVar[type[FormSection] | None] = PromptsSection
    style: ClassVar[str] = "css/kinds/evaluate.css"
