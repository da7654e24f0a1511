"""Browsers: sessions by cookie, forms that only our own pages can send, and the policy of pages."""

from __future__ import annotations

import hmac
import secrets

from starlette.requests import Request
from starlette.responses import Response

from winnow.serve.principals import Principal
from winnow.serve.problems import Refusal
from winnow.serve.service import Service

CSRF_FIELD = "csrf"
_LOGIN_SECONDS = 8 * 3600


def cookie_name(service: Service) -> str:
    """The cookie of a session: with TLS one that no other host can set, on loopback a plain one.

    Browsers keep a ``__Host-`` cookie of an address with TLS only; some do so on loopback, too.
    """
    return "__Host-winnow" if service.config.behind_tls_proxy else "winnow"


def log_in(service: Service, response: Response, who: Principal) -> None:
    """Begin a session by a token, and set its cookie."""
    response.set_cookie(
        cookie_name(service),
        service.accounts.login(who, _LOGIN_SECONDS),
        max_age=_LOGIN_SECONDS,
        path="/",
        secure=service.config.behind_tls_proxy,
        httponly=True,
        samesite="strict",
    )


def log_out(service: Service, request: Request, response: Response) -> None:
    """End the session of a browser."""
    secret = _secret(service, request)
    if secret:
        service.accounts.logout(secret)
    secure = service.config.behind_tls_proxy
    response.delete_cookie(
        cookie_name(service), path="/", secure=secure, httponly=True, samesite="strict"
    )


def _secret(service: Service, request: Request) -> str:
    return request.cookies.get(cookie_name(service), "")


def logged_in(service: Service, request: Request) -> Principal | None:
    """Who uses this browser; None: nobody logged in."""
    secret = _secret(service, request)
    return service.accounts.logged_in(secret) if secret else None


def csrf_token(service: Service, request: Request) -> str:
    """What a form of this session carries: another site cannot know it."""
    return service.vault.mark("csrf", _secret(service, request).encode())


def check_form(service: Service, request: Request, given: str) -> None:
    """Refuse a form that was not sent from a page of this server in this session."""
    check_origin(service, request)
    if not hmac.compare_digest(csrf_token(service, request).encode(), given.encode()):
        raise Refusal("wrong-origin", "the form is too old or came from elsewhere; load it again")


def check_origin(service: Service, request: Request) -> None:
    """Refuse what another site made the browser send."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    own = service.config.origin
    owns = {None, own}
    if not service.config.public_origin:
        owns.add(own.replace("//127.0.0.1:", "//localhost:"))  # people write either
    if site not in ("same-origin", "none") or origin not in owns:
        raise Refusal("wrong-origin", f"forms are taken from this server's own pages, at {own}")


def new_nonce() -> str:
    """For the policy of one page, and for the scripts of that page."""
    return secrets.token_urlsafe(16)


def page_policy(nonce: str) -> str:
    """The Content-Security-Policy of a page: our own files only, and no inline script."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
