"""Makes `.venv` ready: `python3 bin/_setup.py [--test]`. Needs nothing but Python 3.11 and its standard library.

What it does, each only where needed: makes the virtual environment, installs the hash-pinned requirements, puts this checkout on
the environment's path, writes `.venv/bin/doorman`, and for tests finds or installs Chromium. It is safe to run again, wherever it
was cut off, and from several shells at once (the others wait); when nothing is missing it writes nothing, so a checkout that
belongs to somebody else works too.

Ways to a virtual environment, in order: uv; this Python's venv and pip; as root on Debian and its kin, the distribution's package;
the uv of bin/uv.txt, by SHA-256, through this Python's pip or from the index that pip and uv are configured for.
"""

import argparse
import configparser
import contextlib
import fcntl
import hashlib
import html
import io
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
VENV = CHECKOUT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "doorman-setup.json"
COMMAND = VENV / "bin" / "doorman"
RUN, TEST = "requirements.txt", "requirements-test.txt"
UV_REQUIREMENT = CHECKOUT / "bin" / "uv.txt"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PYTHON_MIN = (3, 11)
FETCH_SECONDS = 60
WHEEL_BYTES_MAX = 200 * 2**20


class SetupFailed(Exception):
    """One sentence: what is missing and the line that brings it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--test", action="store_true", help="also what the tests need, Chromium among it")
    arguments = parser.parse_args()
    try:
        with alone():
            set_up(TEST if arguments.test else RUN)
            if arguments.test:
                ensure_browser()
    except SetupFailed as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"setup: {error.filename or VENV}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def alone():
    """One setup of this checkout at a time. The lock is on this very file: no lock file is needed, and it ends with the process."""
    with open(__file__, "rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another setup of this checkout")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def set_up(requirements: str) -> None:
    stamp = read_stamp()
    digest = hashlib.sha256((CHECKOUT / requirements).read_bytes()).hexdigest()
    if not venv_works():
        stamp = {}
        make_venv()
    if stamp.get(requirements) != digest:
        say(f"installing {requirements}")
        install(requirements)
        stamp[requirements] = digest
        if requirements == TEST:  # which holds all of the other
            stamp[RUN] = hashlib.sha256((CHECKOUT / RUN).read_bytes()).hexdigest()
        else:
            stamp.pop(TEST, None)
        write(STAMP, json.dumps(stamp))
    if stamp.get("checkout") != str(CHECKOUT) or not COMMAND.exists():  # new, or moved
        put_on_path()
        stamp["checkout"] = str(CHECKOUT)
        write(STAMP, json.dumps(stamp))


def read_stamp() -> dict:
    try:
        return json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}


def venv_works() -> bool:
    if not PYTHON.exists():
        return False
    probe = f"import sys; sys.exit(sys.version_info < {PYTHON_MIN} or sys.prefix == sys.base_prefix)"
    return subprocess.run([PYTHON, "-c", probe], capture_output=True).returncode == 0


def put_on_path() -> None:
    """The checkout on the environment's path, and the console script."""
    found = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True
    )
    write(Path(found.stdout.strip()) / "doorman.pth", f"{CHECKOUT}\n")
    # Through sh, not by a "#!" of its own: that one may neither hold a space nor be long.
    write(COMMAND, f'#!/bin/sh\nexec {shlex.quote(str(PYTHON))} -P -m app.cli "$@"\n')
    COMMAND.chmod(0o755)


# --- the virtual environment ------------------------------------------------------------------------------------------------------


def make_venv() -> None:
    say(f"making {VENV}")
    if VENV.is_dir() and not VENV.is_symlink():
        shutil.rmtree(VENV)
    uv = shutil.which("uv")
    if uv:
        run(uv, "venv", "--quiet", "--python", sys.executable, VENV)
    elif not own_venv():
        if as_root_on_debian():
            apt_get("python3-venv")
            if own_venv():
                return
        uv_venv()


def own_venv() -> bool:
    """-> whether this Python could make one with pip in it (Debian leaves the parts for that out of its plain python3)."""
    if subprocess.run([sys.executable, "-c", "import venv, ensurepip"], capture_output=True).returncode:
        return False
    made = subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True)
    if made.returncode or subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        return False
    return True


def uv_venv() -> None:
    """With the pinned uv, which then stays in the environment for the next time."""
    with tempfile.TemporaryDirectory(prefix="doorman-setup-") as folder:
        uv = fetch_uv(Path(folder))
        run(uv, "venv", "--quiet", "--python", sys.executable, VENV)
        shutil.copy2(uv, VENV / "bin" / "uv")


def install(requirements: str) -> None:
    uv = shutil.which("uv") or (str(VENV / "bin" / "uv") if (VENV / "bin" / "uv").exists() else None)
    if uv:
        run(uv, "pip", "install", "--quiet", "--python", PYTHON, "--require-hashes", "-r", CHECKOUT / requirements)
        return
    if subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode:
        if subprocess.run([PYTHON, "-m", "ensurepip"], capture_output=True).returncode:
            with tempfile.TemporaryDirectory(prefix="doorman-setup-") as folder:
                shutil.copy2(fetch_uv(Path(folder)), VENV / "bin" / "uv")
            return install(requirements)
    quiet = ("-qq", "--disable-pip-version-check", "--no-input")
    run(PYTHON, "-m", "pip", "install", *quiet, "--require-hashes", "-r", CHECKOUT / requirements)


# --- the pinned uv ----------------------------------------------------------------------------------------------------------------


