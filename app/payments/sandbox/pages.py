"""The sandbox's pages: the bank's authentication step, and the ledger to look at.

Plain HTML that works without a script, with a keyboard and read aloud. The authentication page goes on working in an outage: that
is the buyer's bank, and money that moves while the provider's replies are lost is the very case to rehearse.
"""

from datetime import UTC, datetime
from decimal import Decimal
from html import escape
from sqlite3 import Row
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from app.payments.currencies import stripe_decimals
from app.payments.sandbox.bank import Bank
from app.payments.sandbox.faults import Fault
from app.payments.sandbox.objects import AUTHENTICATION_PATH
from app.sandbox.http import Reply, Request, html_reply
from app.sandbox.store import Store

LEDGER_ROWS_MAX = 200
COLUMNS = ("Asked for", "Order", "Amount", "State", "Captured", "Refunded", "Tries", "Payment")
SUMS = (
    "SELECT currency, count(*) AS n, sum(captured) AS captured, sum(refunded) AS refunded FROM intents GROUP BY currency ORDER BY 1"
)
STATES = {
    "requires_payment_method": "no card took it",
    "requires_confirmation": "not tried yet",
    "requires_action": "the bank asks the buyer",
    "succeeded": "captured",
    "canceled": "cancelled",
}
TITLES = {"succeeded": "Payment complete", "canceled": "Payment cancelled"}
_STYLE = """
:root { color-scheme: light dark; font: 1.125rem/1.5 system-ui, sans-serif; }
body { margin: 10vh auto; padding-inline: 1.25rem; }
main { max-inline-size: 38rem; margin-inline: auto; }
main:has(table) { max-inline-size: 90rem; }
h1 { font-size: 1.6rem; line-height: 1.2; }
p.amount { font-size: 2rem; font-variant-numeric: tabular-nums; margin-block: 1rem; }
button, a.back { font: inherit; display: inline-block; padding: .7rem 1.2rem; margin: 0 .5rem .5rem 0; border-radius: .5rem;
  border: 2px solid currentColor; background: transparent; color: inherit; cursor: pointer; text-decoration: none; }
button.yes { background: #14532d; border-color: #14532d; color: #fff; }
button:focus-visible, a:focus-visible { outline: 3px solid #2563eb; outline-offset: 3px; }
small { opacity: .75; }
table { border-collapse: collapse; font-size: .95rem; inline-size: 100%; }
th, td { text-align: start; padding: .35rem .75rem .35rem 0; border-block-end: 1px solid #8884; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
div.wide { overflow-x: auto; }
"""


class Pages:
    def __init__(self, store: Store, bank: Bank):
        self._store = store
        self._bank = bank

    def routes(self) -> list:
        return [
            ("GET", AUTHENTICATION_PATH + "{name}", self._ask),
            ("POST", AUTHENTICATION_PATH + "{name}", self._decide),
            ("GET", "/", self._ledger),
        ]

    async def _ledger(self, request: Request) -> Reply:
        total, rows = self._store.row("SELECT count(*) AS n FROM intents")["n"], self._newest()
        if not rows:
            return _page("Ledger", "<p>No payment has been asked for yet.</p>")
        head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
        lines = "".join(f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in _line(row))}</tr>" for row in rows)
        sums = "".join(
            f"<li>{row['n']} in {row['currency'].upper()}: {_money(row['captured'], row['currency'])} captured, "
            f"{_money(row['refunded'], row['currency'])} refunded</li>"
            for row in self._store.rows(SUMS)
        )
        shown = f"<p>{len(rows)} of {total} payments, newest first. Times are UTC. No money moves here.</p>"
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
        return _page("Ledger", f'{shown}<ul>{sums}</ul><div class="wide" tabindex="0">{table}</div>')

    def _newest(self) -> list[Row]:
        return self._store.rows(
            "SELECT id, json_extract(metadata, '$.order') AS \"order\", created, status, amount, currency, captured, refunded,"
            " attempts FROM intents ORDER BY seq DESC LIMIT ?",
            LEDGER_ROWS_MAX,
        )

    async def _ask(self, request: Request, name: str) -> Reply:
        try:
            intent = self._bank.intent(name)
        except Fault:
            return _page("Payment not found", "<p>This bank knows no such payment.</p>", 404)
        if intent["status"] != "requires_action":
            return self._result(name)
        amount = _money(intent["amount"], intent["currency"])
        return _page(
            "Confirm your payment",
            f"""<p>Your bank asks whether it is you who pays:</p>
<p class="amount">{amount}</p>
<form method="post"><button class="yes" name="decision" value="complete">Complete authentication</button>
<button name="decision" value="fail">Fail authentication</button></form>
<p><small>This is the bank of the sandbox provider: no money moves, and it speaks English only.</small></p>""",
        )

    async def _decide(self, request: Request, name: str) -> Reply:
        try:
            decision = request.form.get("decision")
        except ValueError:
            decision = None
        if decision not in ("complete", "fail"):
            return _page("Nothing decided", "<p>Choose one of the two buttons.</p>", 400)
        try:
            with self._store.transaction():
                self._bank.authenticate(name, decision == "complete")
        except Fault:
            return _page("Payment not found", "<p>This bank knows no such payment.</p>", 404)
        return self._result(name)

    def _result(self, name: str) -> Reply:
        row, intent = self._bank.row(name), self._bank.intent(name)
        done = intent["status"] == "succeeded"
        title = TITLES.get(intent["status"], "Payment not authenticated")
        back = ""
        if row["return_url"]:
            status = "succeeded" if done else "failed"
            told = {"payment_intent": name, "payment_intent_client_secret": intent["client_secret"], "redirect_status": status}
            url = _with_query(row["return_url"], told)
            back = f'<p><a class="back" href="{escape(url)}">Back to the shop</a></p>'
        return _page(title, f"<p>{'Your bank has confirmed the payment.' if done else 'The payment was not made.'}</p>{back}")


def _line(row: Row) -> tuple:
    """One payment, in the order of COLUMNS."""
    asked_at = datetime.fromtimestamp(row["created"], UTC).strftime("%Y-%m-%d %H:%M:%S")
    state = STATES[row["status"]] if row["attempts"] or row["status"] != "requires_payment_method" else "not tried yet"
    if row["refunded"]:
        state = "refunded" if row["refunded"] == row["captured"] else "refunded in part"
    sums = (_money(row[name], row["currency"]) if row[name] else "–" for name in ("captured", "refunded"))
    return (asked_at, row["order"] or "–", _money(row["amount"], row["currency"]), state, *sums, row["attempts"], row["id"])


def _money(amount: int, currency: str) -> str:
    """4900, 'eur' -> 'EUR 49.00'."""
    currency = currency.upper()
    return f"{currency} {Decimal(amount).scaleb(-stripe_decimals(currency)):,f}"


def _with_query(url: str, more: dict[str, str]) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query=urlencode(parse_qsl(parts.query, keep_blank_values=True) + list(more.items()))))


def _page(title: str, content: str, status: int = 200) -> Reply:
    return html_reply(
        f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title} - sandbox provider</title>
<style>{_STYLE}</style></head><body><main><h1>{title}</h1>{content}</main></body></html>""",
        status,
    )
