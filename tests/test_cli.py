import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from app import cli, demo, up
from app.domain.plan import HAS_ENDED
from app.settings import Settings
from tests.ledger.scene import open_scene
from tests.mail.test_bounces import report as report_on


@pytest.fixture
def doorman(redis_url, database_url, tmp_path):
    """Run a command against a gate and a ledger of this test -> the finished process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DOORMAN_", "STRIPE_"))}
    environment |= {"REDIS_URL": redis_url, "DATABASE_URL": database_url, "DOORMAN_SECRET": "s" * 32}

    def run(*arguments: object, stdin: str = "", **changes: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-P", "-m", "app.cli", *map(str, arguments), "--data", str(tmp_path)]
        return subprocess.run(command, env=environment | changes, capture_output=True, text=True, input=stdin)

    return run


@pytest.fixture
def shop(doorman):
    return json.loads(answer(doorman("shop", "create", "--name", "Field & Fog", "--owner", "ada@example.com")))["id"]


DROP = ("drop", "create", "--title", "Coat", "--price", "49.00", "--currency", "EUR")


def answer(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(done: subprocess.CompletedProcess, code: int = 1) -> str:
    assert (done.returncode, done.stdout) == (code, ""), done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_drop_is_created_in_the_shape_of_the_contract(doorman, shop):
    made = json.loads(answer(doorman(*DROP, "--slug", "coat", "--quantity", "100", "--opens-at", "2031-05-01T20:00:00+02:00")))
    assert list(made) == ["id", "slug", "url", "variants", "opens_at"]
    assert made["slug"] == "coat" and isinstance(made["id"], int)
    assert made["url"] == "http://127.0.0.1:8000/drops/coat"
    assert made["variants"] == [{"name": "Standard", "total": 100}]
    assert made["opens_at"] == "2031-05-01T18:00:00.000Z"


def test_now_opens_a_drop_now(doorman, shop):
    made = json.loads(answer(doorman(*DROP, "--slug", "coat", "--quantity", "1", "--opens-at", "now")))
    opened = datetime.fromisoformat(made["opens_at"])
    assert timedelta() <= datetime.now(UTC) - opened < timedelta(minutes=1)


def test_variants_may_be_given_in_both_ways_and_need_no_quantity(doorman, shop):
    arguments = ("--opens-at", "now", "--variant", "S=1", "M=2", "--variant", "L=3")
    made = json.loads(answer(doorman(*DROP, "--slug", "coat", *arguments)))
    assert made["variants"] == [{"name": "S", "total": 1}, {"name": "M", "total": 2}, {"name": "L", "total": 3}]


def test_a_slug_that_is_taken_is_one_sentence(doorman, shop):
    answer(doorman(*DROP, "--slug", "coat", "--quantity", "1", "--opens-at", "now"))
    said = refusal(doorman(*DROP, "--slug", "coat", "--quantity", "1", "--opens-at", "now"))
    assert said.startswith("doorman: ") and said.count("\n") == 1 and "(slug)" in said


def test_a_drop_without_a_shop_says_how_to_make_one(doorman):
    said = refusal(doorman(*DROP, "--slug", "coat", "--quantity", "1", "--opens-at", "now"))
    assert said == "doorman: there is no shop yet; make one with: doorman shop create --name NAME --owner EMAIL\n"


def test_a_shop_is_found_by_number_and_by_name(doorman, shop):
    for number, name in enumerate((shop, "Field & Fog")):
        answer(doorman(*DROP, "--slug", f"coat-{number}", "--quantity", "1", "--opens-at", "now", "--shop", name))
    assert refusal(doorman(*DROP, "--slug", "x", "--quantity", "1", "--opens-at", "now", "--shop", "Nobody")) == (
        "doorman: there is no shop named Nobody\n"
    )


def test_the_doors_and_the_units_of_a_drop(doorman, shop):
    answer(doorman(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "now"))
    for verb, door in (("pause", "paused"), ("resume", "open"), ("close", "closed"), ("cancel", "cancelled")):
        assert json.loads(answer(doorman("drop", verb, "coat"))) == {"slug": "coat", "door": door}
    assert refusal(doorman("drop", "resume", "coat")) == f"doorman: {HAS_ENDED} (door)\n", "cancelled is final"
    assert refusal(doorman("drop", "pause", "nope")) == "doorman: there is no drop named nope\n"


def test_a_drop_is_cancelled_and_its_money_waited_for(doorman, shop):
    answer(doorman(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "now"))
    done = json.loads(answer(doorman("drop", "cancel", "coat", "--wait")))
    assert done == {
        "slug": "coat", "door": "cancelled", "orders": 0, "open": 0, "to_refund": 0, "refunded": 0, "needs_attention": 0,
    }  # fmt: skip


def test_what_needs_attention_and_what_may_be_done_about_an_order(doorman, shop):
    nobody = "00000001-0000-8000-8000-000000000000"
    assert json.loads(answer(doorman("attention", "--json"))) == {"attention": []}
    assert answer(doorman("attention")) == ""
    for verb in (("order", "history", nobody), ("order", "refund", nobody)):
        assert refusal(doorman(*verb)) == f"doorman: there is no order {nobody}\n"
    for verb, word in (("ask-again", "asked"), ("give-back", "given_back"), ("looked-at", "looked_at")):
        done = doorman("order", verb, nobody)
        assert (done.returncode, json.loads(done.stdout)) == (1, {"order": nobody, word: False})
    assert "DOORMAN_WAREHOUSE_URL" in refusal(doorman("parcel", "resubmit", nobody))
    assert "no parcel" in refusal(doorman("parcel", "resubmit", nobody, DOORMAN_WAREHOUSE_URL="http://127.0.0.1:9"))
    assert "order number" in refusal(doorman("order", "refund", "coat"))


def test_the_history_is_proven_or_the_forged_drop_is_named(doorman, shop, database_url):
    made = json.loads(answer(doorman(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "now")))
    proof = json.loads(answer(doorman("books", "--verify-log")))
    assert (proof["events"], proof["proven"], proof["broken"]) == (1, True, [])

    async def forge():
        connection = await asyncpg.connect(database_url)
        await connection.execute("SET session_replication_role = replica")
        await connection.execute("UPDATE events SET kind = 'nothing'")
        await connection.close()

    asyncio.run(forge())
    done = doorman("books", "--verify-log")
    assert (done.returncode, json.loads(done.stdout)["broken"]) == (1, [f"drop {made['id']}"])


def test_units_are_added_and_taken_away_whole_or_not_at_all(doorman, shop):
    answer(doorman(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "now"))
    grown = json.loads(answer(doorman("drop", "add-units", "coat", "--units", "5")))
    assert grown == {"slug": "coat", "variants": [{"name": "Standard", "total": 15}]}
    refusal(doorman("drop", "add-units", "coat", "--units=-16"))
    assert refusal(doorman("drop", "add-units", "coat", "--units", "0")) == "doorman: 0 units change nothing (units)\n"
    books = json.loads(answer(doorman("books", "coat", "--json")))
    assert (books["total"], books["gate_left"], books["balanced"]) == (15, 15, True)


def test_the_books_in_the_shape_of_the_contract(doorman, shop):
    answer(doorman(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "now"))
    one = json.loads(answer(doorman("books", "coat", "--json")))
    assert list(one) == (
        "drop total gate_left offered held processing paid withdrawn returning refunded refused journal balanced findings".split()
    )
    assert json.loads(answer(doorman("books", "--json"))) == {"drops": [one]}
    table = answer(doorman("books")).splitlines()
    assert [table[0].split()[0], table[1].split()[0], table[1].split()[-1]] == ["drop", "coat", "yes"]
    assert refusal(doorman("books", "nope", "--json")) == "doorman: there is no drop named nope\n"


def test_books_that_do_not_balance_are_exit_code_1(doorman, shop, redis_url):
    import redis

    answer(doorman(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "now"))
    redis.Redis.from_url(redis_url).flushall()
    done = doorman("books", "coat", "--json")
    assert (done.returncode, json.loads(done.stdout)["balanced"]) == (1, False)
    assert doorman("books").returncode == 1


def test_a_gate_that_lost_everything_is_rebuilt(doorman, shop, redis_url):
    import redis

    answer(doorman(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "now"))
    redis.Redis.from_url(redis_url).flushall()
    assert json.loads(answer(doorman("gate", "rebuild", "coat"))) == {"drop": "coat", "gate": "mended"}
    assert json.loads(answer(doorman("books", "coat", "--json")))["balanced"] is True
    assert refusal(doorman("gate", "rebuild", "nope")) == "doorman: there is no drop named nope\n"


def test_minted_shoppers_are_signed_in(doorman):
    from app.web.session import Sessions

    lines = answer(doorman("shoppers", "mint", "--count", "300")).splitlines()
    sessions = Sessions(Settings.from_environment({"DOORMAN_SECRET": "s" * 32}))
    found = {sessions.of_cookies(line.encode()).shopper_id for line in lines}
    assert len(lines) == len(found) == 300


def test_production_mints_no_shoppers(doorman):
    production = {"DOORMAN_ENV": "production", "DOORMAN_PUBLIC_URL": "https://shop.example", "SMTP_URL": "smtp://mail:25"}
    keys = {"STRIPE_SECRET_KEY": "sk_live_x", "STRIPE_PUBLISHABLE_KEY": "pk_live_x"}
    said = refusal(doorman("shoppers", "mint", "--count", "1", **production, **keys))
    assert said == "doorman: shoppers are minted in development only\n"


def test_a_ledger_that_is_away_is_one_sentence(doorman):
    for command in (("migrate",), ("books",)):
        said = refusal(doorman(*command, DATABASE_URL="postgresql://me:hush@127.0.0.1:1/nothing"))
        assert said.startswith("doorman: ") and said.count("\n") == 1 and "hush" not in said


@pytest.mark.parametrize("part", ["web", "worker", "recorder"])
def test_a_part_runs_alone_until_it_is_told_to_stop(redis_url, database_url, tmp_path, part):
    environment = os.environ | {"REDIS_URL": redis_url, "DATABASE_URL": database_url, "DOORMAN_SECRET": "s" * 32}
    command = [sys.executable, "-P", "-m", "app.cli", part, "--data", str(tmp_path), *(("--port", "0") if part == "web" else ())]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if part == "web":
        port = int(process.stdout.readline().removeprefix("listening on 127.0.0.1 port "))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
            assert answer.status == 200
    else:
        until_it_handles_sigterm(process.pid)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0 and "Traceback" not in said, said


def until_it_handles_sigterm(pid: int) -> None:
    """Wait until the process has a handler for SIGTERM, as /proc shows it: from then on a stop is a stop."""
    while True:
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
        if int(status["SigCgt"], 16) & 1 << (signal.SIGTERM - 1):
            return
        time.sleep(0.02)


def test_migrating_twice_changes_nothing(doorman):
    assert answer(doorman("migrate")) == "nothing to do\n"


def test_without_a_running_up_and_without_addresses_nothing_is_guessed(doorman, tmp_path):
    said = refusal(doorman("books", REDIS_URL="", DATABASE_URL=""))
    assert said == (
        f"doorman: No running Doorman in {tmp_path}: start one with bin/up, name its folder with --data, "
        "or set REDIS_URL and DATABASE_URL\n"
    )


@pytest.mark.parametrize("command", [("books",), ("migrate",), ("web",), ("worker",), ("recorder",)], ids=" ".join)
def test_in_production_a_command_names_the_setting_that_is_missing_instead_of_looking_for_an_up(doorman, command):
    told = refusal(doorman(*command, DOORMAN_ENV="production", REDIS_URL="", DATABASE_URL=""))
    assert told.startswith("doorman: production needs DOORMAN_PUBLIC_URL starting with https://"), told
    https = {"DOORMAN_ENV": "production", "DOORMAN_PUBLIC_URL": "https://shop.example", "SMTP_URL": "smtp://mail.example"}
    told = refusal(doorman(*command, **https, REDIS_URL="", DATABASE_URL=""))
    assert told.startswith("doorman: production needs DATABASE_URL: the ledger"), told


def test_the_settings_end_with_the_bound(doorman):
    lines = answer(doorman("settings", DOORMAN_SWEEP_SECONDS="1")).splitlines()
    assert lines[-2].endswith("within its hold + 127 s of the end of the last failure:")
    assert lines[-1] == "hold + 60 (grace) + 45 (claim dead) + 20 (provider) + 2 x 1 (sweep)."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--quantity", "1", "--opens-at", "2031-05-01T20:00"), "names no time zone: add Z for UTC, or an offset such as +01:00"),
        (("--quantity", "1", "--opens-at", "tomorrow"), "is not a time such as 2026-12-01T20:00:00Z"),
        (("--quantity", "0", "--opens-at", "now"), "0 is below 1"),
        (("--quantity", "1.5", "--opens-at", "now"), "'1.5' is not a whole number"),
        (("--quantity", "1", "--opens-at", "now", "--hold", "0.5"), "a hold lasts at least 1 s"),
        (("--quantity", "1", "--opens-at", "now", "--hold", "nan"), "a hold lasts at least 1 s"),
        (("--variant", "S", "--opens-at", "now"), "'S' is not NAME=QTY"),
        (("--variant", "S=0", "--opens-at", "now"), "0 is below 1"),
        (("--quantity", "1", "--opens-at", "now", "--tax-rate", "19%"), "'19%' is not a percentage from 0 to 100"),
        (("--quantity", "1", "--opens-at", "now", "--tax-rate", "100.01"), "is not a percentage from 0 to 100"),
        (("--quantity", "1", "--opens-at", "now", "--tax-rate", "7.125"), "with at most two decimals, such as 19 or 7.25"),
        (
            ("--quantity", "1", "--opens-at", "now", "--ships", "--shipping-fee", "DE"),
            "'DE' is not COUNTRY=AMOUNT, such as DE=4.90",
        ),
        (("--quantity", "1"), "--opens-at"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_is_right(capsys, arguments, sentence):
    with pytest.raises(SystemExit) as ended:
        cli.main([*DROP, "--slug", "coat", *arguments])
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--variant", "S=1", "--quantity", "2"), "--quantity 2 is not the sum of the variants, 1"),
        (("--variant", "S=1", "S=2"), "two variants have the same name"),
        ((), "say how many units there are"),
        (("--quantity", "1", "--price", "49.001"), "EUR has 2 decimals"),
        (("--quantity", "1", "--currency", "EURO"), "is not an ISO 4217 currency code"),
        (("--quantity", "1", "--shipping-fee", "DE=4.90"), "a drop that is not sent has no shipping fees: add --ships"),
        (
            ("--quantity", "1", "--ships", "--shipping-fee", "Germany=4.90"),
            "'Germany' is no country such as DE, nor the word elsewhere",
        ),
        (("--quantity", "1", "--ships", "--shipping-fee", "DE=1", "de=2"), "de has two shipping fees"),
        (("--quantity", "1", "--ships", "--shipping-fee", "DE=4.901"), "EUR has 2 decimals"),
        (("--quantity", "1", "--ships", "--shipping-fee", "DE=-4.90"), "'-4.90' is not an amount"),
    ],
)
def test_contradictions_are_one_sentence(capsys, arguments, sentence):
    assert cli.main([*DROP, "--slug", "coat", "--opens-at", "now", *arguments]) == 1
    assert sentence in capsys.readouterr().err


def test_help_imports_nothing_heavy():
    code = "import sys; from app import cli\ntry: cli.main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "app.cli" in modules
    assert not {"asyncpg", "redis", "litestar", "stripe", "saq", "structlog", "uvicorn"} & set(modules)


def test_a_mail_that_came_back_is_handed_in_by_the_mail_server_and_shown(doorman, shop, database_url):
    async def mail_is_sent() -> str:
        connection = await asyncpg.connect(database_url)
        await connection.execute(
            "INSERT INTO messages (kind, subject_id, recipient, subject, body_text, body_html, state)"
            " VALUES ('sign_in_code', '1', 'ada@example.org', 's', 't', '<p>h</p>', 'sent')"
        )
        name = await connection.fetchval("SELECT message_id FROM letters")
        await connection.close()
        return name

    name = asyncio.run(mail_is_sent())
    report = report_on(message_id=name).decode()
    assert answer(doorman("mail")) == ""
    assert answer(doorman("mail", "bounced", stdin=report.replace("ada@", "mira@").replace("Ada@", "mira@"))).startswith(
        "nothing changed"
    )
    assert answer(doorman("mail", "bounced", stdin="Subject: hello\n\nIs anybody there?")).startswith("nothing changed")
    assert answer(doorman("mail", "bounced", stdin=report)).startswith("came back: sign_in_code to ada@example.org, 5.1.1 550")
    assert answer(doorman("mail", "bounced", stdin=report)).startswith("nothing changed")
    shown = doorman("mail")
    assert shown.returncode == 1 and "ada@example.org  came back: 5.1.1 550" in shown.stdout


def test_a_report_is_handed_in_again_when_the_ledger_is_away(doorman):
    away = doorman("mail", "bounced", stdin=report_on().decode(), DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert "Traceback" not in away.stderr and away.returncode == os.EX_TEMPFAIL


async def test_a_lost_second_factor_is_reset_from_the_command_line(doorman, shop, database_url):
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "INSERT INTO second_factors (email, nonce, confirmed_at) VALUES ('ada@example.com', $1, now())", bytes(20)
    )
    said = answer(doorman("staff", "reset-second-factor", "ADA@example.com"))
    assert json.loads(said) == {"email": "ada@example.com", "second_factor": False}
    newest = "SELECT actor || ': ' || action FROM audit ORDER BY id DESC LIMIT 1"
    assert await connection.fetchval(newest) == "command line: second factor removed"
    told = await connection.fetch("SELECT kind, recipient, data ->> 'what_changed' FROM messages")
    assert [tuple(one) for one in told] == [("second_factor", "ada@example.com", "removed")]
    assert refusal(doorman("staff", "reset-second-factor", "ada@example.com")) == "doorman: ada@example.com has no second factor\n"
    await connection.close()


def test_somebody_is_put_on_the_staff_from_the_command_line(doorman, shop):
    said = answer(doorman("staff", "add", "Bo@example.com", "--role", "owner"))
    assert json.loads(said) == {"shop": shop, "email": "Bo@example.com", "role": "owner"}
    refused = refusal(doorman("staff", "add", "bo@example.com", "--role", "viewer"))
    assert refused == "doorman: bo@example.com could not be added: they are on the staff of this shop (email)\n"


def test_up_names_the_demos_owner_as_the_demo_makes_it():
    assert up.DEMO_OWNER == demo.OWNER


# ---- the audit log, taxes and fees: in this process, which is quicker


@pytest.fixture
def run(redis_url, database_url, tmp_path, monkeypatch, capsys):
    """Run a command in this process -> (exit code, standard output, standard error)."""
    for name in [name for name in os.environ if name.startswith(("DOORMAN_", "STRIPE_"))]:
        monkeypatch.delenv(name)
    for name, value in {"REDIS_URL": redis_url, "DATABASE_URL": database_url, "DOORMAN_SECRET": "s" * 32}.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: object) -> tuple[int, str, str]:
        code = cli.main([*map(str, arguments), "--data", str(tmp_path)])
        return code, *capsys.readouterr()

    assert run("shop", "create", "--name", "Field & Fog", "--owner", "ada@example.com")[0] == 0
    return run


def logged(database_url) -> list[tuple]:
    """-> (actor, action, subject, before, after) of every entry of the audit log but the shop's own, oldest first."""

    async def read():
        async with open_scene(database_url) as scene:
            return await scene.ledger.audit_log(1)

    entries = [(one.actor, one.action, one.subject, one.before, one.after) for one in reversed(asyncio.run(read()))]
    assert entries[0] == ("command line", "shop made", "Field & Fog", {}, {"owner": "ada@example.com"})
    return entries[1:]


