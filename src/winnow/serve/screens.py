"""What each page shows and does: analysts compose, confirm and read; owners watch and share."""

from __future__ import annotations

import json
import secrets
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.responses import RedirectResponse, Response

from winnow.errors import ParameterError, WinnowError
from winnow.serve import bodies, charts, forms, replies
from winnow.serve.pages import Page, Visit
from winnow.serve.principals import SCOPES
from winnow.serve.problems import Refusal, refusal_of
from winnow.serve.results import shown

KINDS = {
    "select": ("Select", "the value that most people have, or the best few"),
    "top-k": ("Top k", "the most common values, in order, with noisy counts if you like"),
    "labels": ("Labels", "the items that there are, where nobody listed them"),
    "tabulate": ("Tables", "counts by one or more columns, with an error for every cell"),
    "moments": ("Means", "counts, sums, means and deviations of columns of numbers"),
    "quantiles": ("Quantiles", "the median, quartiles or other quantiles of a column of numbers"),
    "regress": ("Regression", "a column of numbers as a linear function of other columns"),
    "histogram": ("Histogram", "how many rows lie in each bin of a column of numbers"),
    "describe": ("Description", "every column at once: missing, means, quantiles, common values"),
    "itemsets": ("Itemsets", "sets of items that many baskets hold"),
    "release": ("Query release", "many tables at once, and a synthetic table to download"),
}
"""Of each kind of release: its name, and what it brings."""


def _see(address: str) -> Response:
    return RedirectResponse(address, 303)


def _dataset(visit: Visit) -> str:
    return str(visit.request.path_params["dataset"])


# Everyone


async def home(visit: Visit) -> Response:
    """The datasets, and what is left of each."""
    listed = await visit.call("listDatasets")
    budgets = {}
    for each in listed.datasets:
        if each.ready:
            budgets[each.name] = await visit.call("getBudget", dataset=each.name)
    return await visit.page("datasets.html", datasets=listed.datasets, budgets=budgets)


async def dataset(visit: Visit) -> Response:
    """One dataset: its schema and budget; for owners its spending and shares."""
    name = _dataset(visit)
    schema = await visit.call("getSchema", dataset=name)
    listed = await visit.call("listDatasets")
    about = next(each for each in listed.datasets if each.name == name)
    values: dict[str, Any] = {
        "schema": schema,
        "about": about,
        "columns": forms.column_choices(schema),
        "budget_of": await visit.call("getBudget", dataset=name),
        "kinds": KINDS,
    }
    if visit.may("listShares"):
        values["shares"] = await visit.call("listShares", dataset=name)
    if visit.may("getSpending"):
        spending = await visit.call("getSpending", dataset=name)
        charges = [
            charts.Spent(datetime.fromisoformat(each.time), each.analyst, each.spent)
            for each in spending.charges
        ]
        values |= {
            "spending": spending,
            "plot": charts.spending(charges, spending.cap, spending.unit),
            "legend": charts.legend(charges),
        }
    return await visit.page("dataset.html", **values)


async def history(visit: Visit) -> Response:
    """My releases and answers, or everyone's for an owner."""
    jobs = await visit.call("listJobs")
    answers = await visit.call("listAnswers")
    return await visit.page("history.html", jobs=jobs.jobs, past=answers.past, kinds=KINDS)


# Analysts


async def compose(visit: Visit) -> Response:
    """The form of a release; sent, with what to expect of it."""
    name = _dataset(visit)
    schema = await visit.call("getSchema", dataset=name)
    listed = await visit.call("listDatasets")
    about = next(each for each in listed.datasets if each.name == name)
    kind = visit.form.one("kind") or about.releases[0]
    if kind not in about.releases:
        raise Refusal("not-found")
    sent = visit.request.method == "POST"
    budget = await visit.call("getBudget", dataset=name)
    planned, problem = None, None
    if sent:
        try:
            planned = await _planned(visit, name, kind, schema, budget)
        except WinnowError as error:
            problem = refusal_of(error)
            if problem is None:
                raise
    values = {
        "schema": schema, "kind": kind, "kinds": KINDS, "about": about, "budget": budget,
        "columns": forms.column_choices(schema), "form": visit.form, "sent": sent,
        "choices": forms.choices_of(kind), "takes": partial(forms.takes, kind),
        "problem": None if problem is None else problem.problem, **(planned or {"plan": None}),
    }  # fmt: skip
    status = 200 if problem is None else problem.problem.status
    return await visit.page("plan.html" if visit.partly else "compose.html", status, **values)


