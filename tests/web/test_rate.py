"""Calls per name and window."""

from app.web import rate
from app.web.rate import Rate


def test_one_too_many_is_refused_until_the_window_ends(monkeypatch):
    now = 100.0
    monkeypatch.setattr(rate, "monotonic", lambda: now)
    limit = Rate(2, 10.0, names_max=10)
    assert [limit.allow("a"), limit.allow("a"), limit.allow("a")] == [True, True, False]
    assert limit.allow("b")
    assert limit.retry_after_seconds == 10
    now = 110.0
    assert limit.allow("a")


def test_names_are_bounded(monkeypatch):
    monkeypatch.setattr(rate, "monotonic", lambda: 0.0)
    limit = Rate(1, 10.0, names_max=5)
    for name in range(100):
        limit.allow(name)
    assert len(limit.calls) <= 5