def test_what_is_done_with_a_drop_is_in_the_audit_log_with_before_and_after(run, database_url):
    assert run(*DROP, "--slug", "coat", "--quantity", "10", "--opens-at", "2031-05-01T20:00:00Z")[0] == 0
    for verb in ("pause", "pause", "resume", "close"):
        assert run("drop", verb, "coat")[0] == 0
    assert run("drop", "resume", "coat")[0] == 1
    assert run("drop", "add-units", "coat", "--units", "5")[0] == 1
    assert run("gate", "rebuild", "coat")[0] == 0
    assert run("drop", "retire", "coat")[0] == run("drop", "retire", "coat")[0] == 0
    assert run(*DROP, "--slug", "hat", "--quantity", "10", "--opens-at", "now")[0] == 0
    assert run("drop", "add-units", "hat", "--units", "5")[0] == run("drop", "add-units", "hat", "--units=-7")[0] == 0
    assert run("drop", "cancel", "hat")[0] == 0
    published, *moves = logged(database_url)
    assert published[:4] == ("command line", "drop published", "Coat", {})
    assert published[4] == {
        "slug": "coat", "price_minor": 4900, "currency": "EUR", "opens_at": "2031-05-01 20:00:00+00:00", "closes_at": None,
        "units": {"Standard": 10},
    }  # fmt: skip
    assert {entry[0] for entry in moves} == {"command line"}
    assert [entry[1:] for entry in moves if entry[1] != "drop published"] == [
        ("paused", "coat", {"door": "open"}, {"door": "paused"}),
        ("resumed", "coat", {"door": "paused"}, {"door": "open"}),
        ("ended", "coat", {"door": "open"}, {"door": "closed"}),
        ("gate rebuilt", "coat", {}, {"gate": "agreed"}),
        ("drop retired", "coat", {"retired": False}, {"retired": True}),
        ("units added", "hat", {"Standard": 10}, {"Standard": 15}),
        ("units taken away", "hat", {"Standard": 15}, {"Standard": 8}),
        ("drop cancelled", "hat", {"door": "open"}, {"door": "cancelled"}),
    ]


