"""Money at the provider: the protocol, and the adapter over Stripe's SDK. The sandbox
provider is a program of its own beside them.
"""

from app.payments.protocol import Outcome, OutcomeKind, Provider
from app.payments.stripe_provider import StripeProvider

__all__ = ["Outcome", "OutcomeKind", "Provider", "StripeProvider"]
