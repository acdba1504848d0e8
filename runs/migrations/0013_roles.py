"""The groups that are roles. Accounts from before go on as they did: staff as admins, others as
runners."""

from django.db import migrations
from django.db.models import Q

ROLES = ("viewer", "runner", "author", "operator", "admin")


def give_roles(apps, schema_editor):
    groups = {name: apps.get_model("auth", "Group").objects.get_or_create(name=name)[0] for name in ROLES}
    User = apps.get_model("auth", "User")
    is_admin = Q(is_staff=True) | Q(is_superuser=True)
    for user in User.objects.filter(is_admin):
        user.groups.add(groups["admin"])
    for user in User.objects.exclude(is_admin):
        user.groups.add(groups["runner"])


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0012_run_is_shared'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.RunPython(give_roles, migrations.RunPython.noop),
    ]
