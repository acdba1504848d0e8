"""The commit that the code was checked out at, read from git's own files: no process is started."""

from pathlib import Path


def find_commit(folder: Path) -> str:
    """Its full name; empty where there is no checkout, as in a container."""
    try:
        return _commit_in(_git_folder(folder))
    except OSError:
        return ""


def _git_folder(folder: Path) -> Path:
    """A second worktree has a file there that names its folder."""
    found = folder / ".git"
    if found.is_file():
        named = found.read_text().partition("gitdir:")[2].strip()
        return folder / named
    return found


def _commit_in(git: Path) -> str:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return head
    reference = head.removeprefix("ref: ")
    shared = git / "commondir"
    common = git / shared.read_text().strip() if shared.exists() else git
    for place in (git, common):
        if (place / reference).is_file():
            return (place / reference).read_text().strip()
    return _packed(common, reference)


def _packed(git: Path, reference: str) -> str:
    """References that were not written for a while stand together in one file."""
    for line in (git / "packed-refs").read_text().splitlines():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return ""
