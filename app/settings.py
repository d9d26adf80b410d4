"""Every setting of Doorman, read from the environment in this one place.

Each has a unit, a default and a line of help (`doorman settings` prints them). Odd values are refused with a sentence, and the
relations of PROTOCOL section 8 are checked before anything starts.
"""

import ipaddress
import math
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

from app.errors import SettingsError

SECRET_BYTES_MIN = 32
PROVIDER_KEYS_SECONDS = 24 * 3600  # Stripe keeps idempotency keys at least this long
SIGNING_SECRETS_MAX = 2  # the new one and, while rotating, the old one
SHORTENED_SHARE = 0.8  # of the time a default must stay below


def _setting(env: str, default, help: str, parse=str, *, secret: bool = False):
    """`secret`: never shown, only whether it is set."""
    return field(default=default, metadata={"env": env, "help": help, "parse": parse, "secret": secret})


def _number(text: str) -> float:
    """A finite number: 'nan' would pass every comparison that must fail."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _rate(text: str) -> tuple[int, float]:
    """'30/10' -> (30, 10.0): thirty calls in ten seconds."""
    calls, _, seconds = text.partition("/")
    parsed = (int(calls), _number(seconds))
    if parsed[0] < 1 or parsed[1] <= 0:
        raise ValueError(text)
    return parsed


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(text)


def _appendfsync(text: str) -> str:
    if text not in ("always", "everysec"):
        raise ValueError(text)
    return text


def _publishable_key(text: str) -> str:
    if text and not text.startswith("pk_"):  # it is shown to everybody: a secret key must never get here
        raise ValueError(text)
    return text


def _signing_secrets(text: str) -> str:
    secrets_given = _parts(text)
    if not all(secrets_given) or len(secrets_given) > SIGNING_SECRETS_MAX:
        raise ValueError(text)
    return text


def _parts(text: str) -> tuple[str, ...]:
    """'a, b' -> ('a', 'b'); '' -> ()."""
    return tuple(part.strip() for part in text.split(",")) if text else ()


def _environment(text: str) -> str:
    if text not in ("development", "production"):
        raise ValueError(text)
    return text


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or text != f"{parts.scheme}://{parts.netloc}"
        or "@" in parts.netloc
    ):
        raise ValueError(text)
    return text


def _networks(text: str) -> str:
    for network in filter(None, map(str.strip, text.split(","))):
        ipaddress.ip_network(network, strict=False)
    return text


def _span(text: str) -> str:
    """'1-4' or '2': a lowest and a highest number of seconds."""
    low, _, high = text.partition("-")
    if not 0 <= _number(low) <= _number(high or low):
        raise ValueError(text)
    return text


def _url(*schemes: str):
    def parse(text: str) -> str:
        if text and urlsplit(text).scheme not in schemes:
            raise ValueError(text)
        return text

    return parse


_redis = _url("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    env: str = _setting("DOORMAN_ENV", "development", "development (loopback, embedded servers, demo) or production", _environment)
    public_url: str = _setting(
        "DOORMAN_PUBLIC_URL", "http://127.0.0.1:8000", "scheme and host that shoppers see; links in mails start with it", _origin
    )
    secret: str = _setting(
        "DOORMAN_SECRET", "", "signs cookies and links, at least 32 bytes; development keeps its own in DATA/secret", secret=True
    )
    redis_url: str = _setting("REDIS_URL", "", "the gate; empty: embedded Valkey", _redis)
    queue_redis_url: str = _setting(
        "QUEUE_REDIS_URL", "", "saq; empty: embedded Valkey of its own, or REDIS_URL where that is set", _redis
    )
    feed_redis_url: str = _setting("FEED_REDIS_URL", "", "live feed (pub/sub); empty: REDIS_URL", _redis)
    database_url: str = _setting("DATABASE_URL", "", "the ledger; empty: embedded PostgreSQL", _url("postgresql", "postgres"))
    data: str = _setting("DOORMAN_DATA", ".doorman", "folder of this machine's rehearsals; `up` sets it to its own data folder")
    appendfsync: str = _setting("DOORMAN_APPENDFSYNC", "always", "embedded gate's AOF: always or everysec", _appendfsync)
    trusted_proxies: str = _setting(
        "DOORMAN_TRUSTED_PROXIES", "", "comma-separated addresses or networks whose X-Forwarded-For is believed", _networks
    )
    buy_limit: tuple[int, float] = _setting("DOORMAN_BUY_LIMIT", (30, 10.0), "buys / seconds, per shopper", _rate)
    address_limit: tuple[int, float] = _setting("DOORMAN_ADDRESS_LIMIT", (300, 10.0), "requests / seconds, per address", _rate)
    api_limit: tuple[int, float] = _setting("DOORMAN_API_LIMIT", (100, 10.0), "API requests / seconds, per key", _rate)
    limit_loopback: bool = _setting("DOORMAN_LIMIT_LOOPBACK", False, "count loopback callers in per-address limits too", _flag)
    sweep_seconds: float = _setting("DOORMAN_SWEEP_SECONDS", 5.0, "s between two sweeps", _number)
    reconcile_seconds: float = _setting("DOORMAN_RECONCILE_SECONDS", 3.0, "s between two drift checks", _number)
    grace_seconds: float = _setting(
        "DOORMAN_GRACE_SECONDS", 60.0, "s past its deadline that a submitted payment may wait for a worker", _number
    )
    provider_timeout_seconds: float = _setting("DOORMAN_PROVIDER_TIMEOUT_SECONDS", 20.0, "s one provider call may take", _number)
    job_timeout_seconds: float = _setting(
        "DOORMAN_JOB_TIMEOUT_SECONDS", 30.0, "s one job may take; over it is a crash (unknown)", _number
    )
    claim_dead_seconds: float = _setting(
        "DOORMAN_CLAIM_DEAD_SECONDS", 45.0, "s after which a claim's holder counts as dead", _number
    )
    queue_retry_seconds: float = _setting(
        "DOORMAN_QUEUE_RETRY_SECONDS", 60.0, "s after which due work is put on the queue again", _number
    )
    gate_timeout_seconds: float = _setting("DOORMAN_GATE_TIMEOUT_SECONDS", 2.0, "s one gate call may take", _number)
    record_timeout_seconds: float = _setting("DOORMAN_RECORD_TIMEOUT_SECONDS", 2.0, "s one recorder transaction may take", _number)
    record_idle_seconds: float = _setting(
        "DOORMAN_RECORD_IDLE_SECONDS", 3.0, "s after which a dead recorder's entries are taken over", _number
    )
    journal_entries_max: int = _setting(
        "DOORMAN_JOURNAL_ENTRIES_MAX", 20_000, "entries not yet in the ledger at which the gate answers not_ready", int
    )
    stripe_api_base: str = _setting(
        "STRIPE_API_BASE", "", "the provider; empty: the sandbox that `up` starts", _url("http", "https")
    )
    stripe_secret_key: str = _setting("STRIPE_SECRET_KEY", "", "secret key at the provider; empty: the sandbox's", secret=True)
    stripe_publishable_key: str = _setting(
        "STRIPE_PUBLISHABLE_KEY",
        "",
        "pk_…, beside the secret key: cards are entered in Stripe's own form; empty: the sandbox's test cards",
        _publishable_key,
        secret=True,
    )
    stripe_webhook_secret: str = _setting(
        "STRIPE_WEBHOOK_SECRET",
        "",
        "signing secret of the provider's notices to /webhooks/stripe, while rotating two with a comma between them; "
        "empty: no notice is believed, outcomes are asked for",
        _signing_secrets,
        secret=True,
    )
    warehouse_url: str = _setting(
        "DOORMAN_WAREHOUSE_URL", "", "the warehouse; empty: paid orders wait for one", _url("http", "https")
    )
    warehouse_token: str = _setting("DOORMAN_WAREHOUSE_TOKEN", "", "bearer token at the warehouse", secret=True)
    warehouse_timeout_seconds: float = _setting(
        "DOORMAN_WAREHOUSE_TIMEOUT_SECONDS", 120.0, "s one warehouse call may take", _number
    )
    parcel_job_timeout_seconds: float = _setting(
        "DOORMAN_PARCEL_JOB_TIMEOUT_SECONDS", 150.0, "s one fulfilment job may take; over it is a crash (unknown)", _number
    )
    parcel_dead_seconds: float = _setting(
        "DOORMAN_PARCEL_DEAD_SECONDS", 180.0, "s after which the holder of a parcel counts as dead", _number
    )
    parcel_settle_seconds: float = _setting(
        "DOORMAN_PARCEL_SETTLE_SECONDS", 10.0, "s the warehouse's listing may lag: so long 'none' is not believed", _number
    )
    sandbox_latency: str = _setting("SANDBOX_LATENCY_SECONDS", "1-4", "s, low-high: how long the sandbox provider takes", _span)
    sandbox_decline_rate: float = _setting(
        "SANDBOX_DECLINE_RATE", 0.2, "share of cards the sandbox provider declines on purpose", _number
    )
    smtp_url: str = _setting(
        "SMTP_URL", "", "smtp://user:password@host:port; empty: mail goes to the development mailbox", _url("smtp", "smtps")
    )
    mail_from: str = _setting("DOORMAN_MAIL_FROM", "Doorman <doorman@localhost>", "sender of every mail")

    @property
    def production(self) -> bool:
        return self.env == "production"

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """-> every secret that may have signed a notice; two while the owner rotates them."""
        return _parts(self.stripe_webhook_secret)

    def table(self) -> list[tuple[str, str, str]]:
        """-> (variable, value, help) of every setting; secrets are not shown, passwords in addresses are masked."""
        return [(spec.metadata["env"], self._shown(spec), spec.metadata["help"]) for spec in fields(self)]

    def _shown(self, spec) -> str:
        value = getattr(self, spec.name)
        if spec.metadata["secret"]:
            return "(set)" if value else "(not set)"
        if isinstance(value, tuple):
            return "/".join(f"{part:g}" for part in value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return without_password(value) if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)

    @property
    def settled_within_seconds(self) -> float:
        """The bound of DESIGN section 4 without the hold, which each drop sets for itself: s after the last failure ends."""
        return self.grace_seconds + self.claim_dead_seconds + self.provider_timeout_seconds + 2 * self.sweep_seconds

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **overrides) -> "Settings":
        """-> checked settings. `overrides` win over the environment; SettingsError names what is wrong and what is lawful."""
        environment = os.environ if environment is None else environment
        values = {}
        for spec in fields(cls):
            text = environment.get(spec.metadata["env"])
            if text is None or spec.name in overrides:
                continue
            try:
                values[spec.name] = spec.metadata["parse"](text)
            except ValueError as error:
                shown = "its value" if spec.metadata["secret"] else repr(without_password(text))
                raise SettingsError(f"{spec.metadata['env']}: {shown} is not valid; expected: {spec.metadata['help']}") from error
        settings = cls(**(values | overrides))._with_short_defaults(values | overrides)
        settings.check()
        return settings

    def _with_short_defaults(self, given: Mapping[str, object]) -> "Settings":
        """-> these settings; times that nobody gave are shortened where a given one (a fast sweep, say) forbids the default."""
        settings = self
        for name, below in (
            ("gate_timeout_seconds", "sweep_seconds"),
            ("record_idle_seconds", "settled_within_seconds"),
            ("record_timeout_seconds", "record_idle_seconds"),
        ):
            if name not in given:
                shortened = min(getattr(settings, name), SHORTENED_SHARE * getattr(settings, below))
                settings = replace(settings, **{name: shortened})
        return settings

    def check(self) -> None:
        """Raise SettingsError for the first relation that does not hold."""
        for smaller, larger in (
            ("provider_timeout_seconds", "job_timeout_seconds"),
            ("job_timeout_seconds", "claim_dead_seconds"),
            ("claim_dead_seconds", "queue_retry_seconds"),
            ("warehouse_timeout_seconds", "parcel_job_timeout_seconds"),
            ("parcel_job_timeout_seconds", "parcel_dead_seconds"),
            ("record_timeout_seconds", "record_idle_seconds"),
            ("record_idle_seconds", "settled_within_seconds"),
            ("gate_timeout_seconds", "sweep_seconds"),
        ):
            if not getattr(self, smaller) < getattr(self, larger):
                raise SettingsError(
                    f"{_env(smaller)} ({getattr(self, smaller):g} s) must be below {_env(larger)} ({getattr(self, larger):g} s)"
                )
        for name in (
            "sweep_seconds",
            "reconcile_seconds",
            "provider_timeout_seconds",
            "warehouse_timeout_seconds",
            "gate_timeout_seconds",
            "record_timeout_seconds",
        ):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{_env(name)} must be above 0")
        for name in ("grace_seconds", "parcel_settle_seconds"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{_env(name)} must not be negative")
        if not self.claim_dead_seconds < PROVIDER_KEYS_SECONDS:
            raise SettingsError(
                f"{_env('claim_dead_seconds')} must be below {PROVIDER_KEYS_SECONDS} s: so long the provider knows a key"
            )
        if not 0 <= self.sandbox_decline_rate <= 1:
            raise SettingsError(f"{_env('sandbox_decline_rate')} must lie between 0 and 1")
        if self.journal_entries_max < 1:
            raise SettingsError(f"{_env('journal_entries_max')} must be at least 1")
        if self.secret and len(self.secret.encode()) < SECRET_BYTES_MIN:
            raise SettingsError(f"DOORMAN_SECRET must have at least {SECRET_BYTES_MIN} bytes; make one with: openssl rand -hex 32")
        if self.production:
            self._check_production()
        self._check_keys()

    def _check_keys(self) -> None:
        """Stripe's two keys belong together: with one alone nobody could pay, or nobody could be charged."""
        secret, publishable = self.stripe_secret_key, self.stripe_publishable_key
        if publishable and not secret:
            raise SettingsError("STRIPE_PUBLISHABLE_KEY is set without STRIPE_SECRET_KEY; set both, or neither for the sandbox")
        if secret and not publishable and not self.stripe_api_base:
            raise SettingsError(
                "STRIPE_SECRET_KEY is set without STRIPE_PUBLISHABLE_KEY; set both, or neither for the sandbox "
                "(STRIPE_API_BASE set to a test provider needs no publishable key)"
            )
        if publishable and not self.stripe_api_base and publishable.startswith("pk_test_") != _is_test_key(secret):
            raise SettingsError("STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY: one is a test key, the other a live one")

    def _check_production(self) -> None:
        if not self.secret:
            raise SettingsError("production needs DOORMAN_SECRET (at least 32 bytes); make one with: openssl rand -hex 32")
        if not self.public_url.startswith("https://"):
            raise SettingsError("production needs DOORMAN_PUBLIC_URL starting with https://")
        keys = ("stripe_secret_key",) if self.stripe_api_base else ("stripe_secret_key", "stripe_publishable_key")
        for name in ("smtp_url", "database_url", "redis_url", *keys):
            if not getattr(self, name):
                raise SettingsError(f"production needs {_env(name)}: {_help(name)}")


def _is_test_key(secret_key: str) -> bool:
    return secret_key.startswith(("sk_test_", "rk_test_"))


def without_password(text: str) -> str:
    """'redis://:secret@host/0' -> 'redis://:***@host/0'."""
    return re.sub(r"://([^/@:]*):[^@]*@", r"://\1:***@", text)


def _env(name: str) -> str:
    return {"settled_within_seconds": "the bound in which everything is settled"}.get(name) or Settings.__dataclass_fields__[
        name
    ].metadata["env"]


def _help(name: str) -> str:
    return Settings.__dataclass_fields__[name].metadata["help"]


def data_secret(data: Path) -> str:
    """-> the development secret of this data folder, made on first use (mode 0600)."""
    path = data / "secret"
    if not path.exists():
        data.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(SECRET_BYTES_MIN))
    return path.read_text().strip()