async def _planned(
    visit: Visit, name: str, kind: str, schema: replies.SchemaAnswer, budget: replies.BudgetAnswer
) -> dict[str, Any]:
    """A plan with its curve, and the order that its confirmation would send."""
    body = forms.plan_body(kind, schema, visit.form)
    if body.order.epsilon is None:  # the error was chosen: first find the epsilon
        answer = await visit.call("plan", dataset=name, body=body)
        order = msgspec.structs.replace(body.order, epsilon=answer.epsilon, error=None)
        body = msgspec.structs.replace(body, order=order)
    used = budget.mine or budget.everyone
    most = used.left if used.unit == "epsilon" else None
    body = msgspec.structs.replace(body, curve=forms.curve_around(body.order, most))
    plan = await visit.call("plan", dataset=name, body=body)
    chosen = (plan.epsilon, plan.error)
    return {
        "plan": plan,
        "points": sorted([*plan.curve, chosen]),
        "plot": charts.error_curve(plan.curve, chosen, most),
        "order": msgspec.json.encode(bodies.ReleaseBody(order=body.order)).decode(),
        "key": secrets.token_urlsafe(18),
    }


async def confirm(visit: Visit) -> Response:
    """Pay for a release that was planned; the same form again is the same release."""
    visit.require("release")
    job = await visit.call(
        "release",
        dataset=_dataset(visit),
        body=forms.release_body(visit.form),
        key=visit.form.one("key"),
    )
    return _see(f"/releases/{job.id}")


async def release(visit: Visit) -> Response:
    """A release on its way, refused, or there with its picture and its receipt."""
    identity = str(visit.request.path_params["release"])
    job = await visit.call("getJob", job=identity)
    state, view = None, None
    if job.state == "done":
        state = await visit.call("getRelease", release=identity)
        synthetic = None
        if "synthetic.csv" in state.downloads:
            synthetic = await visit.call("download", release=identity, file="synthetic.csv")
        view = await visit.server.run(shown, state, synthetic, await _labels(visit, job.dataset))
    now = visit.server.service.requests.now()
    return await visit.page(
        "release_part.html" if visit.partly else "release.html",
        job=job,
        release=state,
        view=view,
        wait=max(1, round(job.due - now + 0.6)),
        kinds=KINDS,
    )


async def _labels(visit: Visit, name: str) -> dict[str, list[Any]]:
    """The labels of a dataset, if the visitor may still see it; a release stays theirs."""
    try:
        schema = await visit.call("getSchema", dataset=name)
    except Refusal:
        return {}
    return dict(schema.labels)


async def receipt(visit: Visit) -> Response:
    """The receipt of a release as a file."""
    document = await visit.call("getReceipt", release=visit.request.path_params["release"])
    return _download(json.dumps(document, indent=2), "receipt.json", "application/json")


async def download(visit: Visit) -> Response:
    """A file of a release."""
    path = visit.request.path_params
    content = await visit.call("download", release=path["release"], file=path["file"])
    return _download(content, path["file"], "text/csv")


