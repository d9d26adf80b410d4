import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import redis

from app.embedded.children import started_at, wait_gone


async def ask(dsn: str, statement: str):
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


def doorman(*arguments: object, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    command = [sys.executable, "-P", "-m", "app.cli", *map(str, arguments)]
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True)


def test_run_json_names_every_part_and_is_for_us_alone(up, data):
    one = up(STAND_IN="provider", web=3).serves()
    run = one.run
    assert list(run) == ["url", "pid", "web", "worker", "recorder", "redis", "postgres", "provider", "warehouse"]
    assert (run["pid"], len(run["web"]), len(run["worker"]), len(run["recorder"])) == (one.process.pid, 3, 1, 1)
    assert {name: list(run[name]) for name in ("redis", "postgres", "provider", "warehouse")} == {
        "redis": ["pid", "url"],
        "postgres": ["pid", "dsn"],
        "provider": ["pid", "url", "token"],
        "warehouse": ["pid", "url", "token"],
    }
    assert all(started_at(pid) for pid in one.pids())
    private = ("run.json", "environment.json", "secret", "gate-password", "queue-password", "postgres-password", "provider-token")
    assert {name: stat.S_IMODE((data / name).stat().st_mode) for name in private} == dict.fromkeys(private, 0o600)


def test_stripes_two_keys_take_the_sandboxs_place_and_one_alone_is_refused(up, data):
    one = up(STAND_IN="provider", web=1, STRIPE_SECRET_KEY="sk_test_x", STRIPE_PUBLISHABLE_KEY="pk_test_x").serves()
    assert one.run["provider"] == {"pid": None, "url": None, "token": None}
    assert not {name for name in json.loads((data / "environment.json").read_text()) if name.startswith("STRIPE_")}
    assert one.stop() == 0
    alone = up(STAND_IN="provider", web=1, STRIPE_SECRET_KEY="sk_test_x")
    assert alone.ends() == 1
    assert alone.output.startswith("doorman: STRIPE_SECRET_KEY is set without STRIPE_PUBLISHABLE_KEY; set both, or neither")


def test_the_gate_keeps_every_write_and_the_queue_is_a_server_of_its_own(up, data):
    up().serves()
    environment = json.loads((data / "environment.json").read_text())
    gate, queue = (redis.Redis.from_url(environment[name]) for name in ("REDIS_URL", "QUEUE_REDIS_URL"))
    assert gate.config_get("appendfsync") == {"appendfsync": "always"}
    assert queue.config_get("appendfsync") == {"appendfsync": "everysec"}
    assert gate.info("server")["process_id"] != queue.info("server")["process_id"]


def test_no_secret_stands_in_the_process_list(up, data):
    one = up(STAND_IN="provider").serves()
    secrets = [
        (data / name).read_bytes() for name in ("gate-password", "queue-password", "postgres-password", "provider-token", "secret")
    ]
    for pid in one.pids():
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        assert not [secret for secret in secrets if secret in command], command


async def test_after_kill_9_of_everything_the_next_up_has_the_same_data(up):
    killed = up().serves()
    redis.Redis.from_url(killed.run["redis"]["url"]).set("kept", "gate")
    await ask(killed.run["postgres"]["dsn"], "CREATE TABLE kept AS SELECT 'ledger'::text AS here")
    killed.kill_everything()
    following = up().serves()
    assert redis.Redis.from_url(following.run["redis"]["url"]).get("kept") == b"gate"
    assert await ask(following.run["postgres"]["dsn"], "SELECT here FROM kept") == "ledger"


def test_no_part_outlives_a_killed_up(up):
    killed = up().serves()
    parts = {pid: started_at(pid) for pid in killed.pids() if pid != killed.process.pid}
    killed.process.kill()
    killed.process.wait()
    assert all(wait_gone(pid, started, 5.0) for pid, started in parts.items())
    assert up().serves().get()


def test_ctrl_c_stops_all_of_it_and_leaves_the_data(up, data):
    one = up(STAND_IN="provider").serves()
    pids, sockets = one.pids(), Path((data / "sockets").read_text())
    assert one.stop(signal.SIGINT) == 0
    assert not any(started_at(pid) for pid in pids)
    assert not (data / "run.json").exists() and not sockets.exists()
    assert "did not stop in time" not in one.output
    assert (data / "gate").exists() and (data / "postgres" / "PG_VERSION").exists()


