"""Runs `app.up.up` with tiny stand-ins for the web, worker and recorder processes: `up_driver.py PORT DATA [WEB]`.

The stand-in web process serves on the socket it was handed and answers every path with its process number. The word `crash` in the
environment variable STAND_IN makes the web process end at once; `provider` gives `up` a stand-in provider too.
"""

import os
import sys
from pathlib import Path

from app import up
from app.cli import main

WEB = """
import http.server, os, socket
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = str(os.getpid()).encode()
        self.send_response(200); self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer, bind_and_activate=False)
server.socket.close()
server.socket = socket.socket(fileno=int(os.environ["DOORMAN_LISTEN_FD"]))
server.serve_forever()
"""
SLEEP = "import signal; signal.pause()"


def program(code: str) -> list[str]:
    return [sys.executable, "-c", code]


if __name__ == "__main__":
    port, data, *web = sys.argv[1:]
    commands = up.Commands(
        migrate=up.Commands.ours().migrate,
        web=program("raise SystemExit(3)" if os.environ.get("STAND_IN") == "crash" else WEB),
        worker=program(SLEEP),
        recorder=program(SLEEP),
        provider=program(SLEEP) if os.environ.get("STAND_IN") == "provider" else None,
        warehouse=None,
        demo=None,
    )
    options = up.Options(port=int(port), data=Path(data), web=int(web[0]) if web else 2)
    main.__globals__["up"].up = lambda _, run=up.up: run(options, commands)  # the command's own way of printing its faults
    sys.exit(main(["up"]))
