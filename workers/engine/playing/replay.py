"""The record of an episode: what each agent saw, did and got, step by step, in a bounded size."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from workers.engine.json_text import to_json

LARGEST_REPLAY = 700_000  # bytes of JSON, below what a record may have
FOR_PICTURES = 300_000  # of these, at least, where there are pictures
MOST_NUMBERS = 128  # of an observation; of a larger one nothing is kept
DIGITS = 5  # of the numbers in it: they are to be looked at; the digest is of the exact ones
ZERO = ord("0")
NUMBERS = "biuf"  # numpy's kinds of numbers; what else an array may hold is not kept


class Replay:
    """Steps are kept until there is no more room; then the replay says where it ends. The result
    of the episode counts all of them. While it is played, only bytes are kept: laying it out
    would take more time than most environments."""

    def __init__(self, *, draws: bool = False) -> None:
        self._most = LARGEST_REPLAY - FOR_PICTURES * draws
        self._room = self._most  # a number takes a byte at least
        self._taken = 0  # of it, by one step: observations of an environment have one size
        self._form: Form | None = None
        self._seen: list[Any] = []
        self._scenes: list[Any] = []

    def see(self, seen: Sequence[Any]) -> None:
        """What agents see before they act."""
        form = self._form or self._begin(seen)
        if self._room < 0:
            return
        kind, dtype, size = form
        keep = self._seen.append
        for one in seen:
            if type(one) is kind and one.dtype is dtype and one.size == size:
                keep(one.tobytes())  # a copy: environments may use the same array again
            else:
                keep(kept(one))

    def open_for_one(self, first: Any) -> "Keeping":
        """For one agent, whose steps are kept by the loop that plays them: `see` and `note` take
        more time than the rest of it. Then `fill` says how many there were."""
        form = self._form or self._begin([first])
        most = self._room // self._taken
        return Keeping(*form, most, self._seen.append, self._scenes.append)

    def fill(self, steps: int) -> None:
        self._room -= steps * self._taken

    def note(self, scene: Any) -> None:
        """What is another one since they acted."""
        self._room -= self._taken
        if self._room >= 0:
            self._scenes.append(scene)

    def _begin(self, seen: Sequence[Any]) -> "Form":
        self._form = next((form_of(one) for one in seen if one is not None), NO_FORM)
        self._taken = len(seen) * (2 + max(1, self._form[2]))
        return self._form

    def text(
        self,
        actions: Sequence[Any],
        rewards: Sequence[Sequence[float]],
        about: Mapping[str, Any],
        draw: Callable[[Sequence[Any]], Any] | None = None,
    ) -> bytes:
        """As JSON. It is laid out here, in the process that played, and nowhere else. `draw` makes
        pictures of the steps that are kept."""
        shown = shown_all(self._seen, self._form or NO_FORM)
        each = zip(*[iter(shown)] * len(about["assignments"]), strict=False)  # those of one step
        play = list(zip(each, actions, rewards, self._scenes, strict=False))
        if draw is None:
            found = to_json({**about, "kept": len(play), "play": play})
            if len(found) <= self._most:
                return found
        play = play[: fitting(play, self._most)]
        more = {} if draw is None else {"pictures": draw(play)}
        return to_json({**about, **more, "kept": len(play), "play": play})


Form = tuple[Any, Any, int]
"""Type, dtype and size of observations that are numpy's."""

NO_FORM: Form = (object, None, 0)  # no observation is of that type itself


class Keeping(NamedTuple):
    """What a loop needs that keeps the steps of one agent: the form of its observations, for how
    many steps there is room, and where they go."""

    kind: Any
    dtype: Any
    size: int
    most: int
    keep_seen: Callable[[Any], None]
    keep_scene: Callable[[Any], None]


NOT_KEPT = Keeping(*NO_FORM, 0, [].append, [].append)  # neither is called: there is no room


def form_of(observation: Any) -> Form:
    dtype, size = getattr(observation, "dtype", None), getattr(observation, "size", 0)
    if dtype is None or dtype.kind not in NUMBERS or not 0 < size <= MOST_NUMBERS:
        return NO_FORM
    return type(observation), dtype, size


def fitting(play: Sequence[Any], room: int) -> int:
    """How many steps from the first on there is room for."""
    for number, step in enumerate(play):
        room -= len(to_json(step)) + 1
        if room < 0:
            return number
    return len(play)


def plain(action: Any) -> Any:
    """As JSON has it: numpy's own numbers are none."""
    return action.tolist() if hasattr(action, "tolist") else action


def kept(observation: Any) -> Any:
    """Of one that is not like the others. Of large ones nothing is kept."""
    if form_of(observation) is not NO_FORM:
        return observation.copy()
    return observation if isinstance(observation, int | float | str) else None


def shown_all(seen: Sequence[Any], form: Form) -> list[Any]:
    """Those that are bytes are of one form: all of them at once."""
    packed = [one for one in seen if type(one) is bytes]
    if not packed:
        return [shown(one) for one in seen]
    import numpy as np

    _, dtype, width = form
    rows = np.frombuffer(b"".join(packed), dtype=dtype).reshape(-1, width)
    if width > 1 and ((rows == 0) | (rows == 1)).all():
        text = (rows.astype(np.uint8) + ZERO).tobytes().decode()
        found: list[Any] = [text[start : start + width] for start in range(0, len(text), width)]
    else:
        found = np.round(rows.astype(np.float64), DIGITS).tolist()
    if len(packed) == len(seen):
        return found
    rest = iter(found)
    return [next(rest) if type(one) is bytes else shown(one) for one in seen]


def shown(observation: Any) -> Any:
    """Short enough to be kept: 0 and 1 as one text, other numbers rounded."""
    if observation is None or isinstance(observation, int | float | str):
        return observation
    values = observation.reshape(-1).tolist() if hasattr(observation, "reshape") else None
    if values is None or not all(isinstance(one, int | float) for one in values):
        return None
    if len(values) > 1 and all(one in (0, 1) for one in values):
        return "".join(str(int(one)) for one in values)
    return [round(one, DIGITS) if isinstance(one, float) else one for one in values]
