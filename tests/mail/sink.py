"""A mail server in this process that can refuse, hang up, or take a mail and die before it says so."""

import asyncio
import contextlib
from email import message_from_bytes
from email.policy import default


class Sink:
    """Speaks enough SMTP. `faults`: raised once each, in order, one per mail: what happens to it instead of being taken."""

    def __init__(self):
        self.mails = []  # what it took, whether or not it said so
        self.faults: list[str] = []
        self.connections = 0
        self._server = None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def open(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def close(self) -> None:
        self._server.close()

    async def _serve(self, reader, writer) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._talk(reader, writer)
        writer.close()

    async def _talk(self, reader, writer) -> None:
        def say(line: str) -> None:
            writer.write(line.encode() + b"\r\n")

        say("220 sink")
        fault = None
        while line := (await reader.readline()).decode().strip():
            word = line.partition(" ")[0].upper()
            if word in ("EHLO", "HELO"):
                say("250 sink")
            elif word == "MAIL":
                fault = self.faults.pop(0) if self.faults else None
                say("250 ok")
            elif word == "RCPT":
                say({"no such person": "550 5.1.1 no such person", "busy": "451 4.3.0 try again later"}.get(fault, "250 ok"))
            elif word == "DATA":
                if fault == "hangs up before data":
                    return
                say("354 go on")
                data = await reader.readuntil(b"\r\n.\r\n")
                if fault == "refuses the mail":
                    say("554 5.7.1 not wanted")
                    continue
                self.mails.append(message_from_bytes(data[:-5].replace(b"\r\n..", b"\r\n."), policy=default))
                if fault == "takes it and dies":
                    return
                say("250 taken")
            elif word == "QUIT":
                say("221 bye")
                return
            else:
                say("250 ok")
            await writer.drain()
