"""When a configuration is launched by itself."""

from django import forms

from runs.cron import known_zones
from runs.models import Schedule
from workers.engine.errors import Problem


class ScheduleForm(forms.Form):
    cron = forms.CharField(
        max_length=100,
        label="When",
        help_text="Minute, hour, day, month, day of the week: 30 6 * * 1-5 is half past six on "
        "weekdays.",
        widget=forms.TextInput(attrs={"placeholder": "30 6 * * 1-5", "spellcheck": "false"}),
    )
    time_zone = forms.ChoiceField(label="Time zone", initial="UTC")
    catches_up = forms.BooleanField(
        required=False,
        label="Catch up",
        help_text="After an outage: one run for all due times that were missed. Else none.",
    )

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        zones = sorted(known_zones() - {"UTC"})
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(zone, zone) for zone in ["UTC", *zones]]

    @classmethod
    def of(cls, schedule: Schedule | None) -> "ScheduleForm":
        names = ("cron", "time_zone", "catches_up")
        return cls(initial={name: getattr(schedule, name) for name in names} if schedule else {})

    def take_problems(self, problems: list[Problem]) -> None:
        for problem in problems:
            self.add_error(problem.path if problem.path in self.fields else None, problem.message)
