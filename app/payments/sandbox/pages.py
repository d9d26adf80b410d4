"""The sandbox's pages: the bank's authentication step, and the ledger to look at.

Plain HTML that works without a script, with a keyboard and read aloud. The authentication page goes on working in an outage: that
is the buyer's bank, and money that moves while the provider's replies are lost is the very case to rehearse.
"""

from decimal import Decimal
from html import escape
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from app.payments.currencies import stripe_decimals
from app.payments.sandbox.bank import Bank
from app.payments.sandbox.faults import Fault
from app.payments.sandbox.objects import AUTHENTICATION_PATH
from app.sandbox.http import Reply, Request, html_reply
from app.sandbox.store import Store

LEDGER_ROWS_MAX = 200
TITLES = {"succeeded": "Payment complete", "canceled": "Payment cancelled"}
_STYLE = """
:root { color-scheme: light dark; font: 1.125rem/1.5 system-ui, sans-serif; }
body { margin: 10vh auto; padding-inline: 1.25rem; }
main { max-inline-size: 38rem; margin-inline: auto; }
main:has(table) { max-inline-size: 70rem; }
h1 { font-size: 1.6rem; line-height: 1.2; }
p.amount { font-size: 2rem; font-variant-numeric: tabular-nums; margin-block: 1rem; }
button, a.back { font: inherit; display: inline-block; padding: .7rem 1.2rem; margin: 0 .5rem .5rem 0; border-radius: .5rem;
  border: 2px solid currentColor; background: transparent; color: inherit; cursor: pointer; text-decoration: none; }
button.yes { background: #14532d; border-color: #14532d; color: #fff; }
button:focus-visible, a:focus-visible { outline: 3px solid #2563eb; outline-offset: 3px; }
small { opacity: .75; }
table { border-collapse: collapse; font-size: .95rem; inline-size: 100%; }
th, td { text-align: start; padding: .35rem .75rem .35rem 0; border-block-end: 1px solid #8884; }
td { font-variant-numeric: tabular-nums; }
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
        rows = self._bank.ledger()
        if not rows:
            return _page("Ledger", "<p>No payment has been asked for yet.</p>")
        head = "".join(f'<th scope="col">{escape(name.replace("_", " "))}</th>' for name in rows[0])
        newest = rows[: -LEDGER_ROWS_MAX - 1 : -1]
        lines = "".join(f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row.values())}</tr>" for row in newest)
        shown = f"<p>{len(newest)} of {len(rows)} payments, newest first. Amounts are minor units.</p>"
        return _page(
            "Ledger", f'{shown}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
        )

    async def _ask(self, request: Request, name: str) -> Reply:
        try:
            intent = self._bank.intent(name)
        except Fault:
            return _page("Payment not found", "<p>This bank knows no such payment.</p>", 404)
        if intent["status"] != "requires_action":
            return self._result(name)
        amount = _money(intent["amount"], intent["currency"].upper())
        return _page(
            "Confirm your payment",
            f"""<p>Your bank asks whether it is you who pays:</p>
<p class="amount">{amount}</p>
<form method="post"><button class="yes" name="decision" value="complete">Complete authentication</button>
<button name="decision" value="fail">Fail authentication</button></form>
<p><small>This is the sandbox provider's bank. No money moves.</small></p>""",
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


def _money(amount: int, currency: str) -> str:
    """4900, 'EUR' -> 'EUR 49.00'."""
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
