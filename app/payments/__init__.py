"""Money at the provider: the protocol, and the adapter over Stripe's SDK. The sandbox provider is a program of its own beside them.

The adapter is imported when it is asked for: the sandbox lives in this package and has no use for the SDK's weight.
"""

from app.payments.protocol import Outcome, OutcomeKind, Provider

__all__ = ["Notice", "Outcome", "OutcomeKind", "Provider", "StripeProvider"]


def __getattr__(name: str):
    if name == "StripeProvider":
        from app.payments.stripe_provider import StripeProvider

        return StripeProvider
    if name == "Notice":
        from app.payments.notices import Notice

        return Notice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
