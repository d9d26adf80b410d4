"""Webhooks on their way out: sending one event to one receiver, and the loop that does it for all.

Beside mail and warehouse this is the third way out of the house. The ledger says what is due (`Outbox`); nothing here knows it.
"""

from app.hooks.notifier import Notifier, Outbox
from app.hooks.sender import Answer, NotSent, Sender

__all__ = ["Answer", "NotSent", "Notifier", "Outbox", "Sender"]
