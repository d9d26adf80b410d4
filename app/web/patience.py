"""The connections of a web process: whoever sends nothing is not waited for, and what stands ready is answered at once.

uvicorn bounds the pause between two requests; it does not bound how long the first one, or the head of any, may take. Here a head
must be complete HEAD_SECONDS after its connection was made or its first byte came, and must fit into HEAD_BYTES_MAX. Bodies have
their own bound (guard.py). A connection costs a timer only while a head is incomplete.

An application with an `at_once(scope, body)` is asked it when a request came whole in one piece: what it answers (ready.py), then
or when the one reply it lacks has come, goes out in one write, and no task is made. Whatever else comes, or whatever goes wrong
there, is an ordinary ASGI request. The crowd that presses Buy is not even read when it comes: it is read and answered in the order
it came, a turn at a time, and everybody else in between (R13). A page needs several turns of the loop, and must not wait for the
whole crowd in each of them: the crowd's turns are long only while nobody else was here lately, and shortest while a page is made.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.clock import monotonic
from app.errors import DoormanError
from app.web.ready import Later, lines

HEAD_SECONDS = 10.0
HEAD_BYTES_MAX = 32 * 1024
TURN_SECONDS = 0.00015
TURN_SECONDS_ALONE = 0.0005  # nobody else asked for anything within ALONE_SECONDS
TURN_SECONDS_SHARED = 0.00005  # while somebody else's request is under way
ALONE_SECONDS = 0.1
CROWD = b"POST /drops/"  # what the crowd's requests begin with
UNREAD_BYTES_MAX = 64 * 1024  # of one connection, before its sender has to wait

log = logging.getLogger("doorman.web")


_own: tuple[list, bytes] = ([], b"")  # the server's headers, new every second, and their lines


def _servers_own(state: ServerState) -> bytes:
    """-> the lines of the headers that uvicorn adds to every answer."""
    global _own
    if state.default_headers is not _own[0]:
        _own = state.default_headers, lines(state.default_headers)
    return _own[1]


class Crowd:
    """The connections of one server that wait for their turn to be read."""

    def __init__(self, loop: asyncio.AbstractEventLoop):
        self._loop = loop
        self._waiting: deque[Patience] = deque()
        self._is_due = False  # there will be a turn
        self.in_turn = False  # what happens now happens for the crowd
        self.others = 0  # requests of everybody else that are under way
        self.others_at = float("-inf")  # when the last of them came

    def join(self, connection: "Patience") -> None:
        self._waiting.append(connection)
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._serve)

    def _serve(self) -> None:
        until = monotonic()
        if self.others:
            until += TURN_SECONDS_SHARED
        else:
            until += TURN_SECONDS if until - self.others_at < ALONE_SECONDS else TURN_SECONDS_ALONE
        self.in_turn = True
        try:
            while self._waiting and monotonic() < until:
                self._waiting.popleft().read_waiting()
        finally:
            self.in_turn = False
            self._is_due = bool(self._waiting)
            if self._is_due:
                self._loop.call_soon(self._serve)

    async def beside(self, app: Any, scope: Any, receive: Any, send: Any) -> None:
        """Somebody else's request, from its first step to its last."""
        self.others += 1
        try:
            await app(scope, receive, send)
        finally:
            self.others -= 1


class Patience(HttpToolsProtocol):
    """HTTP/1.1 by httptools, with a bound on heads and a short way for answers that stand ready."""

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_open = True  # what comes next belongs to a head
        self._head_bytes = 0
        self._at_once = getattr(self.app, "at_once", None)
        if not hasattr(self.server_state, "crowd"):
            self.server_state.crowd = Crowd(self.loop)
        self._crowd: Crowd = self.server_state.crowd
        self._reading = False
        self._unread = b""  # what came while this connection waits for its turn
        self._held: tuple[RequestResponseCycle, Any] | None = None  # a request whose body may be in what is being read
        self._answered = False  # a request of what is being read

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, error: Exception | None) -> None:
        self._head_arrived()
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        if not self._unread and not data.startswith(CROWD):
            self._read(data)
            return
        if not self._unread:
            self._unread = data
            self._unset_keepalive_if_required()
            self._crowd.join(self)
            return
        self._unread += data
        if len(self._unread) > UNREAD_BYTES_MAX:
            self.flow.pause_reading()

    def read_waiting(self) -> None:
        """It is this connection's turn."""
        unread, self._unread = self._unread, b""
        if not unread or self.parser is None:
            return  # it was read when the server began to stop, or has gone
        if len(unread) > UNREAD_BYTES_MAX:
            self.flow.resume_reading()
        self._read(unread)

    def shutdown(self) -> None:
        """The server stops: what has come is still answered."""
        self.read_waiting()
        super().shutdown()

    def _read(self, data: bytes) -> None:
        self._head_bytes += len(data)
        self._reading, self._answered = True, False
        super().data_received(data)
        self._reading = False
        self._start_held()
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return  # over, or a websocket's now
        if self._head_open and self._head_bytes > HEAD_BYTES_MAX:
            self.send_400_response("The head of the request is too large.")
        elif self._head_open or not (self._answered or (self.cycle and not self.cycle.response_complete)):
            self._wait_for_head()

    def on_message_begin(self) -> None:
        self._head_open = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_arrived()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if not self._crowd.in_turn:
            self._crowd.others_at = monotonic()
        held, self._held = self._held, None
        if held is not None and not held[0].disconnected and not self._answer_at_once(*held):
            self._start(*held)

    # at once

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """uvicorn starts an application when the head is there; here it is held until the end of what came with the head."""
        if self._at_once is None or not self._reading:
            self._start(cycle, app)
        else:
            self._held = (cycle, app)

    def _start_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._start(*held)

    def _start(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, app if self._crowd.in_turn else partial(self._crowd.beside, app))

    def _answer_at_once(self, cycle: RequestResponseCycle, app: Any) -> bool:
        """-> whether it was answered, or will be."""
        if not cycle.keep_alive or cycle.waiting_for_100_continue or self.flow.write_paused:
            return False
        try:
            answer = self._at_once(cycle.scope, bytes(cycle.body))
        except Exception:
            log.exception("an answer that should stand ready could not be given")
            return False
        if answer is None:
            return False
        if isinstance(answer, Later):
            answer.reply.add_done_callback(partial(self._answer_later, cycle, app, answer.finish))
        else:
            self._answered = True
            self._write_answer(cycle, *answer)
        return True

    def _answer_later(self, cycle: RequestResponseCycle, app: Any, finish: Callable[[Any], Any], reply: asyncio.Future) -> None:
        """The reply has come, also for a caller who has gone: what was decided is counted and made known all the same."""
        answer = None
        try:
            answer = finish(reply.result())
        except DoormanError:
            pass  # the ordinary way asks again, and says what is wrong
        except Exception:
            log.exception("an answer could not be finished")
        if cycle.disconnected or self.transport.is_closing():
            return
        if answer is None:
            super()._start_asgi_task(cycle, app)  # the crowd's, as it was
        else:
            self._write_answer(cycle, *answer)

    def _write_answer(self, cycle: RequestResponseCycle, status: int, rest: bytes) -> None:
        """`rest`: everything behind the server's own headers."""
        cycle.response_started = cycle.response_complete = True
        self.transport.write(STATUS_LINE[status] + _servers_own(self.server_state) + rest)
        if not cycle.keep_alive:  # the server stops
            self.transport.close()
        cycle.on_response()

    # heads

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _head_arrived(self) -> None:
        self._head_open, self._head_bytes = False, 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