def _download(content: str, name: str, media_type: str) -> Response:
    """To be saved, and never shown as a page; the name is one of the server's own."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


async def questions(visit: Visit) -> Response:
    """The form of a question; sent, with its answer."""
    name = _dataset(visit)
    schema = await visit.call("getSchema", dataset=name)
    if schema.session is None:
        raise Refusal("not-found")
    answer, picture, problem = None, None, None
    if visit.request.method == "POST":
        try:
            body = forms.question_body(schema, visit.form)
            answer = await visit.call("ask", dataset=name, body=body, key=visit.form.one("key"))
            picture = _answer_picture(answer.answers[0], schema.rows)
        except WinnowError as error:
            problem = refusal_of(error)
            if problem is None:
                raise
    values = {
        "schema": schema, "columns": forms.column_choices(schema), "form": visit.form,
        "answer": answer, "picture": picture, "key": secrets.token_urlsafe(18),
        "problem": None if problem is None else problem.problem,
    }  # fmt: skip
    status = 200 if problem is None else problem.problem.status
    return await visit.page("answer.html" if visit.partly else "questions.html", status, **values)


def _answer_picture(item: replies.AnswerItem, rows: int | None) -> Any:
    """An answer on a line from none to all; None: its error is not known."""
    if item.error is None:
        return None
    scale, value = (float(rows), item.count) if rows else (1.0, item.value)
    low, high = value - item.error * scale, value + item.error * scale
    says = f"{charts.short(value)}, between {charts.short(low)} and {charts.short(high)}"
    return charts.interval(value, low, high, scale, says)


# Owners


async def share(visit: Visit) -> Response:
    """Set the share of an analyst."""
    visit.require("setShare")
    name, body = _dataset(visit), forms.share_body(visit.form)
    await visit.call("setShare", dataset=name, analyst=visit.form.one("analyst"), body=body)
    return _see(f"/datasets/{quote(name, safe='')}#shares")


async def grant(visit: Visit) -> Response:
    """Let an analyst see a dataset, or no longer."""
    visit.require("grant")
    word = {"yes": "grant", "no": "endGrant"}.get(visit.form.one("granted"))
    if word is None:
        raise ParameterError("say whether the dataset is granted; load the form again")
    name = _dataset(visit)
    await visit.call(word, dataset=name, analyst=visit.form.one("analyst"))
    return _see(f"/datasets/{quote(name, safe='')}#shares")


async def tokens(visit: Visit) -> Response:
    """All tokens; a new one is shown this once."""
    visit.require("newToken")
    new, problem = None, None
    if visit.request.method == "POST":
        try:
            new = await visit.call("newToken", body=forms.token_body(visit.form))
        except WinnowError as error:
            problem = refusal_of(error)
            if problem is None:
                raise
    listed = await visit.call("listTokens")
    known = await visit.call("listDatasets")
    return await visit.page(
        "tokens.html",
        200 if problem is None else problem.problem.status,
        tokens=listed.tokens,
        now=visit.server.service.store.clock(),
        datasets=known.datasets,
        scopes=SCOPES,
        new=new,
        form=visit.form,
        problem=None if problem is None else problem.problem,
    )


async def revoke(visit: Visit) -> Response:
    """End a token."""
    await visit.call("revokeToken", token=visit.form.one("token"))
    return _see("/tokens")


async def ledger(visit: Visit) -> Response:
    """Verify the ledger, with the head of a receipt if there is one."""
    visit.require("verifyLedger")
    head = visit.form.one("head")
    verified = None
    if "verify" in visit.form:
        verified = await visit.call("verifyLedger", query={"head": head} if head else {})
    return await visit.page("ledger.html", found=verified, head=head)


async def export(visit: Visit) -> Response:
    """Every entry of the ledger as a file."""
    exported = await visit.call("exportLedger")
    return _download(msgspec.json.encode(exported).decode(), "ledger.json", "application/json")


async def audit(visit: Visit) -> Response:
    """The audit log, in pieces."""
    after = visit.form.one("after", "0")
    log = await visit.call("getAuditLog", query={"after": after})
    return await visit.page("audit.html", lines=log.lines, after=after)


PAGES: tuple[Page, ...] = (
    Page("GET", "/", home),
    Page("GET", "/history", history),
    Page("GET", "/datasets/{dataset}", dataset),
    Page("GET", "/datasets/{dataset}/compose", compose),
    Page("POST", "/datasets/{dataset}/compose", compose),
    Page("POST", "/datasets/{dataset}/releases", confirm),
    Page("GET", "/datasets/{dataset}/questions", questions),
    Page("POST", "/datasets/{dataset}/questions", questions),
    Page("POST", "/datasets/{dataset}/shares", share),
    Page("POST", "/datasets/{dataset}/grants", grant),
    Page("GET", "/releases/{release}", release),
    Page("GET", "/releases/{release}/receipt.json", receipt),
    Page("GET", "/releases/{release}/files/{file}", download),
    Page("GET", "/tokens", tokens),
    Page("POST", "/tokens", tokens),
    Page("POST", "/tokens/revoke", revoke),
    Page("GET", "/ledger", ledger),
    Page("GET", "/ledger/export.json", export),
    Page("GET", "/audit", audit),
)