def test_what_is_done_with_an_order_is_in_the_audit_log_with_before_and_after(run, database_url):
    async def orders():
        """-> (one that is paid, one whose outcome nobody knows)."""
        async with open_scene(database_url) as scene:
            scene.shop_id = 1
            await scene.publish()
            paid, (lost, _token) = await scene.paid(), await scene.charging()
            await scene.hand.execute("UPDATE payments SET needs_attention = 'no answer' WHERE order_id = ANY($1)", [paid, lost])
            await scene.hand.execute("UPDATE payments SET state = 'unknown' WHERE order_id = $1", lost)
            return paid, lost

    paid, lost = asyncio.run(orders())
    assert run("order", "looked-at", paid)[0] == 0 and run("order", "looked-at", paid)[0] == 1
    assert run("order", "refund", paid, "--amount", "9.00")[0] == 0
    for _time in range(2):
        assert run("order", "refund", paid, "--restock")[0] == 0
    assert run("order", "ask-again", lost)[0] == run("order", "give-back", lost)[0] == 0
    assert run("order", "give-back", lost)[0] == 1
    looked, part, rest, asked, given = [entry[1:] for entry in logged(database_url)]
    assert looked == ("looked at", f"order {paid}", {"why": ["no answer"]}, {})
    assert part[:3] == ("refunded", f"order {paid}", {"left_minor": 4900})
    assert (part[3]["amount_minor"], part[3]["currency"], part[3]["restock"]) == (900, "EUR", False)
    assert rest[:3] == ("refunded", f"order {paid}", {"left_minor": 4000}) and rest[3]["amount_minor"] == 4000
    assert asked == ("asked again", f"order {lost}", {}, {})
    assert given == ("given back unasked", f"order {lost}", {"state": "PROCESSING"}, {"state": "CANCELLED"})


