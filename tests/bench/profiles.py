"""Where a hot path's time goes, function by function: `python -m tests.bench.profiles no|decided|page`.

The application runs in this process over a Valkey and a PostgreSQL of its own, and is asked through `Guard.at_once` as the server
asks it, without HTTP. First without a profiler, for the true cost of a request; then with cProfile, whose times are inflated and of
which only the shares are printed.
"""

import asyncio
import cProfile
import pstats
import shutil
import sys
import tempfile
import time
from pathlib import Path

import structlog
import uvloop

from app.embedded import postgres, valkey
from app.ledger.migrate import migrate
from app.web.ready import Later
from app.web.serve import spare_collections
from app.web.session import mint_cookies
from tests.web.conftest import HOST, URL, open_shop, settings_with

REQUESTS, TOGETHER, SHOWN = 20_000, 64, 16
PAUSE_EVERY, PAUSE_SECONDS = 300, 0.004  # so that what is remembered is read again, as in a server that also does other things


def head(method: str, path: str, cookie: str) -> dict:
    """-> an ASGI scope as uvicorn makes it of a browser's request."""
    headers = {
        "host": HOST, "user-agent": "Mozilla/5.0", "accept-language": "en-GB,en;q=0.9", "accept-encoding": "gzip, deflate, br",
        "accept": "text/html, */*",
    } | ({
        "hx-request": "true", "hx-request-type": "partial", "origin": URL, "sec-fetch-site": "same-origin", "referer": URL,
        "cookie": cookie, "content-type": "application/x-www-form-urlencoded", "content-length": "40",
    } if method == "POST" else {})  # fmt: skip
    return {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "client": ("127.0.0.1", 5),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip


async def play(app, requests: list[tuple[dict, bytes]]) -> float:
    """-> CPU microseconds a request."""
    waiting = iter(enumerate(requests))

    async def one_waits() -> None:
        for number, (scope, body) in waiting:
            while (answer := app.at_once(scope, body)) is None:  # a profiled process is slow: the memory grew too old
                await app.inner.pages.answer(app.call_of(scope), scope["path"].split("/")[2], scope["headers"])
            if isinstance(answer, Later):
                answer.finish(await answer.reply)
            elif number % PAUSE_EVERY == 0:
                await asyncio.sleep(PAUSE_SECONDS)

    began = time.process_time()
    await asyncio.gather(*(one_waits() for _ in range(TOGETHER)))
    return 1e6 * (time.process_time() - began) / len(requests)


async def main(path: str, redis_url: str, dsn: str) -> None:
    await migrate(dsn)
    async with open_shop(settings_with(redis_url, dsn)) as shop:
        drop = await shop.opens(units=3 * REQUESTS if path == "decided" else 1)
        await shop.app_hears(drop)
        cookies = mint_cookies(shop.settings, await shop.ledger.mint_shoppers(2 * REQUESTS + 2))
        address = f"/drops/{drop.slug}" + ("" if path == "page" else "/buy")
        method = "GET" if path == "page" else "POST"
        requests = [(head(method, address, cookie), b"key=profile-%d&quantity=1" % number) for number, cookie in enumerate(cookies)]
        await shop.app.inner.pages.answer(shop.app.call_of(requests[0][0]), drop.slug, requests[0][0]["headers"])
        if path == "no":
            await play(shop.app, requests[:2])  # one buys the only unit, the other is refused: from now on it is remembered
            await asyncio.sleep(0.1)
        spare_collections()
        print(f"{path}: {await play(shop.app, requests[2 : 2 + REQUESTS]):.1f} us of CPU a request")
        with cProfile.Profile() as profile:
            await play(shop.app, requests[2 + REQUESTS :])
        found = pstats.Stats(profile)
        own = sorted(((times[2], where) for where, times in found.stats.items()), reverse=True)
        for seconds, (file, _, name) in own[:SHOWN]:
            print(f"{seconds / found.total_tt:6.1%}  {Path(file).name} {name}")


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    folder = Path(tempfile.mkdtemp(prefix="dmp-"))
    folder.chmod(0o711)
    gate = valkey.start(folder / "gate", folder / "g.sock", "everysec")
    ledger, dsn = postgres.start(folder / "pg", folder / "s", "profile", ("fsync=off",))
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main(sys.argv[1], f"unix://{folder}/g.sock", dsn))
    finally:
        for process in (gate, ledger):
            process.terminate()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
