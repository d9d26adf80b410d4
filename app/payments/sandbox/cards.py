"""Stripe's test payment methods: what each card does when it is charged.

The names and codes are Stripe's own ("Test cards" in its documentation), with and without the brand in the decline names. A name
that is not here is an unknown payment method, as it would be there.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decline:
    """Stripe's `code` and `decline_code` of a card error, and its text for the shopper."""

    code: str
    decline_code: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Card:
    """`authenticates`: the bank asks the shopper first. `decline`: what the bank says in the end; None is a yes."""

    brand: str
    decline: Decline | None = None
    authenticates: bool = False


GENERIC = Decline("card_declined", "generic_decline", "Your card was declined.")
INSUFFICIENT_FUNDS = Decline("card_declined", "insufficient_funds", "Your card has insufficient funds.")
LOST_CARD = Decline("card_declined", "lost_card", "Your card was declined.")
STOLEN_CARD = Decline("card_declined", "stolen_card", "Your card was declined.")
FRAUDULENT = Decline("card_declined", "fraudulent", "Your card was declined.")
VELOCITY = Decline("card_declined", "card_velocity_exceeded", "Your card was declined for making repeated attempts too frequently.")
EXPIRED_CARD = Decline("expired_card", None, "Your card has expired.")
INCORRECT_CVC = Decline("incorrect_cvc", None, "Your card's security code is incorrect.")
PROCESSING_ERROR = Decline("processing_error", None, "An error occurred while processing your card. Try again in a little bit.")

_GOOD = ("visa", "visa_debit", "mastercard", "mastercard_debit", "amex", "discover", "diners", "jcb", "unionpay")
_DECLINED = {
    "chargeDeclined": GENERIC,
    "chargeDeclinedInsufficientFunds": INSUFFICIENT_FUNDS,
    "chargeDeclinedLostCard": LOST_CARD,
    "chargeDeclinedStolenCard": STOLEN_CARD,
    "chargeDeclinedFraudulent": FRAUDULENT,
    "chargeDeclinedVelocityLimitExceeded": VELOCITY,
    "chargeDeclinedExpiredCard": EXPIRED_CARD,
    "chargeDeclinedIncorrectCvc": INCORRECT_CVC,
    "chargeDeclinedProcessingError": PROCESSING_ERROR,
    "chargeCustomerFail": GENERIC,
    "radarBlock": FRAUDULENT,
}
_AUTHENTICATES = ("authenticationRequired", "authenticationRequiredOnSetup", "threeDSecureRequired", "threeDSecure2Required")

CARDS: dict[str, Card] = {
    **{f"pm_card_{brand}": Card(brand.partition("_")[0]) for brand in _GOOD},
    **{f"pm_card_{name}": Card("visa", decline) for name, decline in _DECLINED.items()},
    **{f"pm_card_visa_{name}": Card("visa", decline) for name, decline in _DECLINED.items()},
    **{f"pm_card_{name}": Card("visa", authenticates=True) for name in _AUTHENTICATES},
    "pm_card_authenticationRequiredChargeDeclinedInsufficientFunds": Card("visa", INSUFFICIENT_FUNDS, authenticates=True),
}
