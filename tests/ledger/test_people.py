import asyncio
from uuid import uuid4

from app.ledger import Message
from app.ledger.people import CODES_PER_HOUR_MAX, TRIES_MAX

RIGHT, WRONG = b"right", b"wrong"


async def ask(scene, email="ada@example.org", *, seconds=600.0, message=False):
    """-> the code's id, None when refused."""
    code_id = uuid4()
    mail = Message("code", str(code_id), None, email, "Your code", "123456", "<p>123456</p>") if message else None
    return code_id if await scene.ledger.ask_code(code_id, email, email.title(), RIGHT, seconds, mail) else None


async def test_an_address_is_one_shopper_who_is_written_to_as_they_wrote_last(scene):
    ada = await scene.ledger.shopper_for("ada@example.org", "Ada@example.org")
    assert await scene.ledger.shopper_for("ada@example.org", "ada+drops@example.org") == ada
    shopper = await scene.ledger.shopper(ada)
    assert (shopper.email, shopper.email_written, shopper.session_epoch, shopper.synthetic) == (
        "ada@example.org", "ada+drops@example.org", 0, False,
    )  # fmt: skip
    assert await scene.ledger.shopper(10**12) is None


async def test_minted_shoppers_are_distinct_and_synthetic(scene):
    minted = await scene.ledger.mint_shoppers(20_001)
    assert len(set(minted)) == 20_001
    assert (await scene.ledger.shopper(minted[-1])).synthetic
    assert await scene.ledger.mint_shoppers(0) == []


async def test_signing_out_everywhere_raises_the_epoch(scene):
    ada, bob = await scene.ledger.mint_shoppers(2)
    assert [await scene.ledger.sign_out_everywhere(ada) for _ in range(2)] == [1, 2]
    assert await scene.ledger.signed_out_epochs() == {ada: 2}
    assert await scene.ledger.sign_out_everywhere(10**12) is None


async def test_a_right_code_works_once(scene):
    code_id = await ask(scene)
    assert await scene.ledger.try_code(code_id, WRONG) is None
    assert await scene.ledger.try_code(code_id, RIGHT) == ("ada@example.org", "Ada@Example.Org")
    assert await scene.ledger.try_code(code_id, RIGHT) is None
    assert await scene.ledger.try_code(uuid4(), RIGHT) is None


async def test_a_code_is_used_by_one_of_two_who_try_at_once(scene):
    code_id = await ask(scene)
    async with scene.locked("SELECT FROM sign_in_codes WHERE id = $1 FOR UPDATE", code_id, waiting=2):
        both = [asyncio.create_task(scene.ledger.try_code(code_id, RIGHT)) for _ in range(2)]
    assert (await asyncio.gather(*both)).count(None) == 1


async def test_a_code_stands_five_tries(scene):
    code_id = await ask(scene)
    for _ in range(TRIES_MAX):
        assert await scene.ledger.try_code(code_id, WRONG) is None
    assert await scene.ledger.try_code(code_id, RIGHT) is None


async def test_a_code_runs_out(scene):
    assert await scene.ledger.try_code(await ask(scene, seconds=-1), RIGHT) is None


async def test_an_address_is_mailed_at_most_five_codes_an_hour(scene):
    for _ in range(CODES_PER_HOUR_MAX):
        assert await ask(scene, message=True)
    assert await ask(scene, message=True) is None
    assert await ask(scene, "bob@example.org", message=True)
    assert len(await scene.ledger.newest(100)) == CODES_PER_HOUR_MAX + 1
    await scene.hand.execute("UPDATE sign_in_codes SET created_at = created_at - interval '61 minutes'")
    assert await ask(scene)


async def test_old_questions_are_forgotten(scene):
    await ask(scene)
    await scene.hand.execute("UPDATE sign_in_codes SET created_at = created_at - interval '25 hours'")
    await ask(scene)
    assert await scene.hand.fetchval("SELECT count(*) FROM sign_in_codes") == 1


async def test_many_questions_at_once_do_not_pass_the_limit(scene):
    answers = await asyncio.gather(*(ask(scene) for _ in range(3 * CODES_PER_HOUR_MAX)))
    assert len([code_id for code_id in answers if code_id]) == CODES_PER_HOUR_MAX
