"""Cap, shares and keys of a running service against a model of a few lines."""

import shutil
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from serve.served import config_of, declarations, shared_workers, write_data
from winnow.serve import bodies
from winnow.serve.problems import Refusal
from winnow.serve.requests import DONE
from winnow.serve.service import Service

CAP = Fraction(1)
ANALYSTS = st.sampled_from(["ann", "bob"])
EIGHTHS = st.integers(1, 5).map(lambda n: n / 8)


class Budgets(RuleBasedStateMachine):
    """What is granted is what the sums allow, whoever asks in whatever order."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        write_data(self.folder)
        self.parts: dict[str, Fraction] = {}
        self.spent = {"ann": Fraction(0), "bob": Fraction(0)}
        self.keys: dict[tuple[str, str], tuple[float, str]] = {}
        self.service = self.opened()

    def opened(self) -> Service:
        hidden = declarations()["hidden"]  # a cap of 1, and pure sums
        service = Service(
            config_of(self.folder, datasets={"hidden": hidden}), workers=shared_workers()
        )
        service.start()
        return service

    @rule(analyst=ANALYSTS, part=st.integers(0, 8))
    def share(self, analyst: str, part: int) -> None:
        self.parts[analyst] = Fraction(part, 8)
        self.service.ledger.set_share("hidden", analyst, Fraction(part, 8))

    @rule(analyst=ANALYSTS, epsilon=EIGHTHS, key=st.sampled_from("abcdef"))
    def release(self, analyst: str, epsilon: float, key: str) -> None:
        opened = self.service.catalogue.get("hidden")
        assert opened is not None
        order = bodies.SelectOrder(column="colour", epsilon=epsilon)
        before = self.keys.get((analyst, key))
        after = self.spent[analyst] + Fraction(epsilon)
        fits = sum(self.spent.values()) + Fraction(epsilon) <= CAP
        fits = fits and after <= self.parts.get(analyst, Fraction(1)) * CAP
        if before is not None and before[0] != epsilon:
            with pytest.raises(Refusal, match="another request"):
                self.service.jobs.order(opened, order, analyst, key)
            return
        if before is None and not fits:
            with pytest.raises(Refusal, match="is left"):
                self.service.jobs.order(opened, order, analyst, key)
            return
        request = self.service.jobs.order(opened, order, analyst, key)
        if before is not None:
            assert before == (epsilon, request.id)
            return
        while (found := self.service.requests.request(request.id)) and found.shown is None:
            time.sleep(0.002)
        assert found is not None and found.state == DONE
        self.keys[analyst, key] = (epsilon, request.id)
        self.spent[analyst] = after

    @rule()
    def restart(self) -> None:
        self.service.stop()
        self.service = self.opened()

    @invariant()
    def sums_agree(self) -> None:
        if not hasattr(self, "service"):
            return
        ledger = self.service.ledger
        assert ledger.dataset("hidden").used.size == sum(self.spent.values())
        for analyst, spent in self.spent.items():
            assert ledger.share("hidden", analyst).used.size == spent
            used = self.service.catalogue.used("hidden", analyst)
            limit = min(
                CAP - sum(self.spent.values()),
                self.parts.get(analyst, Fraction(1)) * CAP - spent,
            )
            assert used.left == float(max(Fraction(0), limit))

    def teardown(self) -> None:
        if hasattr(self, "service"):
            self.service.stop()
            assert self.service.ledger.verify().ok
            shutil.rmtree(self.folder)


TestBudgets = Budgets.TestCase
TestBudgets.settings = settings(max_examples=3, stateful_step_count=12)
