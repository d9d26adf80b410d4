import os
import stat

import pytest

from app.errors import SettingsError
from app.settings import Settings, data_secret, without_password

PRODUCTION = {
    "DOORMAN_ENV": "production",
    "DOORMAN_SECRET": "s" * 32,
    "DOORMAN_PUBLIC_URL": "https://shop.example",
    "SMTP_URL": "smtp://mail.example:25",
    "DATABASE_URL": "postgresql://db.example/doorman",
    "REDIS_URL": "redis://redis.example/0",
    "STRIPE_SECRET_KEY": "sk_live_x",
    "STRIPE_PUBLISHABLE_KEY": "pk_live_x",
}
ORDERED = [  # each is below the next one named beside it; every one is asked for at the limit and above it
    ("DOORMAN_PROVIDER_TIMEOUT_SECONDS", "DOORMAN_JOB_TIMEOUT_SECONDS", 30),
    ("DOORMAN_JOB_TIMEOUT_SECONDS", "DOORMAN_CLAIM_DEAD_SECONDS", 45),
    ("DOORMAN_CLAIM_DEAD_SECONDS", "DOORMAN_QUEUE_RETRY_SECONDS", 60),
    ("DOORMAN_WAREHOUSE_TIMEOUT_SECONDS", "DOORMAN_PARCEL_JOB_TIMEOUT_SECONDS", 150),
    ("DOORMAN_PARCEL_JOB_TIMEOUT_SECONDS", "DOORMAN_PARCEL_DEAD_SECONDS", 180),
    ("DOORMAN_RECORD_TIMEOUT_SECONDS", "DOORMAN_RECORD_IDLE_SECONDS", 3),
    ("DOORMAN_GATE_TIMEOUT_SECONDS", "DOORMAN_SWEEP_SECONDS", 5),
]


def settings(**environment: str) -> Settings:
    return Settings.from_environment(environment)


def test_an_empty_environment_is_lawful_and_has_the_documented_defaults():
    found = settings()
    assert (found.sweep_seconds, found.grace_seconds, found.provider_timeout_seconds) == (5, 60, 20)
    assert (found.job_timeout_seconds, found.claim_dead_seconds, found.queue_retry_seconds) == (30, 45, 60)
    assert (found.warehouse_timeout_seconds, found.parcel_job_timeout_seconds, found.parcel_dead_seconds) == (120, 150, 180)
    assert (found.sandbox_latency, found.sandbox_decline_rate) == ("1-4", 0.2)
    assert (found.buy_limit, found.address_limit) == ((30, 10.0), (300, 10.0))
    assert found.settled_within_seconds == 60 + 45 + 20 + 2 * 5