def test_every_part_that_dies_is_started_again_and_named_anew(up):
    one = up(STAND_IN="provider").serves()

    def pid(role: str) -> int | None:
        found = one.run[role]
        return found["pid"] if isinstance(found, dict) else next(iter(found), None)

    for role in ("web", "worker", "recorder", "redis", "postgres", "provider"):
        before, dead = one.pids(), pid(role)
        os.kill(dead, signal.SIGKILL)
        one.until(lambda: len(one.pids()) == len(before) and dead not in one.pids(), f"{role} runs again")  # noqa: B023
        assert len(set(before) & set(one.pids())) == len(before) - 1, f"only {role} was started again"
    assert one.output.count("stopped (SIGKILL); it starts again in 0.1 s") == 6
    assert one.get()


def test_no_connection_is_refused_while_web_processes_restart(up):
    one = up(web=1).serves()
    first = one.run["web"][0]
    os.kill(first, signal.SIGKILL)
    answers = {one.get() for _ in range(3)}  # the first of them waits in the backlog
    assert answers == {str(one.run["web"][0])} != {str(first)}


def test_a_port_in_use_is_one_sentence(up):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        one = up(port=port)
        assert one.ends() == 1
    assert one.output == (
        f"doorman: Cannot listen on 127.0.0.1 port {port}: it is in use by another program; choose another with --port\n"
    )


def test_a_data_folder_that_a_living_up_serves_is_one_sentence(up, data):
    first = up().serves()
    second = up()
    assert second.ends() == 1
    url = first.run["url"]
    assert second.output == (
        f"doorman: {data} is already served by a running doorman up (process {first.process.pid}, {url}); stop that one first\n"
    )
    assert first.get(), "the first goes on"


def test_a_foreign_database_folder_is_one_sentence_and_nothing_is_left_running(up, data):
    one = up().serves()
    assert one.stop() == 0
    (data / "postgres" / "PG_VERSION").write_text("15\n")
    refused = up()
    assert refused.ends() == 1
    assert refused.output.startswith("doorman: ") and refused.output.count("\n") == 1
    assert "was made by PostgreSQL 15 and this Doorman brings 18." in refused.output
    assert not (data / "run.json").exists()


def test_a_setting_that_breaks_the_order_of_timeouts_is_one_sentence(up):
    refused = up(DOORMAN_JOB_TIMEOUT_SECONDS="10")
    assert refused.ends() == 1
    assert refused.output == ("doorman: DOORMAN_PROVIDER_TIMEOUT_SECONDS (20 s) must be below DOORMAN_JOB_TIMEOUT_SECONDS (10 s)\n")


def test_a_web_process_that_cannot_start_ends_up_with_a_sentence(up):
    failing = up(STAND_IN="crash")
    assert failing.ends() == 1
    assert failing.output.splitlines()[-1] == "doorman: web 1 keeps stopping at start: exit code 3"


def test_a_data_folder_below_a_private_one_works_and_remembers_its_database(up, data):
    private = Path(tempfile.mkdtemp(prefix="private-", dir=data.parent))  # 0700: as root, nobody's account cannot pass
    one = up(private / "deep" / "d" / "data").serves()
    dsn = one.run["postgres"]["dsn"]
    assert one.stop() == 0
    noted = private / "deep" / "d" / "data" / "postgres-folder"
    assert noted.exists() == (os.geteuid() == 0)
    again = up(private / "deep" / "d" / "data").serves()
    assert again.run["postgres"]["dsn"].partition("?")[0] == dsn.partition("?")[0]
    again.stop()
    if noted.exists():
        subprocess.run(["rm", "-rf", noted.read_text()], check=True)


def test_servers_named_in_the_environment_replace_the_embedded_ones(up, data):
    lender = up(data.with_name("lender")).serves()
    borrowed = {"REDIS_URL": lender.run["redis"]["url"], "DATABASE_URL": lender.run["postgres"]["dsn"]}
    one = up(**borrowed).serves()
    assert one.run["redis"] == {"pid": None, "url": borrowed["REDIS_URL"]}
    assert one.run["postgres"] == {"pid": None, "dsn": borrowed["DATABASE_URL"]}
    environment = json.loads((data / "environment.json").read_text())
    assert environment["QUEUE_REDIS_URL"] == environment["FEED_REDIS_URL"] == borrowed["REDIS_URL"]
    assert not (data / "gate").exists() and not (data / "postgres").exists()


def test_another_command_finds_the_running_up_by_its_data_folder(up, data):
    one = up().serves()
    shown = doorman("settings", "--data", data).stdout
    shown_dsn = f"{one.run['postgres']['dsn'].partition('doorman:')[0]}doorman:***@/doorman"
    assert any(line.startswith("DATABASE_URL ") and shown_dsn in line for line in shown.splitlines())
    assert doorman("migrate", "--data", data).stdout == "nothing to do\n"
    one.kill_everything()
    stale = doorman("migrate", "--data", data)
    assert (stale.returncode, stale.stdout) == (1, "")
    assert stale.stderr.startswith(f"doorman: No running Doorman in {data}: start one with bin/up")
