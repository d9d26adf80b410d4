"""Seats at something of which only so much goes on at once: nobody takes so many of them that others find none.

Each sitter is counted under its names (its shop, itself), and has at most so many seats under each. It knows of one process alone.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from app.errors import DoormanError


class NoSeat(DoormanError):
    """`own`: this sitter has its share already; else all of them are taken."""

    def __init__(self, *, own: bool):
        super().__init__("no seat is free")
        self.own = own


class Seats:
    def __init__(self, at_once_max: int, *of_one_max: int):
        """`of_one_max`: seats of one sitter, for each name it is counted under."""
        self.at_once_max, self.of_one_max = at_once_max, of_one_max
        self.seated = 0
        self.taken: Counter[Hashable] = Counter()  # name -> seats

    @contextmanager
    def seat(self, *names: Hashable) -> Iterator[None]:
        """Have one for as long as the block lasts. NoSeat."""
        if any(self.taken[name] >= most for name, most in zip(names, self.of_one_max, strict=True)):
            raise NoSeat(own=True)
        if self.seated >= self.at_once_max:
            raise NoSeat(own=False)
        self.seated += 1
        self.taken.update(names)
        try:
            yield
        finally:
            self.seated -= 1
            self.taken.subtract(names)
            self.taken += Counter()  # who has none is forgotten