def test_a_drop_is_created_with_its_tax_and_its_shipping_fees(run, database_url):
    fees = ("--ships", "--shipping-fee", "DE=4.90", "at=6", "--shipping-fee", "elsewhere=19.90")
    code, said, _ = run(*DROP, "--slug", "coat", "--quantity", "1", "--opens-at", "now", "--tax-rate", "7.25", *fees)
    assert code == 0 and json.loads(said)["slug"] == "coat"
    assert run(*DROP, "--slug", "hat", "--quantity", "1", "--opens-at", "now", "--ships")[0] == 0

    async def read():
        async with open_scene(database_url) as scene:
            return [await scene.ledger.drop_by_slug(slug) for slug in ("coat", "hat")]

    coat, hat = asyncio.run(read())
    assert (coat.tax_basis_points, dict(coat.shipping_fees)) == (725, {"DE": 490, "AT": 600, "*": 1990})
    assert (hat.tax_basis_points, hat.shipping_fees, hat.ships) == (0, None, True)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("\u200b", "Nothing of this can be seen."),
        ("Coat\u202egnp.exe", "turns the direction of writing"),
        ("Coat\nSold out", "a line break or another control character"),
    ],
)
def test_a_name_that_nobody_sees_or_that_turns_the_writing_is_refused(run, name, why):
    create = ("drop", "create", "--slug", "coat", "--price", "1", "--currency", "EUR", "--opens-at", "now")
    for arguments, field in (
        ((*create, "--title", name, "--quantity", "1"), "title"),
        ((*create, "--title", "Coat", "--variant", f"{name}=1"), "variants"),
        (("shop", "create", "--name", name, "--owner", "bo@example.com"), "name"),
    ):
        code, _, said = run(*arguments)
        assert code == 1 and why in said and f"({field})" in said


def test_a_shop_is_made_with_its_clock_and_a_zone_that_is_none_is_refused(run):
    code, shown, _ = run("shop", "create", "--name", "Lamps", "--owner", "bo@example.com", "--time-zone", "Europe/Berlin")
    assert code == 0 and json.loads(shown)["time_zone"] == "Europe/Berlin"
    code, _, said = run("shop", "create", "--name", "Mars", "--owner", "bo@example.com", "--time-zone", "Mars/Base")
    assert code == 1 and "there is no time zone 'Mars/Base'" in said and "(time-zone)" in said
