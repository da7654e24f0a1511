"""Counters for the owner, on a socket of their own: no private value, no n, no real duration."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from winnow.serve.ticker import Ticker


class Metrics:
    """Answers by status, and how many of them were late."""

    def __init__(self, ticker: Ticker) -> None:
        self.registry = CollectorRegistry()
        self._answers: Counter[int] = Counter()
        self.registry.register(_Counted(self._answers, ticker))

    def answered(self, status: int) -> None:
        """Count an answer."""
        self._answers[status] += 1

    def serve(self, host: str, port: int) -> None:
        """Answer on a second socket, in a thread of its own."""
        start_http_server(port, host, self.registry)


class _Counted(Collector):
    def __init__(self, answers: Counter[int], ticker: Ticker) -> None:
        self._answers, self._ticker = answers, ticker

    def collect(self) -> list[CounterMetricFamily]:
        answers = CounterMetricFamily("winnow_answers", "Answers by status", labels=["status"])
        for status, number in sorted(self._answers.items()):
            answers.add_metric([str(status)], number)
        late = CounterMetricFamily("winnow_late_answers", "Answers after more than one quantum")
        late.add_metric([], self._ticker.late)
        return [answers, late]
