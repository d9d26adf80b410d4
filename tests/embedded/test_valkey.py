import os
import stat
from pathlib import Path

import pytest
import redis

from app.embedded import valkey
from app.embedded.folders import kept_secret
from app.errors import StartFailed


@pytest.fixture
def place(folder, request):
    path = folder / f"v{abs(hash(request.node.name)) % 10**6}"
    path.mkdir()
    return path


@pytest.fixture
def started():
    """Start servers, and end them after the test."""
    processes = []

    def start(*arguments, **options):
        processes.append(valkey.start(*arguments, **options))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_every_write_that_was_answered_survives_kill_9(place, started):
    process = started(place / "d", place / "s", "always", "secret")
    client = redis.Redis.from_url(valkey.url(place / "s", "secret"))
    for number in range(300):
        client.set(f"k{number}", number)
    process.kill()
    process.wait()
    started(place / "d", place / "s", "always", "secret")
    assert redis.Redis.from_url(valkey.url(place / "s", "secret")).dbsize() == 300


def test_nobody_enters_without_the_password(place, started):
    started(place / "d", place / "s", "everysec", "secret")
    with pytest.raises(redis.AuthenticationError):
        redis.Redis.from_url(f"unix://{place}/s").ping()
    assert not valkey.answers(place / "s")
    assert not valkey.answers(place / "s", "another")


def test_a_password_may_hold_any_character(place, started):
    password = 'p "q\\w@/:%40 é'
    started(place / "d", place / "s", "everysec", password)
    assert redis.Redis.from_url(valkey.url(place / "s", password)).ping()


def test_the_password_is_in_no_command_line(place, started):
    process = started(place / "d", place / "s", "everysec", "a-secret-to-find")
    assert b"a-secret-to-find" not in Path(f"/proc/{process.pid}/cmdline").read_bytes()


def test_it_listens_on_no_port_and_never_evicts(place, started):
    started(place / "d", place / "s", "always")
    settings = redis.Redis.from_url(f"unix://{place}/s").config_get("*")
    assert (settings["port"], settings["appendfsync"], settings["maxmemory-policy"]) == ("0", "always", "noeviction")


def test_data_that_cannot_be_read_end_in_one_sentence(place):
    (place / "d" / "appendonlydir").mkdir(parents=True)
    (place / "d" / "appendonlydir" / "appendonly.aof.manifest").write_text("this is no manifest\n")
    with pytest.raises(StartFailed, match=r"^Valkey stopped at start \(.*\); its log is .*valkey.log$"):
        valkey.start(place / "d", place / "s")


def test_a_secret_is_made_once_and_for_us_alone(place):
    made = kept_secret(place / "password")
    assert kept_secret(place / "password") == made
    assert len(made) >= 32
    assert stat.S_IMODE(os.stat(place / "password").st_mode) == 0o600
