"""The pages for owners and analysts: who visits, what they may see, and how it is written.

Every page gets what it shows from an endpoint of the API, by its name: so it is the same function,
under the same roles and scopes. Pages leave by the gate, at the same time as everything else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import jinja2
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from winnow.core.released import Receipt
from winnow.errors import WinnowError
from winnow.privacy import Guarantee
from winnow.privacy.refusals import COMPOSING, ODOMETER
from winnow.serve import charts, web
from winnow.serve.api import ENDPOINTS, Call, Endpoint
from winnow.serve.forms import Form
from winnow.serve.principals import Principal
from winnow.serve.problems import ProblemBody, Refusal, internal, log_failure, refusal_of

if TYPE_CHECKING:
    from winnow.serve.app import Server

_BY_NAME = {each.name: each for each in ENDPOINTS}
_STATIC = {
    "style.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Visit:
    """One request of somebody who is logged in."""

    server: Server
    request: Request
    who: Principal
    form: Form

    async def call(
        self, name: str, *, body: Any = None, key: str | None = None,
        query: Mapping[str, str] | None = None, **path: str,
    ) -> Any:  # fmt: skip
        """What an endpoint of the API answers to this visitor."""
        endpoint = self.require(name)
        asked = Call(self.server.service, self.who, path, query or {}, body, key)
        if endpoint.pace == "long":
            return await self.server.run_long(self.request, endpoint, asked)
        return await self.server.run(endpoint.run, asked)

    def require(self, name: str) -> Endpoint:
        """An endpoint that this visitor may use; others are refused before a form is read."""
        endpoint = _BY_NAME[name]
        endpoint.check(self.who)
        return endpoint

    def may(self, name: str) -> bool:
        """Whether this visitor may use an endpoint; links to others are left out."""
        return _BY_NAME[name].allows(self.who)

    @property
    def partly(self) -> bool:
        """Whether only a part of the page is wanted, by htmx."""
        return "hx-request" in self.request.headers

    async def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page for this visitor."""
        drawn = partial(render, self.server, self.request, template, status, visit=self, **values)
        response: Response = await self.server.run(drawn)
        return response


Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True)
class Page:
    """One address that browsers visit."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler


def page_routes(server: Server) -> list[BaseRoute]:
    """The addresses of all pages and static files."""
    from winnow.serve.screens import PAGES  # which stand on this file

    return [
        Route("/login", partial(_login_page, server), methods=["GET"]),
        Route("/login", partial(_log_in, server), methods=["POST"]),
        Route("/logout", partial(_log_out, server), methods=["POST"]),
        Route("/static/{name}", _static, methods=["GET"]),
        *(Route(each.path, _guarded(server, each), methods=[each.method]) for each in PAGES),
    ]


def _guarded(server: Server, page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        who = None
        try:
            who = await server.run(web.logged_in, server.service, request)
            if who is None:
                server.take_unknown(request, "pages")
                return _to_login(request)
            server.take(who)
            sent = page.method == "POST"
            form = Form.parse(await request.body() if sent else request.url.query.encode())
            if sent:
                web.check_form(server.service, request, form.one(web.CSRF_FIELD))
            return await page.handler(Visit(server, request, who, form))
        except Exception as error:
            return await problem_page(server, request, who, error)

    return answer


def _to_login(request: Request) -> Response:
    """Whoever is not logged in is sent to log in; htmx has to be told by a header."""
    if "hx-request" in request.headers:
        return Response(status_code=200, headers={"hx-redirect": "/login"})
    return RedirectResponse("/login", 303)


def wants_page(request: Request) -> bool:
    """Whether a person with a browser asks, and not a program that uses the API."""
    html = "text/html" in request.headers.get("accept", "")
    return html and not request.url.path.startswith("/v1/")


async def problem_page(
    server: Server, request: Request, who: Principal | None, error: Exception
) -> Response:
    """What went wrong, as a page, or as a part of one."""
    refused = refusal_of(error) if isinstance(error, WinnowError) else None
    if refused is None:
        told = internal()
        log_failure(f"a page failed with {told.id}", error)
    else:
        told = refused.problem
    visit = None if who is None else Visit(server, request, who, Form())
    partly = visit is not None and visit.partly
    template = "problem_part.html" if partly else "problem.html"
    response: Response = await server.run(
        partial(render, server, request, template, told.status, visit=visit, problem=told)
    )
    for name, value in (refused.headers if refused is not None else {}).items():
        response.headers[name] = value
    return response


# Log in and out


async def _login_page(server: Server, request: Request) -> Response:
    server.take_unknown(request, "login page")
    return await _login_form(server, request)


async def _login_form(
    server: Server, request: Request, status: int = 200, problem: ProblemBody | None = None
) -> Response:
    return await server.run(  # type: ignore[no-any-return]
        partial(render, server, request, "login.html", status, visit=None, problem=problem)
    )


async def _log_in(server: Server, request: Request) -> Response:
    response = RedirectResponse("/", 303)
    try:
        web.check_origin(server.service, request)
        token = Form.parse(await request.body()).one("token").strip()
        who = await server.run(server.service.accounts.principal, token)
        if who is None:  # behind a proxy all have one address: a valid token has its own rate
            server.take_unknown(request)
        else:
            server.take(who)
            await server.run(web.log_in, server.service, response, who)
    except WinnowError as error:
        return await problem_page(server, request, None, error)
    if who is not None:
        return response
    refused = Refusal("no-token", "the token is not valid; ask the owner for another")
    return await _login_form(server, request, 401, refused.problem)


async def _log_out(server: Server, request: Request) -> Response:
    response = RedirectResponse("/login", 303)
    try:
        server.take_unknown(request, "logout")
        form = Form.parse(await request.body())
        web.check_form(server.service, request, form.one(web.CSRF_FIELD))
        await server.run(web.log_out, server.service, request, response)
    except WinnowError as error:
        return await problem_page(server, request, None, error)
    return response


# Files and templates


@cache
def _file(name: str) -> bytes:
    return files("winnow.serve").joinpath("static", name).read_bytes()


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise Refusal("not-found")
    # an address with its digest never changes, so that browsers may keep the file
    kept = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(_file(name), media_type=_STATIC[name], headers=kept)


def _address(name: str) -> str:
    return f"/static/{name}?{hashlib.sha256(_file(name)).hexdigest()[:12]}"


def _amount(value: float, rounding: str) -> str:
    """Up to four digits after the point, rounded to the careful side."""
    rounded = Decimal(repr(value)).quantize(Decimal("0.0001"), rounding)
    return f"{rounded.normalize():,f}"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return charts.short(round(value, 3) if abs(value) >= 0.01 else value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("winnow.serve", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["spent"] = partial(_amount, rounding=ROUND_CEILING)
    environment.filters["left"] = partial(_amount, rounding=ROUND_FLOOR)
    environment.filters["moment"] = _moment
    environment.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
    environment.filters["short"] = charts.short
    environment.filters["cell"] = _cell
    environment.globals["budget_bar"] = charts.budget_bar
    environment.globals["used_and_left"] = COMPOSING
    environment.globals["so_far"] = ODOMETER
    environment.globals["guarantee"] = lambda document: str(Guarantee(**document))
    environment.globals["receipt_lines"] = lambda document: Receipt.from_dict(document).lines()
    environment.globals["receipt_note"] = lambda document: Receipt.from_dict(document).note()
    environment.globals["static"] = {name: _address(name) for name in _STATIC}
    return environment


_ENVIRONMENT = _environment()


def render(server: Server, request: Request, template: str, status: int, **values: Any) -> Response:
    """A page with its policy: our own files, one script by its nonce, forms to this server."""
    nonce = web.new_nonce()
    text = _ENVIRONMENT.get_template(template).render(
        csrf=web.csrf_token(server.service, request), nonce=nonce, path=request.url.path, **values
    )
    headers = {
        "content-security-policy": web.page_policy(nonce),
        "referrer-policy": "same-origin",  # with 'no-referrer' browsers hide the origin of forms
    }
    return Response(text, status, headers=headers, media_type="text/html")
