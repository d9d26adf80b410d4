"""Where a rehearsal's files lie: DATA/rehearsals/ID/…, and beside them the lock and the note of the stage that is open."""

import os
from datetime import UTC, datetime

FOLDER, LOCK, NOTE = "rehearsals", "lock", "stage.json"
PROGRESS, REPORT_JSON, REPORT_HTML, PICTURES, TRACES, LOG, UP_LOG = (
    "progress.json", "report.json", "report.html", "pictures", "traces", "rehearse.log",
    "up.log",
)  # fmt: skip
KEPT_MAX = 30  # rehearsals of one data folder; the oldest go first


def new_id(slug: str | None) -> str:
    """-> the name of a new rehearsal: sorts by time, and is no path."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}-{slug or 'standard'}"
