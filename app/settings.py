"""Every setting of Doorman, read from the environment in this one place.

Each has a unit, a default and a line of help (`doorman settings` prints them). Odd values are refused with a sentence, and the
relations of PROTOCOL section 8 are checked before anything starts.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from app.errors import SettingsError

SECRET_BYTES_MIN = 32


def _setting(env: str, default, help: str, parse=None):
    return field(default=default, metadata={"env": env, "help": help, "parse": parse})


def _rate(text: str) -> tuple[int, float]:
    """'30/10' -> (30, 10.0): thirty calls in ten seconds."""
    calls, _, seconds = text.partition("/")
    parsed = (int(calls), float(seconds))
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


def _environment(text: str) -> str:
    if text not in ("development", "production"):
        raise ValueError(text)
    return text


def _origin(text: str) -> str:
    if not text.startswith(("http://", "https://")) or text.count("/") != 2:
        raise ValueError(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    env: str = _setting("DOORMAN_ENV", "development", "development (loopback, embedded servers, demo) or production", _environment)
    public_url: str = _setting("DOORMAN_PUBLIC_URL", "http://127.0.0.1:8000", "scheme and host that shoppers see; links in mails start with it", _origin)
    secret: str = _setting("DOORMAN_SECRET", "", "signs cookies and links, at least 32 bytes; development keeps its own in DATA/secret")
    redis_url: str = _setting("REDIS_URL", "", "the gate; empty: embedded Valkey")
    queue_redis_url: str = _setting("QUEUE_REDIS_URL", "", "saq; empty: embedded Valkey of its own, or REDIS_URL where that is set")
    feed_redis_url: str = _setting("FEED_REDIS_URL", "", "live feed (pub/sub); empty: REDIS_URL")
    database_url: str = _setting("DATABASE_URL", "", "the ledger; empty: embedded PostgreSQL")
    appendfsync: str = _setting("DOORMAN_APPENDFSYNC", "always", "embedded gate's AOF: always or everysec", _appendfsync)
    trusted_proxies: str = _setting("DOORMAN_TRUSTED_PROXIES", "", "comma-separated addresses or networks whose X-Forwarded-For is believed")
    buy_limit: tuple[int, float] = _setting("DOORMAN_BUY_LIMIT", (30, 10.0), "buys / seconds, per shopper", _rate)
    address_limit: tuple[int, float] = _setting("DOORMAN_ADDRESS_LIMIT", (300, 10.0), "requests / seconds, per address", _rate)
    limit_loopback: bool = _setting("DOORMAN_LIMIT_LOOPBACK", False, "count loopback callers in per-address limits too", _flag)
    sweep_seconds: float = _setting("DOORMAN_SWEEP_SECONDS", 5.0, "s between two sweeps", float)
    reconcile_seconds: float = _setting("DOORMAN_RECONCILE_SECONDS", 3.0, "s between two drift checks", float)
    grace_seconds: float = _setting("DOORMAN_GRACE_SECONDS", 60.0, "s past its deadline that a submitted payment may wait for a worker", float)
    provider_timeout_seconds: float = _setting("DOORMAN_PROVIDER_TIMEOUT_SECONDS", 20.0, "s one provider call may take", float)
    job_timeout_seconds: float = _setting("DOORMAN_JOB_TIMEOUT_SECONDS", 30.0, "s one job may take; over it is a crash (unknown)", float)
    claim_dead_seconds: float = _setting("DOORMAN_CLAIM_DEAD_SECONDS", 45.0, "s after which a claim's holder counts as dead", float)
    queue_retry_seconds: float = _setting("DOORMAN_QUEUE_RETRY_SECONDS", 60.0, "s after which due work is put on the queue again", float)
    gate_timeout_seconds: float = _setting("DOORMAN_GATE_TIMEOUT_SECONDS", 2.0, "s one gate call may take", float)
    record_timeout_seconds: float = _setting("DOORMAN_RECORD_TIMEOUT_SECONDS", 2.0, "s one recorder transaction may take", float)
    record_idle_seconds: float = _setting("DOORMAN_RECORD_IDLE_SECONDS", 3.0, "s after which a dead recorder's entries are taken over", float)
    journal_entries_max: int = _setting("DOORMAN_JOURNAL_ENTRIES_MAX", 20_000, "entries not yet in the ledger at which the gate answers not_ready", int)
    stripe_api_base: str = _setting("STRIPE_API_BASE", "", "the provider; empty: the sandbox that `up` starts")
    stripe_secret_key: str = _setting("STRIPE_SECRET_KEY", "", "secret key at the provider; empty: the sandbox's")
    sandbox_latency: str = _setting("SANDBOX_LATENCY_SECONDS", "1-4", "s, low-high: how long the sandbox provider takes")
    sandbox_decline_rate: float = _setting("SANDBOX_DECLINE_RATE", 0.2, "share of cards the sandbox provider declines on purpose", float)
    smtp_url: str = _setting("SMTP_URL", "", "smtp://user:password@host:port; empty: mail goes to the development mailbox")
    mail_from: str = _setting("DOORMAN_MAIL_FROM", "Doorman <doorman@localhost>", "sender of every mail")

    @property
    def production(self) -> bool:
        return self.env == "production"

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
            parse = spec.metadata["parse"] or str
            try:
                values[spec.name] = parse(text)
            except ValueError as error:
                raise SettingsError(f"{spec.metadata['env']}={text!r} is not valid: {spec.metadata['help']}") from error
        settings = cls(**values, **overrides)
        settings.check()
        return settings

    def check(self) -> None:
        """Raise SettingsError for the first relation that does not hold."""
        for smaller, larger in (
            ("provider_timeout_seconds", "job_timeout_seconds"),
            ("job_timeout_seconds", "claim_dead_seconds"),
            ("claim_dead_seconds", "queue_retry_seconds"),
            ("record_timeout_seconds", "record_idle_seconds"),
        ):
            if not getattr(self, smaller) < getattr(self, larger):
                raise SettingsError(f"{_env(smaller)} ({getattr(self, smaller):g} s) must be below {_env(larger)} ({getattr(self, larger):g} s)")
        for name in ("sweep_seconds", "reconcile_seconds", "provider_timeout_seconds", "gate_timeout_seconds", "record_timeout_seconds"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{_env(name)} must be above 0")
        if self.grace_seconds < 0:
            raise SettingsError(f"{_env('grace_seconds')} must not be negative")
        if not 0 <= self.sandbox_decline_rate <= 1:
            raise SettingsError(f"{_env('sandbox_decline_rate')} must lie between 0 and 1")
        if self.journal_entries_max < 1:
            raise SettingsError(f"{_env('journal_entries_max')} must be at least 1")
        if self.secret and len(self.secret.encode()) < SECRET_BYTES_MIN:
            raise SettingsError(f"DOORMAN_SECRET must have at least {SECRET_BYTES_MIN} bytes; make one with: openssl rand -hex 32")
        if self.production:
            self._check_production()

    def _check_production(self) -> None:
        if not self.secret:
            raise SettingsError("production needs DOORMAN_SECRET (at least 32 bytes); make one with: openssl rand -hex 32")
        if not self.public_url.startswith("https://"):
            raise SettingsError("production needs DOORMAN_PUBLIC_URL starting with https://")
        for name in ("smtp_url", "database_url", "redis_url", "stripe_secret_key"):
            if not getattr(self, name):
                raise SettingsError(f"production needs {_env(name)}: {_help(name)}")


def _env(name: str) -> str:
    return Settings.__dataclass_fields__[name].metadata["env"]


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
