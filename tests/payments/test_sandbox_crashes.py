"""The sandbox provider is killed at every interesting moment, and its store tells the truth afterwards."""

import asyncio
import signal
import subprocess
import sys

import httpx
import pytest

from app.errors import ProviderSilent
from app.payments import OutcomeKind
from tests.sandboxes import PROVIDER, ROOT, seen

RETURN_URL = "https://shop.example/orders/1"


async def confirming(provider, order, intent):
    return asyncio.ensure_future(provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL))


async def test_killed_before_the_effect_nothing_happened_and_the_key_is_free(mortal, mortal_provider, order):
    intent = await mortal_provider.create_intent(order, 4900, "EUR")
    mortal.script(latency=[60, 60], latency_taken="before")
    attempt = await confirming(mortal_provider, order, intent)
    await in_flight(mortal, order, intent)
    mortal.killed()
    with pytest.raises(ProviderSilent):
        await attempt
    mortal.start()
    assert (mortal.row_of(intent)["captured"], mortal.row_of(intent)["attempts"]) == (0, 0)
    assert (await mortal_provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED
    assert (mortal.row_of(intent)["captured"], mortal.row_of(intent)["attempts"]) == (4900, 1)


async def test_killed_after_the_effect_the_capture_stands_and_is_replayed(mortal, mortal_provider, order):
    intent = await mortal_provider.create_intent(order, 4900, "EUR")
    mortal.script(latency=[60, 60], latency_taken="after")
    attempt = await confirming(mortal_provider, order, intent)
    await seen(lambda: mortal.row_of(intent)["captured"] == 4900)
    mortal.killed()
    with pytest.raises(ProviderSilent):
        await attempt
    mortal.start()
    assert (await mortal_provider.retrieve(intent)).kind is OutcomeKind.CAPTURED
    assert (await mortal_provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED
    assert (mortal.row_of(intent)["captured"], mortal.row_of(intent)["attempts"]) == (4900, 1)


async def test_a_caller_that_gave_up_was_charged_once_all_the_same(mortal, mortal_provider, order):
    intent = await mortal_provider.create_intent(order, 4900, "EUR")
    mortal.script(latency=[1, 1], latency_taken="before")
    attempt = await confirming(mortal_provider, order, intent)
    await in_flight(mortal, order, intent)
    attempt.cancel()
    await seen(lambda: mortal.row_of(intent)["captured"] == 4900)
    assert (await mortal_provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED
    assert mortal.row_of(intent)["attempts"] == 1


async def test_an_outage_that_begins_during_a_call_hides_its_reply(mortal, mortal_provider, order):
    intent = await mortal_provider.create_intent(order, 4900, "EUR")
    mortal.script(latency=[1, 1], latency_taken="after")
    attempt = await confirming(mortal_provider, order, intent)
    await seen(lambda: mortal.row_of(intent)["captured"] == 4900)
    mortal.script(outage=True)
    with pytest.raises(ProviderSilent):
        await attempt
    mortal.script(outage=False)
    assert (await mortal_provider.retrieve(intent)).kind is OutcomeKind.CAPTURED


async def test_a_restart_keeps_the_books_and_forgets_the_script(mortal, mortal_provider, order):
    intent = await mortal_provider.create_intent(order, 80, "JPY")
    await mortal_provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    await mortal_provider.refund(order, "seller", intent, 30)
    mortal.script(outage=True)
    before = mortal.ledger()
    assert mortal.stops() == -15
    mortal.start()
    assert mortal.ledger() == before
    assert mortal.script()["outage"] is False


async def test_its_token_is_for_its_owner_only(mortal):
    assert (mortal.data / "token").stat().st_mode & 0o777 == 0o600


async def in_flight(sandbox, order, intent) -> None:
    """Return once the sandbox holds attempt 1 in flight: only then does a second call with its key hear 409."""
    headers = {"Authorization": "Bearer sk_test_sandbox", "Idempotency-Key": f"{order}:1"}
    form = {"payment_method": "pm_card_visa", "return_url": RETURN_URL}
    async with httpx.AsyncClient(base_url=sandbox.url) as client, asyncio.timeout(10):
        while True:
            await asyncio.sleep(0.02)
            try:
                response = await client.post(f"/v1/payment_intents/{intent}/confirm", data=form, headers=headers, timeout=0.5)
            except httpx.TimeoutException:
                continue  # this call itself is the one in flight now, which is as good
            if response.status_code == 409:
                return


def test_a_port_in_use_is_one_clear_sentence(mortal, tmp_path):
    port = mortal.url.rpartition(":")[2]
    arguments = ["--host", "127.0.0.1", "--port", port, "--data", tmp_path / "other", "--token-file", tmp_path / "other-token"]
    second = subprocess.run([sys.executable, "-m", PROVIDER, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.strip() == f"cannot listen on 127.0.0.1 port {port}: Address already in use"


def test_ctrl_c_ends_it_without_a_trace(tmp_path):
    arguments = ["--data", tmp_path, "--token-file", tmp_path / "token"]
    process = subprocess.Popen([sys.executable, "-m", PROVIDER, *arguments], cwd=ROOT, stdout=-1, stderr=-1, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
