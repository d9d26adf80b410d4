"""What a process counts about itself, in Prometheus' format. Counting never fails and never waits."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily

from app.domain.verdicts import Verdict


class Metrics:
    """One registry per application object. Every web process answers for itself alone."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.by_verdict = dict.fromkeys(Verdict, 0)
        self.registry.register(self)

    def verdict(self, verdict: Verdict) -> None:
        self.by_verdict[verdict] += 1  # a plain number: the crowd's no passes here

    def collect(self) -> Iterator[CounterMetricFamily]:
        """What the registry asks at every scrape."""
        verdicts = CounterMetricFamily("doorman_verdicts", "Answers to Buy, by verdict", labels=["verdict"])
        for verdict, count in self.by_verdict.items():
            verdicts.add_metric([verdict.value], count)
        yield verdicts

    def gauge(self, name: str, help: str, read: Callable[[], float]) -> None:
        """`read` is asked at every scrape."""
        Gauge(name, help, registry=self.registry).set_function(read)

    def text(self) -> bytes:
        return generate_latest(self.registry)
