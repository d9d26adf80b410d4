"""Every error Doorman raises on purpose, as one tree.

An expected answer of the gate is a `Verdict` (app/domain/verdicts.py), never an exception. What stands here is a fault of the
caller (`BadInput` and below), of the configuration, or of a neighbour that did not answer.

DoormanError
├── BadInput                 the caller sent something no retry will mend (4xx); the text is meant for the caller
│   └── KeyConflict          a known idempotency key with other content (422)
├── NotFound                 not there, or not yours: the two never differ
├── SettingsError            start-up refuses this configuration
├── GateUnreachable          the gate gave no answer: the outcome is unknown, ask again with the same key
├── LedgerUnreachable        Postgres gave no answer
├── ProviderSilent           the payment provider gave no answer: the outcome is unknown (R6)
├── ProviderRefused          the payment provider refused the request itself: a fault of ours, never a decline
├── WarehouseSilent          the warehouse gave no clear answer: what was asked may have landed (R8)
├── WarehouseAway            the warehouse could not be reached: what was asked certainly did not arrive
├── WarehouseRefused         the warehouse said no
├── BrokenInvariant          money or stock arithmetic that must hold does not
└── StartFailed              a server or part could not be started; one sentence says why and what to do
"""


class DoormanError(Exception):
    """Root of the tree."""


class BadInput(DoormanError):
    """The text is shown to the caller; `field` names the input it is about, where there is one."""

    def __init__(self, message: str, field: str | None = None):
        super().__init__(message)
        self.field = field


class KeyConflict(BadInput):
    pass


class NotFound(DoormanError):
    pass


class SettingsError(DoormanError):
    pass


class GateUnreachable(DoormanError):
    pass


class LedgerUnreachable(DoormanError):
    pass


class ProviderSilent(DoormanError):
    pass


class ProviderRefused(DoormanError):
    pass


class WarehouseSilent(DoormanError):
    pass


class WarehouseAway(DoormanError):
    pass


class WarehouseRefused(DoormanError):
    pass


class BrokenInvariant(DoormanError):
    pass


class StartFailed(DoormanError):
    pass
