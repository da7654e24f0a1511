"""The application: endpoints, health, OpenAPI and pages, behind the gate."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from winnow.errors import WinnowError
from winnow.serve import replies
from winnow.serve.api import ENDPOINTS, Call, Endpoint, endpoint_at
from winnow.serve.gate import Gate, decoded, has_left
from winnow.serve.limits import Buckets
from winnow.serve.metrics import Metrics
from winnow.serve.openapi import openapi
from winnow.serve.pages import page_routes, problem_page, wants_page
from winnow.serve.principals import Principal
from winnow.serve.problems import ProblemBody, Refusal, internal, log_failure, refusal_of
from winnow.serve.service import Service
from winnow.serve.ticker import Ticker
from winnow.serve.turns import PrincipalPlaces
from winnow.serve.wire import BACKLOG, Doors, most_connections, quiet_handler, wire_of

T = TypeVar("T")
_THREADS = 8


class Server:
    """A service with everything that HTTP needs around it; ``app`` is the ASGI application."""

    def __init__(self, service: Service) -> None:
        config = service.config
        self.service = service
        self.ticker = Ticker(config.quantum_ms / 1000)
        service.turn = self.ticker.wait
        self.doors = Doors(most_connections(config.limits.connections))
        self.metrics = Metrics(self.ticker)
        self._buckets = Buckets(config.limits.requests_per_second, config.limits.burst)
        self._waited = _Returns().waited
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="request")
        most = config.limits.plans + config.limits.waiting_plans
        self._long = ThreadPoolExecutor(most, thread_name_prefix="waiting")
        self._places = PrincipalPlaces(config.limits.plans_each, most, "plans")
        self._working: set[Future[Any]] = set()
        self._end = math.inf
        self.ended = True
        """After the end: whether nothing is left running in a thread."""
        self._answering = {each.name: self._endpoint(each) for each in ENDPOINTS}
        routes: list[BaseRoute] = [
            Route(each.path, self._routed(each), methods=[each.method]) for each in ENDPOINTS
        ]
        routes += [
            Route("/v1/openapi.json", self._description, methods=["GET"]),
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
            *page_routes(self),
        ]
        inner = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._unrouted, Refusal: self._refused},
        )
        inner.router.redirect_slashes = False  # an address would be made of the Host header
        self.app = Gate(
            inner,
            self._direct,
            self.ticker,
            tls=config.behind_tls_proxy,
            counted=self.metrics.answered,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(quiet_handler())
        await self.run(self.service.start)
        self.ticker.start()
        try:
            yield
        finally:
            await asyncio.sleep(self.ticker.quantum)
            await self.ticker.stop()
            left = max(0.0, min(self._end, time.monotonic() + self.patience) - time.monotonic())
            self.ended = await self.run(self.service.stop, left)
            self.ended = self.ended and not self._working
            self._threads.shutdown(wait=self.ended, cancel_futures=True)
            self._long.shutdown(wait=self.ended, cancel_futures=True)

    @property
    def patience(self) -> float:
        """Seconds that an end may take."""
        return self.service.config.limits.stop_seconds

    async def stopping(self) -> None:
        """The end begins: plans are cut off, and all the rest has some time."""
        self._end = time.monotonic() + self.patience
        await self.run(self.service.stop_plans)

    async def run(self, work: Callable[..., Any], *values: Any) -> Any:
        """Run what may wait for the disk in a thread; what it promises for later is waited for."""
        result = await self._in_thread(self._threads, work, *values)
        return await self._waited(result) if isinstance(result, Future) else result

    async def run_long(self, request: Request, endpoint: Endpoint, call: Call) -> Any:
        """Run what may take long, in one of its principal's places, as long as somebody waits."""
        with self._places.taken(call.who.name):
            running = asyncio.ensure_future(self._in_thread(self._long, endpoint.run, call))
            left = asyncio.ensure_future(has_left(request.scope))
            try:
                await asyncio.wait((running, left), return_when=asyncio.FIRST_COMPLETED)
                if not running.done():
                    await self.run(call.wait.leave)  # to end a process takes its time
                return await running
            finally:
                left.cancel()

    def _in_thread(
        self, threads: ThreadPoolExecutor, work: Callable[..., Any], *values: Any
    ) -> asyncio.Future[Any]:
        begun = threads.submit(work, *values)
        self._working.add(begun)
        begun.add_done_callback(self._working.discard)
        return asyncio.wrap_future(begun)

    def take(self, who: Principal) -> None:
        """Count a request of a principal against its rate."""
        self._buckets.take(f"principal {who.name}")

    def take_unknown(self, request: Request, what: str = "no token") -> None:
        """Count a request of nobody in particular against the rate of its address.

        Each kind has a rate of its own: behind a proxy all have one address, and whoever asks for
        one thing all the time keeps nobody from the others.
        """
        self._buckets.take(f"{what} address {request.client.host if request.client else ''}")

    async def _direct(self, scope: MutableMapping[str, Any], content: bytes) -> Response | None:
        """The answer of an endpoint, which needs no routing: most requests are such."""
        matched = endpoint_at(scope["method"], scope["path"])
        if matched is None:
            return None
        endpoint, scope["path_params"] = matched
        return await self._answering[endpoint.name](Request(scope), content)

    def _routed(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Route what is left: a HEAD, and methods that an address does not have."""

        async def answer(request: Request) -> Response:
            return await self._answering[endpoint.name](request, await request.body())

        return answer

    def _endpoint(self, endpoint: Endpoint) -> Callable[[Request, bytes], Awaitable[Response]]:
        decoder: Any = None if endpoint.body is None else msgspec.json.Decoder(endpoint.body)

        def read(request: Request, content: bytes, who: Principal) -> Call:
            body = None if decoder is None else decoded(decoder, content)
            key = request.headers.get("idempotency-key")
            return Call(self.service, who, request.path_params, request.query_params, body, key)

        def called(request: Request, content: bytes, secret: str, known: Principal | None) -> Any:
            return endpoint.run(
                read(request, content, self._authorized(request, endpoint, secret, known))
            )

        async def answer(request: Request, content: bytes) -> Response:
            secret, accounts = _secret(request), self.service.accounts
            known = accounts.known(secret)
            try:
                if endpoint.pace == "quick" and known is not None:
                    if accounts.old(secret):
                        self._threads.submit(accounts.principal, secret)
                    result = await self._waited(called(request, content, secret, known))
                elif endpoint.pace == "long":
                    who = await self.run(self._authorized, request, endpoint, secret, known)
                    result = await self.run_long(request, endpoint, read(request, content, who))
                else:
                    result = await self.run(called, request, content, secret, known)
            except WinnowError as error:
                return self._told(error)
            if isinstance(result, str):
                return Response(result, endpoint.status, media_type=endpoint.text)
            return Response(
                msgspec.json.encode(result), endpoint.status, media_type="application/json"
            )

        return answer

    def _authorized(
        self, request: Request, endpoint: Endpoint, secret: str, known: Principal | None
    ) -> Principal:
        who = known
        if who is None and secret:
            who = self.service.accounts.principal(secret)
        if who is None:
            self.take_unknown(request)
            raise Refusal(
                "no-token",
                "send the header 'Authorization: Bearer' with a token that the owner gave you",
                headers={"www-authenticate": "Bearer"},
            )
        self.take(who)
        endpoint.check(who)
        return who

    def _told(self, error: WinnowError) -> Response:
        refused = refusal_of(error)
        if refused is not None:
            return problem_response(refused.problem, refused.headers)
        told = internal()
        log_failure(f"a request failed with {told.id}", error)
        return problem_response(told)

    async def _refused(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return self._told(error)

    async def _unrouted(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        word = "wrong-method" if error.status_code == 405 else "not-found"
        headers = {k: v for k, v in (error.headers or {}).items() if k.lower() == "allow"}
        refused = Refusal(word, headers=headers)
        try:
            self.take_unknown(request, "elsewhere")
        except Refusal as too_many:
            return self._told(too_many)
        if wants_page(request):
            return await problem_page(self, request, None, refused)
        return problem_response(refused.problem, headers)

    async def _description(self, request: Request) -> Response:
        self.take_unknown(request, "openapi")
        return Response(msgspec.json.encode(openapi()), media_type="application/json")

    async def _health(self, _: Request) -> Response:
        # not counted: it costs nothing, and whoever watches the process must not be refused
        return Response(msgspec.json.encode(replies.Health(True)), media_type="application/json")

    async def _ready(self, request: Request) -> Response:
        self.take_unknown(request, "ready")
        try:
            health = await self.run(self.service.ready)
        except WinnowError as error:
            log_failure("the server is not ready", error)
            health = replies.Health(False, "the store or the ledger cannot be used")
        status = 200 if health.ok else 503
        return Response(msgspec.json.encode(health), status, media_type="application/json")


def http_server(server: Server) -> uvicorn.Server:
    """One process with one worker; requests are not logged, and nothing says what answers."""
    host, port = server.service.config.address
    return _HttpServer(
        server,
        uvicorn.Config(
            server.app,
            host=host,
            port=port,
            lifespan="on",
            access_log=False,
            server_header=False,
            log_level="error",  # what strangers send is not for the owner to read
            timeout_keep_alive=75,
            timeout_graceful_shutdown=math.ceil(server.patience),
            backlog=BACKLOG,
            proxy_headers=False,
            loop="asyncio",
            http=wire_of(server.ticker, server.doors, server.app.unreadable),
            ws="none",
        ),
    )


class _HttpServer(uvicorn.Server):
    """Ends what nobody needs any more before it waits for the rest."""

    def __init__(self, server: Server, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._server = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the server, within its time."""
        await self._server.stopping()
        await super().shutdown(sockets)


class _Returns:
    """Promises that other threads keep: the loop is woken once for all that are kept meanwhile."""

    def __init__(self) -> None:
        self._kept: list[asyncio.Future[None]] = []
        self._lock = threading.Lock()

    async def waited(self, awaited: Future[T]) -> T:
        """What comes of a promise."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        awaited.add_done_callback(lambda _: self._keep(loop, waiter))
        await waiter
        return awaited.result()

    def _keep(self, loop: asyncio.AbstractEventLoop, waiter: asyncio.Future[None]) -> None:
        with self._lock:
            first = not self._kept
            self._kept.append(waiter)
        if first:
            loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, []
        for waiter in kept:
            if not waiter.done():  # the client may have gone
                waiter.set_result(None)


def _secret(request: Request) -> str:
    """The token that a request carries; empty: none."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def problem_response(told: ProblemBody, headers: dict[str, str] | None = None) -> Response:
    """A problem as an answer."""
    return Response(
        msgspec.json.encode(told),
        told.status,
        headers=headers,
        media_type="application/problem+json",
    )
