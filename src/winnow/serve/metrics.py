"""Counters for the owner, on a socket of their own: no private value, no n, no real duration."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, start_http_server
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from winnow.serve.ticker import Ticker


class Metrics:
    """Answers by status, and how many of them were late."""

    def __init__(self, ticker: Ticker) -> None:
        self.registry = CollectorRegistry()
        self._answers = Counter(
            "winnow_answers", "Answers by status", ["status"], registry=self.registry
        )
        self.registry.register(_Ticks(ticker))

    def answered(self, status: int) -> None:
        """Count an answer."""
        self._answers.labels(str(status)).inc()

    def serve(self, host: str, port: int) -> None:
        """Answer on a second socket, in a thread of its own."""
        start_http_server(port, host, self.registry)


class _Ticks(Collector):
    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker

    def collect(self) -> list[CounterMetricFamily]:
        late = CounterMetricFamily("winnow_late_answers", "Answers after more than one quantum")
        late.add_metric([], self._ticker.late)
        return [late]
