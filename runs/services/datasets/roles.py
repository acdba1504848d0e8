"""What the columns of a dataset are for: said by a person, as in the version before, or found by a
usual name."""

from collections.abc import Mapping, Sequence

from runs.models import Dataset
from runs.models.dataset import ColumnRole

# Only names that hardly mean anything else.
USUAL_NAMES = {"id": ColumnRole.ID, "split": ColumnRole.SPLIT, "tags": ColumnRole.TAGS}
AT_MOST_ONE = (ColumnRole.EXPECTED, ColumnRole.ID, ColumnRole.SPLIT, ColumnRole.TAGS)


class RoleError(ValueError):
    """The roles cannot be given. Says why."""


def settle_roles(before: Dataset | None, columns: Sequence[str], expected: str) -> dict[str, str]:
    """Of a new version: those of the version before; columns that it did not have go by name."""
    kept = before.roles if before else {}
    known = before.columns if before else ()
    roles = {column: kept[column] for column in columns if column in kept and column != expected}
    for column in columns:
        role = USUAL_NAMES.get(column.strip().lower())
        if role and column not in known and column != expected and role not in roles.values():
            roles[column] = role.value
    return roles


def describe_columns(dataset: Dataset, wanted: Mapping[str, str]) -> bool:
    """Say what columns are for; those not named keep their role, but the one that was the expected
    answer gives way to another. False if it was so already. RoleError says what is wrong; then
    nothing is changed. Runs that were launched keep what they took."""
    for column, role in wanted.items():
        _check(dataset, column, role)
    before = {column: dataset.role_of(column) for column in dataset.columns}
    roles = {**before, **wanted}
    old = dataset.expected_column
    if old and old not in wanted and ColumnRole.EXPECTED in wanted.values():
        roles[old] = ColumnRole.INPUT
    for one in AT_MOST_ONE:
        having = [column for column, role in roles.items() if role == one]
        if len(having) > 1:
            named = ", ".join(having)
            raise RoleError(f"Several columns are {one.label}: {named}. Choose one of them.")
    dataset.expected_column = next((c for c, r in roles.items() if r == ColumnRole.EXPECTED), "")
    plain = (ColumnRole.INPUT, ColumnRole.EXPECTED)
    dataset.roles = {column: str(role) for column, role in roles.items() if role not in plain}
    dataset.save(update_fields=["expected_column", "roles"])
    return roles != before


def _check(dataset: Dataset, column: str, role: str) -> None:
    if column not in dataset.columns:
        listed = ", ".join(dataset.columns)
        raise RoleError(f"There is no column {column!r}. The columns are: {listed}.")
    if role not in ColumnRole.values:
        listed = ", ".join(ColumnRole.values)
        raise RoleError(f"{role!r} is no role of a column. Choose one of: {listed}.")