@pytest.mark.parametrize("over_seconds", [0, 0.5], ids=["equal", "above"])
@pytest.mark.parametrize(("smaller", "larger", "default_seconds"), ORDERED, ids=[f"{pair[0]} < {pair[1]}" for pair in ORDERED])
def test_each_timeout_must_stay_below_the_next_whichever_of_the_two_is_moved(smaller, larger, default_seconds, over_seconds):
    wide = {larger: str(default_seconds), smaller: str(default_seconds + over_seconds)}
    with pytest.raises(SettingsError, match=rf"{smaller} \({default_seconds + over_seconds:g} s\) must be below {larger}"):
        settings(**wide)
    lawful = {name: value for name, value, _ in settings().table()}
    assert float(lawful[smaller]) < float(lawful[larger])
    with pytest.raises(SettingsError, match=rf"{smaller} \(.* s\) must be below {larger} \({lawful[smaller]} s\)"):
        settings(**{smaller: lawful[smaller], larger: lawful[smaller]})


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"DOORMAN_RECORD_IDLE_SECONDS": "500"}, "must be below the bound in which everything is settled (135 s)"),
        (
            {"DOORMAN_CLAIM_DEAD_SECONDS": "86400", "DOORMAN_QUEUE_RETRY_SECONDS": "90000"},
            "must be below 86400 s: so long the provider knows a key",
        ),
    ],
)
def test_an_order_of_timeouts_that_cannot_work_is_refused(broken, sentence):
    with pytest.raises(SettingsError) as refused:
        settings(**broken)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOORMAN_ENV", "staging"),
        ("DOORMAN_PUBLIC_URL", "shop.example"),
        ("DOORMAN_PUBLIC_URL", "https://"),
        ("DOORMAN_PUBLIC_URL", "https://shop.example/"),
        ("DOORMAN_PUBLIC_URL", "https://user:pw@shop.example"),
        ("DOORMAN_SWEEP_SECONDS", "0"),
        ("DOORMAN_SWEEP_SECONDS", "-1"),
        ("DOORMAN_SWEEP_SECONDS", "nan"),
        ("DOORMAN_SWEEP_SECONDS", "soon"),
        ("DOORMAN_GRACE_SECONDS", "-1"),
        ("DOORMAN_GRACE_SECONDS", "inf"),
        ("DOORMAN_BUY_LIMIT", "0/10"),
        ("DOORMAN_BUY_LIMIT", "30"),
        ("DOORMAN_ADDRESS_LIMIT", "30/0"),
        ("DOORMAN_ADDRESS_LIMIT", "30/nan"),
        ("DOORMAN_LIMIT_LOOPBACK", "perhaps"),
        ("DOORMAN_APPENDFSYNC", "no"),
        ("DOORMAN_TRUSTED_PROXIES", "10.0.0.0/8, proxy"),
        ("DOORMAN_JOURNAL_ENTRIES_MAX", "0"),
        ("DOORMAN_JOURNAL_ENTRIES_MAX", "1.5"),
        ("DOORMAN_SECRET", "short"),
        ("REDIS_URL", "localhost:6379"),
        ("DATABASE_URL", "mysql://db/doorman"),
        ("SMTP_URL", "mail.example"),
        ("STRIPE_API_BASE", "ftp://provider"),
        ("STRIPE_PUBLISHABLE_KEY", "sk_live_a_secret_key_in_the_wrong_place"),
        ("STRIPE_WEBHOOK_SECRET", "whsec_new,"),
        ("STRIPE_WEBHOOK_SECRET", "whsec_1,whsec_2,whsec_3"),
        ("SANDBOX_LATENCY_SECONDS", "4-1"),
        ("SANDBOX_LATENCY_SECONDS", "-1"),
        ("SANDBOX_DECLINE_RATE", "1.1"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_the_name_of_its_variable(name, value):
    with pytest.raises(SettingsError, match=name):
        settings(**{name: value})


def test_a_refused_value_does_not_print_its_password():
    with pytest.raises(SettingsError) as refused:
        settings(REDIS_URL="redys://:hush@host/0")
    assert "hush" not in str(refused.value)


def test_times_that_nobody_gave_follow_a_faster_sweep():
    quick = settings(
        DOORMAN_SWEEP_SECONDS="0.2",
        DOORMAN_GRACE_SECONDS="0",
        DOORMAN_PROVIDER_TIMEOUT_SECONDS="0.3",
        DOORMAN_JOB_TIMEOUT_SECONDS="0.4",
        DOORMAN_CLAIM_DEAD_SECONDS="0.5",
        DOORMAN_QUEUE_RETRY_SECONDS="0.6",
    )
    assert quick.gate_timeout_seconds < quick.sweep_seconds
    assert quick.record_timeout_seconds < quick.record_idle_seconds < quick.settled_within_seconds


def test_production_is_lawful_with_all_it_needs():
    assert settings(**PRODUCTION).production


@pytest.mark.parametrize("missing", [name for name in PRODUCTION if name != "DOORMAN_ENV"])
def test_production_names_what_is_missing(missing):
    with pytest.raises(SettingsError, match=f"production needs {missing}"):
        settings(**{name: value for name, value in PRODUCTION.items() if name != missing})


def test_production_refuses_a_public_address_without_tls():
    with pytest.raises(SettingsError, match="DOORMAN_PUBLIC_URL starting with https://"):
        settings(**PRODUCTION | {"DOORMAN_PUBLIC_URL": "http://shop.example"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"STRIPE_SECRET_KEY": "sk_test_x"}, "STRIPE_SECRET_KEY is set without STRIPE_PUBLISHABLE_KEY; set both"),
        ({"STRIPE_PUBLISHABLE_KEY": "pk_test_x"}, "STRIPE_PUBLISHABLE_KEY is set without STRIPE_SECRET_KEY; set both"),
        ({"STRIPE_SECRET_KEY": "sk_live_x", "STRIPE_PUBLISHABLE_KEY": "pk_test_x"}, "one is a test key, the other a live one"),
        ({"STRIPE_SECRET_KEY": "rk_test_x", "STRIPE_PUBLISHABLE_KEY": "pk_live_x"}, "one is a test key, the other a live one"),
    ],
)
def test_stripes_two_keys_belong_together(given, sentence):
    with pytest.raises(SettingsError) as refused:
        settings(**given)
    assert sentence in str(refused.value)
    assert "k_live_x" not in str(refused.value) and "k_test_x" not in str(refused.value)


