"""The provider's own account of every request: what clients did, whatever they claim."""

import time
from array import array
from collections import Counter
from typing import Any, NamedTuple

WINDOW_SECONDS = 60.0
MOST_NAMES = 1000  # distinct models or routes kept by name; a fuzzer must not fill the memory
OTHER_NAME = "(other)"
ACCEPTED, ABORTED, ENDED = 1, 2, 4  # bits of a row's flags


class Arrival(NamedTuple):
    """What is known of a request when it has been read."""

    route: str
    model: str
    body_hash: int
    tokens_in: int = 0
    tokens_out: int = 0
    is_accepted: bool = True  # not refused by a limit
    fault: str = ""
    key: str = ""  # a checksum of the key that was sent


class Names:
    """Numbers for names, so that a row needs two bytes for each."""

    def __init__(self) -> None:
        self.names: list[str] = [OTHER_NAME]
        self._numbers: dict[str, int] = {OTHER_NAME: 0}

    def counted(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is not None:
            return number
        if len(self.names) > MOST_NAMES:
            return 0
        self.names.append(name)
        return self._numbers.setdefault(name, len(self.names) - 1)


class Ledger:
    """About 50 bytes a row in arrays, plus one entry per different body to find duplicates."""

    def __init__(self, now: float) -> None:
        self._start = now
        self._started_at = time.time()
        self._arrivals, self._ends = array("d"), array("d")
        self._hashes = array("Q")
        self._tokens_in, self._tokens_out = array("I"), array("I")
        self._statuses, self._flags = array("H"), array("B")
        self._route_numbers, self._model_numbers = array("H"), array("H")
        self._fault_numbers, self._key_numbers = array("H"), array("H")
        self._routes, self._models, self._faults, self._keys = Names(), Names(), Names(), Names()
        self._times_asked: dict[int, int] = {}
        self._answered: set[int] = set()
        self._repeated_bodies = self._extra_calls = self._extra_answers = 0
        self._by_status: Counter[int] = Counter()
        self._by_model: Counter[str] = Counter()
        self._by_fault: Counter[str] = Counter()
        self._per_second: Counter[int] = Counter()
        self._aborted = self._total_tokens_in = self._total_tokens_out = 0
        self._in_flight: Counter[str] = Counter()
        self._peaks: Counter[str] = Counter()
        self._all_in_flight = self._peak = 0
        self._window = _BusiestWindow()

    @property
    def peak(self) -> int:
        """The most requests that were ever in flight at once."""
        return self._peak

    def times_asked(self, body_hash: int) -> int:
        """How often this very request has come so far."""
        return self._times_asked.get(body_hash, 0)

    def begin(self, arrival: Arrival, now: float) -> int:
        """Writes a new row and returns its number."""
        row = len(self._arrivals)
        model_number = self._models.counted(arrival.model)
        self._arrivals.append(now - self._start)
        self._ends.append(0.0)
        self._hashes.append(arrival.body_hash)
        self._tokens_in.append(arrival.tokens_in)
        self._tokens_out.append(arrival.tokens_out)
        self._statuses.append(0)
        self._flags.append(ACCEPTED if arrival.is_accepted else 0)
        self._route_numbers.append(self._routes.counted(arrival.route))
        self._model_numbers.append(model_number)
        self._fault_numbers.append(self._faults.counted(arrival.fault))
        self._key_numbers.append(self._keys.counted(arrival.key))
        self._count(arrival, self._models.names[model_number], row)
        return row

    def end(self, row: int, status: int, is_aborted: bool, now: float) -> None:
        """Status 0: nothing was answered."""
        self._ends[row] = now - self._start
        self._statuses[row] = status
        self._flags[row] |= ENDED | (ABORTED if is_aborted else 0)
        self._by_status[status] += 1
        self._aborted += is_aborted
        self._all_in_flight -= 1
        self._in_flight[self._models.names[self._model_numbers[row]]] -= 1
        if status == 200 and not is_aborted:
            body_hash = self._hashes[row]
            self._extra_answers += body_hash in self._answered
            self._answered.add(body_hash)

    def summary(self, now: float) -> dict[str, Any]:
        return {
            "started_at": self._started_at,
            "uptime_seconds": now - self._start,
            "total": len(self._arrivals),
            "by_status": {
                str(status) if status else "no answer": count
                for status, count in sorted(self._by_status.items())
            },
            "by_model": dict(self._by_model),
            "by_fault": dict(self._by_fault),
            "aborted": self._aborted,
            "in_flight": self._all_in_flight,
            "peak_in_flight": self._peak,
            "in_flight_by_model": {name: count for name, count in self._in_flight.items() if count},
            "peak_in_flight_by_model": dict(self._peaks),
            "per_second": sorted(self._per_second.items()),
            "max_requests_in_60s": self._window.most_requests,
            "max_accepted_in_60s": self._window.most_accepted,
            "max_tokens_in_60s": self._window.most_tokens,
            "tokens_in": self._total_tokens_in,
            "tokens_out": self._total_tokens_out,
            "duplicates": {
                "bodies": self._repeated_bodies,
                "extra_calls": self._extra_calls,
                "extra_answers": self._extra_answers,
            },
        }

    def rows(self, after: int, limit: int) -> list[dict[str, Any]]:
        """Up to `limit` rows with numbers above `after`, oldest first."""
        first = max(0, after + 1)
        return [self._row(row) for row in range(first, min(first + limit, len(self._arrivals)))]

    def _row(self, row: int) -> dict[str, Any]:
        flags = self._flags[row]
        return {
            "number": row,
            "arrival": round(self._arrivals[row], 6),
            "end": round(self._ends[row], 6) if flags & ENDED else None,
            "route": self._routes.names[self._route_numbers[row]],
            "model": self._models.names[self._model_numbers[row]],
            "status": self._statuses[row] or None,
            "hash": f"{self._hashes[row]:016x}",
            "tokens_in": self._tokens_in[row],
            "tokens_out": self._tokens_out[row],
            "accepted": bool(flags & ACCEPTED),
            "aborted": bool(flags & ABORTED),
            "fault": self._faults.names[self._fault_numbers[row]] or None,
            "key": self._keys.names[self._key_numbers[row]],
        }

    def _count(self, arrival: Arrival, model: str, row: int) -> None:
        times = self._times_asked.get(arrival.body_hash, 0) + 1
        self._times_asked[arrival.body_hash] = times
        self._repeated_bodies += times == 2
        self._extra_calls += times > 1
        self._by_model[model] += 1
        if arrival.fault:
            self._by_fault[arrival.fault] += 1
        self._total_tokens_in += arrival.tokens_in
        self._total_tokens_out += arrival.tokens_out
        self._per_second[int(self._arrivals[row])] += 1
        self._all_in_flight += 1
        self._peak = max(self._peak, self._all_in_flight)
        self._in_flight[model] += 1
        self._peaks[model] = max(self._peaks[model], self._in_flight[model])
        self._window.add(self._arrivals, self._flags, self._tokens_in, self._tokens_out)


class _BusiestWindow:
    """Follows the rows of the last minute and remembers the most there ever were in one."""

    def __init__(self) -> None:
        self._oldest = self._accepted = self._tokens = 0
        self.most_requests = self.most_accepted = self.most_tokens = 0

    def add(
        self,
        arrivals: "array[float]",
        flags: "array[int]",
        tokens_in: "array[int]",
        tokens_out: "array[int]",
    ) -> None:
        """Takes in the newest row and lets go of those that are a minute old."""
        newest = len(arrivals) - 1
        self._accepted += flags[newest] & ACCEPTED
        self._tokens += tokens_in[newest] + tokens_out[newest]
        while arrivals[self._oldest] <= arrivals[newest] - WINDOW_SECONDS:
            self._accepted -= flags[self._oldest] & ACCEPTED
            self._tokens -= tokens_in[self._oldest] + tokens_out[self._oldest]
            self._oldest += 1
        self.most_requests = max(self.most_requests, newest - self._oldest + 1)
        self.most_accepted = max(self.most_accepted, self._accepted)
        self.most_tokens = max(self.most_tokens, self._tokens)
