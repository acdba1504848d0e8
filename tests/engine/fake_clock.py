"""A clock that a test moves by hand."""

import asyncio


class FakeClock:
    """`sleep` returns at once and moves the time, so that nothing in a test waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