def test_both_keys_neither_or_a_test_provider_with_one_are_lawful():
    assert settings(STRIPE_SECRET_KEY="sk_test_x", STRIPE_PUBLISHABLE_KEY="pk_test_x").stripe_publishable_key == "pk_test_x"
    assert settings(STRIPE_SECRET_KEY="sk_test_x", STRIPE_API_BASE="http://127.0.0.1:9000").stripe_publishable_key == ""
    one = {name: value for name, value in PRODUCTION.items() if name != "STRIPE_PUBLISHABLE_KEY"}
    assert settings(**one | {"STRIPE_API_BASE": "https://provider.example"}).production


def test_a_signing_secret_is_rotated_with_a_comma():
    assert settings().webhook_secrets == ()
    assert settings(STRIPE_WEBHOOK_SECRET="whsec_1").webhook_secrets == ("whsec_1",)
    assert settings(STRIPE_WEBHOOK_SECRET="whsec_new, whsec_old").webhook_secrets == ("whsec_new", "whsec_old")


def test_the_table_shows_every_setting_and_no_secret():
    found = settings(**PRODUCTION | {"REDIS_URL": "redis://:hush@redis.example/0", "DATABASE_URL": "postgresql://me:hush@db/x"})
    table = found.table()
    assert len(table) == len(Settings.__dataclass_fields__)
    shown = {name: value for name, value, _ in table}
    assert shown["DOORMAN_SECRET"] == shown["STRIPE_SECRET_KEY"] == "(set)"
    assert shown["REDIS_URL"] == "redis://:***@redis.example/0"
    assert "hush" not in str(table) and "sk_live_x" not in str(table) and "s" * 32 not in str(table)
    assert all(help for _, _, help in table)


@pytest.mark.parametrize(
    ("address", "masked"),
    [
        ("redis://host/0", "redis://host/0"),
        ("unix://:secret@/tmp/s.sock", "unix://:***@/tmp/s.sock"),
        ("postgresql://me:p%40ss@/db?host=/tmp/s", "postgresql://me:***@/db?host=/tmp/s"),
        ("smtp://me:secret@mail:25", "smtp://me:***@mail:25"),
    ],
)
def test_a_password_in_an_address_is_masked(address, masked):
    assert without_password(address) == masked


def test_a_data_folder_keeps_one_secret_for_us_alone(tmp_path):
    made = data_secret(tmp_path / "data")
    assert data_secret(tmp_path / "data") == made
    assert stat.S_IMODE(os.stat(tmp_path / "data" / "secret").st_mode) == 0o600
    assert Settings.from_environment({"DOORMAN_SECRET": made}).secret == made
