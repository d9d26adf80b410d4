"""The stage of a paired measure: a throwaway Doorman with one web process on a core of its own, and a baseline beside it.

`with stage() as place:` gives both; the drop, the shoppers and their requests are made here, as browsers make them.
"""

import asyncio
import json
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httptools

from app import wiring
from app.bench import cores
from app.bench.bare import NOT_COPIED, serving
from app.bench.crowd import Ask
from app.bench.site import Site, new_drop, site
from app.domain.drops import Drop

BROWSER = (
    (
        "User-Agent",
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    ),
    ("Accept-Language", "en-GB,en;q=0.9"),
    ("Accept-Encoding", "gzip, deflate, br"),
)
ANSWER_SECONDS_MAX = 10.0


@dataclass(slots=True)
class Stage:
    place: Site
    folder: Path

    @property
    def pid(self) -> int:
        """Of the one web process."""
        return self.place.run["web"][0]

    def drop(self, title: str, units: int) -> Drop:
        return asyncio.run(self._drop(title, units))

    async def _drop(self, title: str, units: int) -> Drop:
        async with wiring.office(self.place.settings, "bench") as office:
            return await new_drop(office, title, units)

    def shoppers(self, count: int) -> list[str]:
        """-> their Cookie header values."""
        return asyncio.run(self._shoppers(count))

    async def _shoppers(self, count: int) -> list[str]:
        from app.web.session import mint_cookies

        async with wiring.office(self.place.settings, "bench") as office:
            return mint_cookies(self.place.settings, await office.ledger.mint_shoppers(count))

    def buys(self, drop: Drop, cookies: Sequence[str], name: str) -> Ask:
        """-> one press of Buy a shopper, with the form and the headers that a browser sends with htmx. `name` keeps keys apart."""
        headers = (
            *BROWSER,
            ("Accept", "text/html, */*"),
            ("HX-Request", "true"),
            ("HX-Request-Type", "partial"),
            ("HX-Current-URL", f"{self.place.url}/drops/{drop.slug}"),
            ("Origin", self.place.url),
            ("Sec-Fetch-Site", "same-origin"),
            ("Sec-Fetch-Mode", "cors"),
            ("Sec-Fetch-Dest", "empty"),
            ("Referer", f"{self.place.url}/drops/{drop.slug}"),
        )
        url = f"{self.place.url}/drops/{drop.slug}/buy"
        return Ask(url, len(cookies), cookies, body=f"key={name}-Qm9va3NCYWxhbm-{{i}}&quantity=1", headers=headers)

    def views(self, drop: Drop, count: int, *more: tuple[str, str]) -> Ask:
        """-> views of the drop's page by people who are not signed in."""
        return Ask(f"{self.place.url}/drops/{drop.slug}", count, method="GET", headers=(*BROWSER, ("Accept", "text/html"), *more))

    @contextmanager
    def baseline(self, answer: dict) -> Iterator[tuple[str, int]]:
        """-> (http://host:port, pid) of the bare server that answers this."""
        told = self.folder / "answer.json"
        told.write_text(json.dumps(answer))
        secret = {"DOORMAN_SECRET": self.place.settings.secret}
        with serving(["app.bench.bare", str(told)], secret, self.folder / "bare.log") as (host, process):
            answer_to(f"http://{host}/same", b"GET /same HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode())  # it is up
            cores.pin(process.pid, cores.SERVER)
            yield f"http://{host}", process.pid


@contextmanager
def stage() -> Iterator[Stage]:
    with cores.kept(), site(None, web=1, environment=OWN) as place, tempfile.TemporaryDirectory(prefix="doorman-stage-") as folder:
        pin_parts(place)
        yield Stage(place, Path(folder))


OWN = {"DOORMAN_BENCH": "1"}  # never a Doorman that happens to run here


def pin_parts(place: Site) -> None:
    """The web processes on one core, all other parts and ourselves on the other."""
    run = place.run
    others = {*run["worker"], *run["recorder"], *(run[part]["pid"] for part in ("redis", "postgres", "provider", "warehouse"))}
    cores.pin_apart(run["web"], (others - {None}) | set(descendants(run["pid"])) - set(run["web"]))


def descendants(pid: int) -> list[int]:
    """-> the processes below this one; none where the system does not tell."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found


def answer_to(url: str, request: bytes) -> dict:
    """Send one request as it is -> the answer as the bare server needs it: status, headers, body."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), timeout=ANSWER_SECONDS_MAX) as connection:
        connection.sendall(request)
        heard = _Heard()
        while not heard.complete:
            data = connection.recv(65_536)
            if not data:
                raise ConnectionError(f"{url} hung up in the middle of an answer")
            heard.parser.feed_data(data)
    headers = [[name.decode(), value.decode()] for name, value in heard.headers if name.lower() not in NOT_COPIED]
    return {"status": heard.parser.get_status_code(), "headers": headers, "body_hex": heard.body.hex()}


class _Heard:
    def __init__(self):
        self.parser = httptools.HttpResponseParser(self)
        self.headers: list[tuple[bytes, bytes]] = []
        self.body, self.complete = b"", False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete = True
