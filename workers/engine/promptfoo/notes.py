"""What was not understood of a promptfoo file, by its path there."""

from workers.engine.errors import Problem

# What to do about a part of the file that no field here stands for.
INSTEAD = {
    "scenarios": "write each test of a scenario, with its config as vars, under tests",
    "transform": "let a scorer read the answer as it is: regex takes what is in its group",
    "transformVars": "put the values as they should be into the rows",
    "extensions": "install what they do as a plug-in (docs/PLUGINS.md)",
    "nunjucksFilters": "put the values as they should be into the rows",
    "env": "enter addresses and keys on the page Endpoints",
    "derivedMetrics": "give scorers weights, or add up the exported scores",
    "outputPath": "export the results from the page of the run, or with manage.py run --export",
    "sharing": "share the run on its page",
    "tags": "name the configuration by them",
}
FILE = "file://"

MOST_NOTES = 200  # one file may repeat a mistake for every test


class Notes:
    def __init__(self) -> None:
        self.told: list[Problem] = []
        self.left_out = 0

    def tell(self, path: str, message: str) -> None:
        if len(self.told) >= MOST_NOTES:
            self.left_out += 1
        else:
            self.told.append(Problem(path, message))

    def unknown(self, path: str, what: object) -> None:
        text = str(what)
        shown = text if len(text) <= 60 else f"{text[:59]}…"
        told = f"{shown!r} has no equal here, and was left out."
        todo = INSTEAD.get(path.rpartition(".")[2])
        self.tell(path, f"{told} Instead, {todo}." if todo else told)

    def file(self, path: str, named: object, instead: str) -> None:
        """Nothing that a file names is opened: what it imports is data, from anybody."""
        self.tell(path, f"{str(named)[:60]!r} is not read. {instead}")

    def all(self) -> list[Problem]:
        more = Problem("", f"… and {self.left_out:,} more.")
        return [*self.told, more] if self.left_out else self.told
