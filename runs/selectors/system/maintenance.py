"""Whether everything is paused because somebody works on the installation."""

from runs.models import Maintenance

PAUSED_FOR_MAINTENANCE = "Paused for maintenance"  # how the reason of such a run begins


def current_maintenance() -> Maintenance | None:
    return Maintenance.objects.filter(pk=Maintenance.ONLY).first()
