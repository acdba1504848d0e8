"""What a run of a configuration is held to, and whether it holds."""

from typing import ClassVar

from django.db import models


class RunGate(models.Model):
    """As the configuration asked at the launch of the run; judged once the run has ended."""

    run = models.OneToOneField("runs.Run", on_delete=models.CASCADE, related_name="gate")
    baseline = models.ForeignKey(
        "runs.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked = models.JSONField(
        default=dict, help_text="The number of the baseline, and what else was asked of the run."
    )
    claimed = models.DateTimeField(null=True, blank=True, help_text="Some process judges it.")
    judged = models.DateTimeField(null=True, blank=True)
    passed = models.BooleanField(null=True, blank=True)
    regressed = models.BooleanField(default=False, help_text="It is worse than its baseline.")
    checks = models.JSONField(default=list, help_text="[name, passed, in words] each.")

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["judged"], name="run_gate_judged")
        ]

    def __str__(self) -> str:
        return f"gate of run {self.run_id}"

    @property
    def state(self) -> str:
        if self.judged is None:
            return "pending"
        if self.regressed:
            return "regressed"
        return "passed" if self.passed else "failed"
