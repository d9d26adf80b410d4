"""What processes write to standard error: one line an event, nothing of a person or a secret in it.

Guarantees, for whatever is logged here or by a library, tracebacks included: mail addresses keep their first letter and their
domain; secret links, session cookies, our own words for an order, provider keys, passwords in addresses of servers and card
numbers are masked. Tracebacks come without local variables: those may hold cookies, codes and keys.
"""

import logging
import re
import sys

import structlog

MASK = "***"
SECRETS = (
    (re.compile(r"([\w.%+-])[\w.%+-]*@(?=[\w-]+(\.[\w-]+)+)"), rf"\g<1>{MASK}@"),  # mail addresses
    (re.compile(r"(/o/)[\w-]{43}"), rf"\g<1>{MASK}"),  # secret links of orders
    (re.compile(r"\b1(\.[0-9a-f]+){3}\.[\w-]{22}"), MASK),  # session cookies
    (re.compile(r"([?&]t=|\basked=|\bsession=)[\w.-]+"), rf"\g<1>{MASK}"),  # our own words for an order, cookies by name
    (re.compile(r"\b(sk|rk|whsec|pi|seti)_[\w-]*?(secret_)?[A-Za-z0-9]{12,}"), lambda found: f"{found[1]}_{MASK}"),
    (re.compile(r"://([^/@:\s]*):[^@\s]*@"), rf"://\g<1>:{MASK}@"),  # passwords in addresses of servers
    (re.compile(r"(?i)\b(bearer|basic) [\w.~+/=-]{8,}"), rf"\g<1> {MASK}"),
    (re.compile(r"\b[3-6](?:[ -]?\d){12,18}\b"), lambda found: MASK if passes_luhn(found[0]) else found[0]),  # card numbers
)


def masked(text: str) -> str:
    """-> the line without what must not be in a log."""
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return text


def passes_luhn(text: str) -> bool:
    """Whether these digits could be a card's: times in milliseconds and the like mostly are not."""
    digits = [int(character) for character in reversed(text) if character.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def configure_log() -> None:
    """For a process of its own; once, before anything is logged."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
            lambda _logger, _method, line: masked(line),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Masked("%(asctime)s [%(levelname)s] %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


class Masked(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))
