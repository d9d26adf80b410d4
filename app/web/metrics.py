"""What a process counts about itself, in Prometheus' format. Counting never fails and never waits."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from app.domain.verdicts import Verdict


class Metrics:
    """One registry per application object. Every web process answers for itself alone."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        verdicts = Counter("doorman_verdicts", "Answers to Buy, by verdict", ["verdict"], registry=self.registry)
        self.by_verdict = {verdict: verdicts.labels(verdict.value) for verdict in Verdict}

    def verdict(self, verdict: Verdict) -> None:
        self.by_verdict[verdict].inc()

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """`read` is asked at every scrape."""
        Gauge(name, help, registry=self.registry).set_function(read)

    def text(self) -> bytes:
        return generate_latest(self.registry)
