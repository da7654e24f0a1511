"""Everything that a running server holds, and what can be asked of it; pages and API stand on it.

All methods are plain functions that may wait for the disk: they run in threads, never in the loop.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from winnow.privacy import describe, from_json
from winnow.privacy.ledger import Ledger
from winnow.privacy.ledger.accounts import Dataset
from winnow.privacy.ledger.locks import Hold
from winnow.privacy.ledger.spending import SHOWN_DELTA, spent_of
from winnow.privacy.rounding import stated_at_least, stated_at_most
from winnow.serve import bodies, orders, replies
from winnow.serve.accounts import Accounts
from winnow.serve.alone import UNENDED, each_done, held_alone
from winnow.serve.config import Config
from winnow.serve.datasets import RELEASES, Catalogue, OpenDataset
from winnow.serve.jobs import Jobs, Steps, job_of, release_of
from winnow.serve.planning import OrderPlans, PlanWorkers, Wait, plan_answer
from winnow.serve.principals import Principal, check_may_make, parse_scopes
from winnow.serve.problems import LOG, Refusal, log_failure
from winnow.serve.questions import Actor, kept_answers, state_file
from winnow.serve.requests import Request, Requests
from winnow.serve.store import ServerStore
from winnow.serve.turns import PrincipalPlaces
from winnow.serve.vault import Vault

_LOOK_AGAIN = 2.0
"""Seconds after which datasets that were added beside the server are looked for."""

_TIDY = 3600.0
"""Seconds after which answers that are too old are looked for."""
_FORGOTTEN = 200
"""So many are forgotten in one go: nobody waits long for the store meanwhile."""
_PAST = 50
"""So many requests with questions are listed."""


class Service:
    """One server's state: store, ledger, datasets, jobs and sessions."""

    def __init__(
        self,
        config: Config,
        *,
        step: Steps = lambda _: None,
        workers: PlanWorkers | None = None,
    ) -> None:
        config.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.config = config
        self.vault = Vault.open(config.path(config.key), create=True)
        self.store = ServerStore.open(config.place(config.store), self.vault, create=True)
        self.accounts, self.requests = Accounts(self.store), Requests(self.store)
        key = config.path(config.ledger_key) if config.ledger_key else None
        self.ledger = Ledger.open(config.place(config.ledger), key_file=key, create=True)
        self.catalogue = Catalogue(config.home, self.vault, self.ledger, log_failure)
        limits = config.limits
        self.workers = workers or PlanWorkers(
            limits.plans, seconds=limits.plan_seconds, megabytes=limits.plan_mb
        )
        self._own_workers = workers is None
        self.plans = OrderPlans(self.workers, limits.result_bytes)
        self.jobs = Jobs(
            self.requests, self.catalogue, self.vault, self.plans, limits,
            log=log_failure, step=step,
        )  # fmt: skip
        self.actors: dict[str, Actor] = {}
        self._asking = PrincipalPlaces(limits.questions_each, None, "requests with questions")
        self.turn: Callable[[], None] = lambda: None  # waits until questions may be worked on
        self._alone: list[Hold] = []
        self._stopping = threading.Event()
        self._looking = threading.Thread(target=self._look, name="datasets", daemon=True)

    def start(self) -> None:
        """Open all datasets and sessions, and finish what was begun before; once."""
        if self._alone:
            return
        self._alone = held_alone(self.config.home, self.store)
        for name, declared in self.config.datasets.items():
            self.accounts.add_dataset(name, declared, by="configuration")
        self.requests.start()
        self._open_datasets()
        self.store.note("server", "start")
        self._looking.start()

    def stop_plans(self) -> None:
        """End all plans: whoever waits for one is told so."""
        if self._own_workers:
            self.workers.close()

    def stop(self, seconds: float | None = None) -> bool:
        """Wait so long for what runs, and close the sessions; whether all of it ended.

        The rest is done at the next start: whatever is cut off here survives it. What cannot be
        ended or written down any more (a lost connection) is logged.
        """
        end = None if seconds is None else time.monotonic() + seconds
        self._stopping.set()
        closing = [threading.Thread(target=each_done, args=([actor.close], UNENDED), daemon=True)
                   for actor in self.actors.values()]  # fmt: skip
        for thread in closing:
            thread.start()
        ended: list[bool] = []
        each_done([self.stop_plans, lambda: ended.append(self.jobs.close(seconds))], UNENDED)
        for thread in (*closing, *([self._looking] if self._looking.is_alive() else [])):
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
            ended.append(not thread.is_alive())
        steps = [self.requests.keep_served, lambda: self.store.note("server", "stop")]
        each_done([*steps, *(hold.release for hold in self._alone)], UNENDED)
        self._alone = []
        return all(ended)

    def _look(self) -> None:
        tidied = -math.inf
        while not self._stopping.wait(_LOOK_AGAIN):
            try:
                self.store.held_still()
                self._open_datasets()
                self.requests.seen()
                if time.monotonic() > tidied + _TIDY:
                    self.forget_answers()
                    tidied = time.monotonic()
            except Exception as error:  # whatever it is, there is another look
                log_failure("datasets or old answers could not be looked for", error)

    def forget_answers(self) -> None:
        """Forget answers to questions that are older than they are kept."""
        self.requests.keep_served()
        before = self.requests.served() - 86_400 * self.config.keep_answers_days
        while self.requests.forget_answers(before, _FORGOTTEN) == _FORGOTTEN:
            if self._stopping.wait(self.config.quantum_ms / 1000):
                return

    def _open_datasets(self) -> None:
        for opened in self.catalogue.open_all(self.accounts.datasets()):
            if opened.declared.questions is not None:
                state = state_file(self.config.home, opened.name)
                state.parent.mkdir(mode=0o700, exist_ok=True)
                actor = Actor(
                    opened,
                    self.catalogue,
                    self.store,
                    self.requests,
                    state,
                    waiting=self.config.limits.waiting_questions,
                    log=log_failure,
                    turn=lambda: self.turn(),
                )
                actor.start()
                self.actors[opened.name] = actor
            resumed = self.jobs.resume(opened.name)
            if resumed:
                LOG.info("%d releases that had not appeared begin again", resumed)

    # What principals see

    def datasets(self, who: Principal) -> replies.DatasetList:
        """The datasets that one may see."""
        declared = self.accounts.datasets()
        items = []
        for name in self.accounts.seen_by(who):
            about = declared[name]
            items.append(
                replies.DatasetItem(
                    name,
                    about.kind,
                    about.about,
                    about.neighbours,
                    list(RELEASES[about.kind]),
                    about.questions is not None,
                    self.catalogue.get(name) is not None,
                )
            )
        return replies.DatasetList(items)

    def dataset(self, who: Principal, name: str) -> OpenDataset:
        """A dataset that one may see; 404 for all others, whether they are there or not."""
        opened = self.catalogue.get(name) if self.accounts.may_see(who, name) else None
        if opened is None:
            raise Refusal("not-found")
        return opened

    def schema(self, who: Principal, name: str) -> replies.SchemaAnswer:
        """What is public of a dataset."""
        opened = self.dataset(who, name)
        actor = self.actors.get(name)
        return replies.SchemaAnswer(
            name,
            opened.declared.kind,
            opened.declared.about,
            opened.declared.neighbours,
            opened.unit,
            opened.schema(),
            opened.labels(),
            opened.rows,
            None if actor is None else actor.public(),
        )

    def budget(self, who: Principal, name: str) -> replies.BudgetAnswer:
        """What is left for me, and what was used by everyone."""
        opened = self.dataset(who, name)
        account = self.ledger.dataset(name)
        owner = who.role == "owner"
        return replies.BudgetAnswer(
            name,
            str(account.cap.about(opened.protected)),
            None if owner else self.catalogue.used(name, who.name),
            self.catalogue.used(name),
            account.charges,
            self.catalogue.shares(name) if owner else [],
        )

    def plan(
        self, who: Principal, name: str, body: bodies.PlanBody, wait: Wait
    ) -> replies.PlanAnswer:
        """What a release would bring and cost; nothing is read or spent."""
        opened = self.dataset(who, name)
        analyst = who.name if who.role == "analyst" else ""
        accountant = self.catalogue.budget(name, analyst).accountant
        planned = self.plans.plan(opened, body.order, accountant, who.name, wait, body.curve)
        priced = orders.price(self.catalogue, opened, planned.event, planned.asked, analyst)
        used = self.catalogue.used(name, analyst)
        return plan_answer(body, planned, priced, used)

    def release(
        self, who: Principal, name: str, body: bodies.ReleaseBody, key: str, wait: Wait
    ) -> replies.JobAnswer:
        """Pay for a release; the job that brings it."""
        opened = self.dataset(who, name)
        request = self.jobs.order(opened, body.order, who.name, key, wait)
        return job_of(request, self.requests.now())

    def job(self, who: Principal, identity: str) -> replies.JobAnswer:
        """How far a release is, by public times."""
        return job_of(self._request(who, identity, brief=True), self.requests.now())

    def job_list(self, who: Principal) -> replies.JobList:
        """My releases, or everyone's for an owner."""
        mine = None if who.role == "owner" else who.name
        now = self.requests.now()
        return replies.JobList(
            [job_of(each, now) for each in self.requests.requests(principal=mine)]
        )

    def released(self, who: Principal, identity: str) -> replies.ReleaseAnswer:
        """What was released."""
        return release_of(self._request(who, identity), self.requests.now())

    def receipt(self, who: Principal, identity: str) -> dict[str, Any]:
        """The receipt of a release."""
        return self.released(who, identity).receipt

    def download(self, who: Principal, identity: str, name: str) -> str:
        """A file of a release."""
        release = self.released(who, identity)
        content = self.requests.file(identity, name) if name in release.downloads else None
        if content is None:
            raise Refusal("not-found")
        return content

    def _request(self, who: Principal, identity: str, *, brief: bool = False) -> Request:
        request = self.requests.request(identity, brief=brief)
        mine = request is not None and (who.role == "owner" or request.principal == who.name)
        if request is None or not mine or request.kind == "questions":
            raise Refusal("not-found")
        return request

    def ask(
        self, who: Principal, name: str, body: bodies.QuestionsBody, key: str
    ) -> Future[replies.AnswersAnswer]:
        """Ask the session of a dataset."""
        self.dataset(who, name)
        actor = self.actors.get(name)
        if actor is None:
            raise Refusal("invalid", f"the dataset {name!r} takes no questions; see its releases")
        return self._asking.until_done(
            f"{who.name} {name}", lambda: actor.ask(who.name, key, body.questions)
        )

    def past_answers(self, who: Principal) -> replies.PastList:
        """My latest questions with their answers, or everyone's for an owner."""
        mine = None if who.role == "owner" else who.name
        requests = self.requests.requests(principal=mine, most=_PAST, questions=True)
        told = self.catalogue.counted
        past = ((r, kept_answers(r)[0], told(r.dataset)) for r in requests)
        kept = [(r.accepted, r.principal, r.dataset, given, counted) for r, given, counted in past]
        return replies.PastList([replies.PastAnswers(*each) for each in kept])

    # What owners do

    def shares(self, who: Principal, name: str) -> replies.ShareList:
        """All shares, and who may see the dataset."""
        self.dataset(who, name)
        return replies.ShareList(self.catalogue.shares(name), self.accounts.grants(name))

    def set_share(
        self, who: Principal, name: str, analyst: str, body: bodies.ShareBody
    ) -> replies.ShareItem:
        """Let an analyst use at most this part of the cap."""
        self.dataset(who, name)
        if not self.accounts.is_analyst(analyst):
            raise Refusal("not-found")
        share = self.ledger.set_share(name, analyst, body.part)
        self.store.note(who.name, "share set", dataset=name, analyst=analyst, part=body.part)
        left = self.catalogue.budget(name, analyst).left.amount
        return replies.ShareItem(analyst, body.part, stated_at_least(share.spent.size), left)

    def set_grant(self, who: Principal, name: str, analyst: str, *, granted: bool) -> replies.Done:
        """Let an analyst see a dataset, or no longer."""
        self.dataset(who, name)
        if not self.accounts.set_grant(analyst, name, granted=granted, by=who.name):
            raise Refusal("not-found")
        return replies.Done()

    def spending(self, who: Principal, name: str) -> replies.Spending:
        """All charges of a dataset in order, for a plot of spending over time."""
        self.dataset(who, name)
        cap, entries = self.ledger.cap(name), self.ledger.entries(name)
        charges = []
        for entry in entries:
            if entry.kind == "charge":
                spent = stated_at_least(Dataset.after(entry).spent.size)
                event, by = describe(from_json(entry.body["event"])), entry.body["analyst"]
                charges.append(replies.SpendingItem(entry.time, by, event, spent))
        so_far, most = spent_of(entries)[name].told(SHOWN_DELTA), stated_at_most(cap.limit.size)
        return replies.Spending(cap.unit, most, so_far, charges)

    def tokens(self) -> replies.TokenList:
        """All tokens, without what they are."""
        return replies.TokenList(
            [
                replies.TokenItem(
                    each.id, each.principal, each.role, list(each.scopes), each.created,
                    each.expires, each.revoked,
                )
                for each in self.accounts.tokens()
            ]
        )  # fmt: skip

    def new_token(self, who: Principal, body: bodies.TokenBody) -> replies.NewToken:
        """A token, shown this once; nobody makes one that sees or does more than their own."""
        scopes = parse_scopes(body.role, " ".join(body.scopes))
        check_may_make(who, body.role, scopes)
        identity, secret = self.accounts.new_token(
            body.name,
            body.role,
            scopes=" ".join(sorted(scopes)),
            days=body.days,
            datasets=tuple(body.datasets),
            by=who.name,
        )
        return replies.NewToken(identity, secret)

    def revoke(self, who: Principal, identity: str) -> replies.Done:
        """End a token."""
        if not self.accounts.revoke(identity, by=who.name):
            raise Refusal("not-found")
        return replies.Done()

    def ledger_export(self) -> replies.LedgerExport:
        """Every entry of the ledger."""
        return replies.LedgerExport(
            self.ledger.name, [entry.to_dict() for entry in self.ledger.entries()]
        )

    def ledger_verify(self, head: str | None) -> replies.Verified:
        """Check the ledger, with the head of a receipt if there is one, and the audit log."""
        verified = self.ledger.verify(head)
        audit = self.store.verify_audit_log()
        ok = verified.ok and not audit
        return replies.Verified(ok, verified.entries, verified.head, verified.problem, audit)

    def audit_log(self, after: int) -> replies.AuditList:
        """Lines of the audit log after one."""
        return replies.AuditList(
            [
                replies.AuditItem(
                    line.sequence, line.time, line.who, line.what, line.detail, line.tag
                )
                for line in self.store.audit_log(after=after)
            ]
        )

    def ready(self) -> replies.Health:
        """Whether the store and the ledger can be used, and all datasets are open."""
        declared = self.accounts.datasets()
        opened = [name for name in declared if self.catalogue.get(name) is not None]
        for name in opened:
            self.ledger.dataset(name)
        whole = len(opened) == len(declared)  # how many there are is nobody's business here
        return replies.Health(whole, "" if whole else "a dataset is not open; see the log")
