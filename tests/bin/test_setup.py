"""bin/_setup.py in a copy of the checkout's own files: real virtual environments, a package index of our own on loopback."""

import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

BIN = Path(__file__).parents[2] / "bin"
NOTHING = "# nothing is required\n"


@pytest.fixture
def checkout(tmp_path):
    return new_checkout(tmp_path / "a checkout")


def new_checkout(place: Path) -> Path:
    """-> a bare checkout with a space in its path, whose requirements are empty."""
    shutil.copytree(BIN, place / "bin", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "requirements.txt").write_text(NOTHING)
    (place / "requirements-test.txt").write_text(NOTHING)
    (place / "app").mkdir()
    (place / "app" / "__init__.py").touch()
    (place / "app" / "cli.py").write_text("import sys\nprint('doorman', *sys.argv[1:])\n")
    return place


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A checkout that was set up once; tests copy it."""
    place = new_checkout(tmp_path_factory.mktemp("made") / "a checkout")
    assert run(place).returncode == 0
    return place


@pytest.fixture
def ready(made, tmp_path):
    """A copy of a checkout that was set up, at another path."""
    return Path(shutil.copytree(made, tmp_path / "a ready checkout", symlinks=True))


@pytest.fixture
def setup(checkout):
    """The script as a module of its own, with `checkout` as its checkout."""
    spec = importlib.util.spec_from_file_location("doorman_setup", checkout / "bin" / "_setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(checkout: Path, *arguments: str, program: str = "_setup.py", **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, checkout / "bin" / program] if program.endswith(".py") else [checkout / "bin" / program]
    return subprocess.run([*command, *arguments], env=os.environ | environment, capture_output=True, text=True)


def changed(place: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in sorted(place.rglob("*")) if "__pycache__" not in path.parts}


def test_a_bare_checkout_gets_its_environment_and_command_and_a_second_run_writes_nothing(checkout, tmp_path):
    first = run(checkout)
    assert (first.returncode, first.stderr) == (0, "")
    shown = subprocess.run([checkout / ".venv/bin/doorman", "books", "a b"], capture_output=True, text=True, cwd=tmp_path)
    assert shown.stdout == "doorman books a b\n"
    before = changed(checkout)
    second = run(checkout)
    assert (second.returncode, second.stdout, changed(checkout)) == (0, "", before)


def test_bin_up_passes_its_flags_through(ready):
    done = run(ready, "--port", "9", "--no-demo", program="up")
    assert done.stdout.splitlines()[-1] == "doorman up --port 9 --no-demo"


def test_a_checkout_that_moved_finds_itself_again(ready, tmp_path):
    done = run(ready)
    assert (done.returncode, "installing" in done.stdout) == (0, False)
    shown = subprocess.run([ready / ".venv/bin/doorman", "up"], capture_output=True, text=True, cwd=tmp_path)
    assert shown.stdout == "doorman up\n"
    assert str(ready) in (ready / ".venv/bin/doorman").read_text()


def test_requirements_are_installed_anew_only_when_they_changed(ready):
    assert "installing" not in run(ready).stdout
    (ready / "requirements.txt").write_text("# something else\n")
    assert "installing requirements.txt" in run(ready).stdout
    assert "installing" not in run(ready).stdout


def test_what_the_tests_need_covers_what_running_needs(ready):
    (ready / ".venv" / "doorman-setup.json").unlink()
    assert "installing requirements-test.txt" in run(ready, "--test").stdout
    assert "installing" not in run(ready).stdout


def test_a_requirement_without_the_right_hash_is_refused(ready, tmp_path):
    wheel = make_wheel(tmp_path, "thing-1.0-py3-none-any.whl", {"thing.py": ""})
    (ready / "requirements.txt").write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
    options = {"PIP_FIND_LINKS": str(tmp_path), "PIP_NO_INDEX": "1", "UV_FIND_LINKS": str(tmp_path), "UV_NO_INDEX": "1"}
    refused = run(ready, **options)
    assert refused.returncode == 1 and "failed; the lines above say why" in refused.stderr
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (ready / "requirements.txt").write_text(f"thing==1.0 --hash=sha256:{digest}\n")
    assert run(ready, **options).returncode == 0
    assert subprocess.run([ready / ".venv/bin/python", "-c", "import thing"]).returncode == 0


def test_an_environment_that_was_cut_off_is_made_anew(checkout):
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    assert run(checkout).returncode == 0
    assert subprocess.run([checkout / ".venv/bin/python", "-c", "import app.cli"], capture_output=True).returncode == 0


def test_a_second_setup_waits_for_the_first(checkout):
    with (checkout / "bin" / "_setup.py").open("rb") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        command = [sys.executable, "-u", checkout / "bin" / "_setup.py"]
        second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert second.stdout.readline() == "setup: waiting for another setup of this checkout\n"
        assert second.poll() is None and not (checkout / ".venv").exists()
    second.communicate()
    assert second.returncode == 0 and (checkout / ".venv" / "bin" / "doorman").exists()


# --- the pinned uv ---------------------------------------------------------------------------------------------------------------


def make_wheel(folder: Path, name: str, files: dict[str, str]) -> Path:
    project, version = name.split("-")[:2]
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        info = f"{project}-{version}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return folder / name


@pytest.fixture
def index(tmp_path, setup):
    """A package index on loopback with a stand-in for the uv wheel of this machine, pinned in bin/uv.txt -> (address, wheel)."""
    folder = tmp_path / "index"
    (folder / "uv").mkdir(parents=True)
    tag = f"macosx_11_0_{platform.machine()}" if sys.platform == "darwin" else f"manylinux_2_17_{platform.machine()}"
    # It makes a virtual environment as uv would, with this Python's own module.
    stand_in = f'#!/bin/sh\nfor last; do :; done\nexec "{sys.executable}" -m venv --without-pip "$last"\n'
    wheel = make_wheel(folder / "uv", f"uv-0.0.1-py3-none-{tag}.whl", {"uv-0.0.1.data/scripts/uv": stand_in})
    (folder / "uv" / "index.html").write_text(
        '<a href="uv-0.0.1-py3-none-win_amd64.whl#sha256=0">windows</a><a href="uv-0.0.2-py3-none-any.whl">newer</a>'
        f'<a href="{wheel.name}#sha256=whatever-the-index-says">ours</a>'
    )
    setup.UV_REQUIREMENT.write_text(f"uv==0.0.1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", wheel
    server.shutdown()
    server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def bare(setup, monkeypatch):
    """A machine without uv, without venv or pip in its Python, and not root on Debian."""
    monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    monkeypatch.setattr(setup, "own_venv", lambda: False)
    monkeypatch.setattr(setup, "uv_wheel_by_pip", lambda folder: None)
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")


def test_the_pinned_uv_of_the_configured_index_makes_the_environment(setup, bare, index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", index[0])
    setup.make_venv()
    assert setup.venv_works()
    assert (setup.VENV / "bin" / "uv").exists(), "it stays for the next time"


def test_an_index_in_pip_conf_is_used_too(setup, bare, index, monkeypatch, tmp_path):
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {index[0]}/\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    setup.make_venv()
    assert setup.venv_works()


def test_an_index_that_does_not_answer_is_passed_over(setup, bare, index, monkeypatch):
    monkeypatch.setenv("UV_INDEX_URL", "http://user:hush@127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index[0])
    setup.make_venv()
    assert setup.venv_works()


def test_a_wheel_with_another_hash_is_never_run(setup, bare, index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", index[0])
    index[1].write_bytes(index[1].read_bytes() + b"changed on the way")
    with pytest.raises(setup.SetupFailed, match=r"is not the one that bin/uv.txt pins: its SHA-256 differs"):
        setup.make_venv()
    assert not setup.VENV.exists()


def test_an_ordinary_user_without_any_way_hears_the_one_line_that_is_missing(setup, bare):
    with pytest.raises(setup.SetupFailed, match=r"missing: apt-get install python3-venv"):
        setup.make_venv()


def test_root_on_debian_gets_the_distributions_package(setup, bare, monkeypatch):
    asked = []
    monkeypatch.setattr(setup, "as_root_on_debian", lambda: True)
    monkeypatch.setattr(setup, "apt_get", asked.append)
    monkeypatch.setattr(setup, "own_venv", lambda: bool(asked))
    setup.make_venv()
    assert asked == ["python3-venv"]


def test_tests_without_chromium_name_the_line_that_brings_it(setup, bare, monkeypatch):
    (setup.VENV / "bin").mkdir(parents=True)
    setup.PYTHON.write_text("#!/bin/sh\nexit 1\n")
    setup.PYTHON.chmod(0o755)
    with pytest.raises(setup.SetupFailed, match=r"the tests need Chromium; missing: apt-get install chromium"):
        setup.ensure_browser()


def test_every_pin_of_uv_is_a_sha256():
    lines = [line for line in (BIN / "uv.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines[0].startswith("uv==")
    assert all(len(line.split("sha256:")[1].rstrip(" \\")) == 64 for line in lines[1:]) and len(lines) > 5
