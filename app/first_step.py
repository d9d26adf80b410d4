"""A coroutine's first step, taken by hand: what is there already costs neither a task nor a timer.

there, told = first_step(coroutine)
result = told if there else await rest_of(coroutine, told)
"""

import types
from collections.abc import Coroutine
from typing import Any


def first_step(coroutine: Coroutine) -> tuple[bool, Any]:
    """-> (True, the result), or (False, what it waits for): then `rest_of` must be awaited. Raises what the coroutine raises."""
    try:
        return False, coroutine.send(None)
    except StopIteration as done:
        return True, done.value


@types.coroutine
def rest_of(coroutine: Coroutine, pending: Any):
    """Awaits what is left of a coroutine whose first step left it waiting for `pending`."""
    while True:
        try:
            value = yield pending
        except BaseException as error:
            step, argument = coroutine.throw, error
        else:
            step, argument = coroutine.send, value
        try:
            pending = step(argument)
        except StopIteration as done:
            return done.value