def fetch_uv(folder: Path) -> Path:
    """-> the program of the wheel that bin/uv.txt pins for this platform."""
    say("fetching the pinned uv")
    wheel = uv_wheel_by_pip(folder) or uv_wheel_from_index()
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        name = next((name for name in archive.namelist() if name.endswith("/scripts/uv")), None)
        if name is None:
            raise SetupFailed("the wheel of uv holds no uv")
        program = folder / "uv"
        program.write_bytes(archive.read(name))
    program.chmod(0o755)
    return program


def uv_wheel_by_pip(folder: Path) -> bytes | None:
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        return None
    options = ("-qq", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--require-hashes")
    done = subprocess.run([sys.executable, "-m", "pip", "download", *options, "-r", UV_REQUIREMENT, "-d", folder])
    wheels = list(folder.glob("uv-*.whl"))
    return wheels[0].read_bytes() if done.returncode == 0 and wheels else None


def uv_wheel_from_index() -> bytes:
    """Without pip: read the index's page of uv, take the wheel for this platform, believe it only by its hash."""
    text = UV_REQUIREMENT.read_text()
    version = re.search(r"^uv==(\S+)", text, re.M).group(1)
    hashes = set(re.findall(r"--hash=sha256:([0-9a-f]{64})", text))
    indexes = configured_indexes()
    for index in indexes:
        page = index.rstrip("/") + "/uv/"
        try:
            links = re.findall(r'href="([^"]+)"', fetch(page).decode(errors="replace"))
        except (OSError, ValueError) as error:
            say(f"no answer from {without_login(page)}: {error}")
            continue
        for link in map(html.unescape, links):
            address = urllib.parse.urljoin(page, link).partition("#")[0]
            if not fits_this_platform(urllib.parse.unquote(address.rpartition("/")[2]), version):
                continue
            wheel = fetch(address)
            if hashlib.sha256(wheel).hexdigest() not in hashes:
                raise SetupFailed(
                    f"the uv wheel at {without_login(address)} is not the one that bin/uv.txt pins: its SHA-256 differs"
                )
            return wheel
    looked = " and ".join(map(without_login, indexes)) or "no package index is configured"
    raise SetupFailed(f"no way to make a virtual environment; missing: apt-get install python3-venv (looked for uv too: {looked})")


def fits_this_platform(name: str, version: str) -> bool:
    """-> whether this file is the wheel of that uv for this machine. Names: uv-VERSION-py3-none-PLATFORM.whl."""
    found = re.fullmatch(rf"uv-{re.escape(version)}-py3-none-(\S+)\.whl", name)
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if not found:
        return False
    if sys.platform == "darwin":
        return found[1].startswith("macosx") and found[1].endswith({"aarch64": "arm64"}.get(machine, machine))
    return found[1].startswith("manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux") and found[1].endswith(machine)


def configured_indexes() -> list[str]:
    """-> the package indexes of this machine's configuration, as pip and uv would read it: environment first, then pip.conf."""
    found = [os.environ.get(name, "") for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")]
    folders = [Path.home() / ".pip", Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config")) / "pip"]
    files = [folder / "pip.conf" for folder in folders] + [Path("/etc/pip.conf"), Path("/etc/xdg/pip/pip.conf")]
    for file in [Path(os.environ["PIP_CONFIG_FILE"])] if "PIP_CONFIG_FILE" in os.environ else files:
        settings = configparser.RawConfigParser()
        with contextlib.suppress(configparser.Error, OSError):
            settings.read(file)
        found += [settings.get("global", name, fallback="") for name in ("index-url", "extra-index-url")]
    return list(dict.fromkeys(url for entry in found for url in entry.split() if "://" in url))


def fetch(address: str) -> bytes:
    """OSError when it is not to be had. A login in the address is sent as pip would send it."""
    parts = urllib.parse.urlsplit(address)
    request = urllib.request.Request(without_login(address), headers={"Accept": "text/html, */*;q=0.1"})
    if parts.username:
        import base64

        login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    if parts.scheme == "file" and Path(urllib.request.url2pathname(parts.path)).is_dir():
        request = urllib.request.Request(address.rstrip("/") + "/index.html")
    with urllib.request.urlopen(request, timeout=FETCH_SECONDS) as answer:
        content = answer.read(WHEEL_BYTES_MAX + 1)
    if len(content) > WHEEL_BYTES_MAX:
        raise SetupFailed(f"{without_login(address)} is larger than {WHEEL_BYTES_MAX} bytes")
    return content


def without_login(address: str) -> str:
    return re.sub(r"://[^/@]*@", "://", address)


# --- Chromium ---------------------------------------------------------------------------------------------------------------------


def ensure_browser() -> None:
    """A Chromium on PATH, or the one that Playwright brings."""
    if any(map(shutil.which, BROWSERS)):
        return
    if as_root_on_debian():
        with contextlib.suppress(SetupFailed):
            apt_get("chromium")
        if any(map(shutil.which, BROWSERS)):
            return
    say("no Chromium on PATH: asking Playwright for one")
    if subprocess.run([PYTHON, "-m", "playwright", "install", "chromium"]).returncode:
        raise SetupFailed("the tests need Chromium; missing: apt-get install chromium")


# --- what they share --------------------------------------------------------------------------------------------------------------


def as_root_on_debian() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_get(package: str) -> None:
    say(f"apt-get install {package}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (("update",), ("install", "-y", "--no-install-recommends", package)):
        if subprocess.run(["apt-get", "-qq", *arguments], env=environment, stdin=subprocess.DEVNULL).returncode:
            raise SetupFailed(f"apt-get {' '.join(arguments)} failed; the lines above say why")


def run(*command: object) -> None:
    """Run a step whose failure ends the setup; its own output says why."""
    if subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL).returncode:
        raise SetupFailed(f"{Path(str(command[0])).name} failed; the lines above say why")


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.write_text(text)
    draft.replace(path)


def say(line: str) -> None:
    print(f"setup: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
