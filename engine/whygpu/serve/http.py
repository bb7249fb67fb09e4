"""The answers over HTTP: JSON in, JSON out, errors as the contract has them and never a traceback."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, HTTPException, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException as StarletteError
from starlette.middleware.trustedhost import TrustedHostMiddleware

import whygpu
from whygpu.errors import EngineError, InputError, Location, Problem
from whygpu.json_input import parse
from whygpu.render.output import json_text
from whygpu.render.problems import problems_data
from whygpu.serve.openapi import description
from whygpu.serve.questions import Asked
from whygpu.serve.work import BusyError, Limits, Work

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from whygpu.chain.names import EngineName
    from whygpu.serve.current import Current

JSON = "application/json"
LOCAL = ("127.0.0.1", "localhost")
ENDPOINTS = ("/advise", "/estimate", "/why-not", "/what-if", "/catalogue", "/health", "/metrics", "/openapi.json")


class _Metrics:
    """What Prometheus reads."""

    def __init__(self, work: Work, current: Current) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "whygpu_requests", "Requests by endpoint and status", ("endpoint", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "whygpu_request_seconds", "Seconds from a request to its answer", ("endpoint",), registry=self.registry
        )
        consultations = Gauge("whygpu_consultations_open", "Consultations that run or wait", registry=self.registry)
        consultations.set_function(lambda: work.open)
        reloads = Gauge("whygpu_knowledge_reloads", "Times the knowledge base was reloaded", registry=self.registry)
        reloads.set_function(lambda: current.reloads)
        stale = Gauge("whygpu_knowledge_stale", "1 where its files can no longer be loaded", registry=self.registry)
        stale.set_function(lambda: bool(current.problems))


def application(
    current: Current, engine: EngineName = "evaluator", limits: Limits | None = None, hosts: Sequence[str] = LOCAL
) -> FastAPI:
    """The application. ``hosts``: the names by which it may be called, so that no page of another site can."""
    limits = limits or Limits()
    work = Work(limits)
    metrics = _Metrics(work, current)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        work.close()

    app = FastAPI(title="whygpu", version=whygpu.__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.openapi = lambda: description(current.get().knowledge)  # type: ignore[method-assign]  # as FastAPI documents
    _add_questions(app, _Answering(current, engine, limits, work))
    _add_state(app, current, metrics)
    _add_errors(app)
    _measure(app, metrics)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    return app


class _Answering:
    """Reads requests and answers them within the limits."""

    def __init__(self, current: Current, engine: EngineName, limits: Limits, work: Work) -> None:
        self._current, self._engine, self._limits, self._work = current, engine, limits, work

    async def body(self, request: Request) -> dict[str, Any]:
        """The JSON object of a request; raises HTTPException."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise HTTPException(415, f"the body must be {JSON}")
        data = bytearray()
        async for block in request.stream():
            data += block
            if len(data) > self._limits.body_bytes:
                raise HTTPException(413, f"the body has more than {self._limits.body_bytes:,} bytes")
        try:
            found = parse(data.decode("utf-8"))
        except RecursionError as error:
            raise HTTPException(400, "the body is nested too deeply") from error
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON: {str(error)[:200]}") from error
        if not isinstance(found, dict):
            raise HTTPException(400, "the body must be a JSON object")
        return found

    async def answer(self, question: Callable[[Asked], dict[str, Any]]) -> Response:
        """The answer to a question; raises HTTPException where there is no room or no time for it."""

        def run() -> str:
            return json_text(question(Asked(self._current.get(), self._engine)))

        try:
            return Response(await self._work.run(run), media_type=JSON)
        except BusyError as error:
            raise HTTPException(503, "too many requests wait", {"Retry-After": "1"}) from error
        except TimeoutError as error:
            raise HTTPException(504, f"no answer within {self._limits.seconds:g} s") from error


def _add_questions(app: FastAPI, answering: _Answering) -> None:
    """The questions, each an endpoint."""

    @app.post("/advise")
    async def advise(request: Request, every: bool = False, trace: bool = False) -> Response:
        answers = await answering.body(request)
        return await answering.answer(lambda asked: asked.advise(answers, every=every, trace=trace))

    @app.post("/estimate")
    async def estimate(request: Request) -> Response:
        answers = await answering.body(request)
        return await answering.answer(lambda asked: asked.estimate(answers))

    @app.post("/why-not")
    async def why_not(request: Request) -> Response:
        answers, plan = _fields(await answering.body(request), plan=str)
        return await answering.answer(lambda asked: asked.why_not(answers, plan))

    @app.post("/what-if")
    async def what_if(request: Request) -> Response:
        answers, changes = _fields(await answering.body(request), changes=dict)
        return await answering.answer(lambda asked: asked.what_if(answers, changes))

    @app.get("/catalogue/{section}")
    async def catalogue(
        section: str,
        words: str = "",
        where: str | None = None,
        sort: str | None = None,
        descending: bool = False,
        limit: int = 100,
    ) -> Response:
        return await answering.answer(
            lambda asked: asked.catalogue(section, words, where, sort, descending=descending, limit=limit)
        )

    @app.get("/catalogue/{section}/{identifier}")
    async def entry(section: str, identifier: str) -> Response:
        return await answering.answer(lambda asked: asked.entry(section, identifier))


def _fields(body: dict[str, Any], **other: type) -> tuple[dict[str, Any], Any]:
    """The answers and one field more of a body; raises InputError with all that is wrong."""
    ((name, kind),) = other.items()
    wanted = {"answers": dict, name: kind}
    problems = [
        Problem("bad-type", f"it must be {'a text' if kind is str else 'an object'}", Location(f"body.{key}"))
        for key, kind in wanted.items()
        if not isinstance(body.get(key, {} if key == "answers" else None), kind)
    ]
    unknown = sorted(body.keys() - wanted.keys())
    problems += [Problem("unknown-key", "there is no such key", Location(f"body.{key[:40]}")) for key in unknown[:20]]
    if problems:
        raise InputError(problems)
    return body.get("answers", {}), body[name]


def _add_state(app: FastAPI, current: Current, metrics: _Metrics) -> None:
    """What those who run it ask."""

    @app.get("/health")
    def health() -> Response:
        knowledge = current.get().knowledge
        found = {
            "status": "stale" if current.problems else "ok",
            "version": whygpu.__version__,
            "kb": {"version": knowledge.version, "hash": knowledge.hash},
            "problems": problems_data(current.problems),
        }
        return Response(json_text(found), media_type=JSON)

    @app.get("/metrics")
    def show_metrics() -> Response:
        return Response(generate_latest(metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _add_errors(app: FastAPI) -> None:
    """Every error as ``{"error": [...]}``."""
    from fastapi.exceptions import RequestValidationError  # noqa: PLC0415

    @app.exception_handler(InputError)
    async def bad_input(_: Request, error: InputError) -> Response:
        missing = all(item.code == "unknown-entry" for item in error.problems)
        return _failed(404 if missing else 422, error.problems)

    @app.exception_handler(RequestValidationError)
    async def bad_query(_: Request, error: RequestValidationError) -> Response:
        where = [".".join(map(str, item["loc"])) for item in error.errors()]
        found = zip(where, error.errors(), strict=True)
        return _failed(422, [Problem("bad-query", str(item["msg"]), Location(place)) for place, item in found])

    @app.exception_handler(StarletteError)
    async def refused(request: Request, error: StarletteError) -> Response:
        hint = f"there are {', '.join(ENDPOINTS)}" if error.status_code == 404 else None
        code = {404: "unknown-path", 503: "busy", 504: "timeout"}.get(error.status_code, "bad-request")
        problem = Problem(code, str(error.detail), Location(request.url.path[:80]), hint)
        return _failed(error.status_code, [problem], dict(error.headers or {}))

    @app.exception_handler(EngineError)
    async def no_engine(_: Request, error: EngineError) -> Response:
        return _failed(500, [Problem("engine", str(error), Location("engine"))])


def _failed(status: int, problems: Sequence[Problem], headers: dict[str, str] | None = None) -> Response:
    return Response(json_text({"error": problems_data(problems)}), status, headers, JSON)


def _measure(app: FastAPI, metrics: _Metrics) -> None:
    """Count and time each request, and say "internal" where whygpu itself is wrong."""

    @app.middleware("http")
    async def measured(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        begun = time.perf_counter()
        try:
            response = await proceed(request)
        except Exception as error:  # noqa: BLE001  no request may end the server or show its inside
            what = f"an error of whygpu itself: {type(error).__name__}"
            response = _failed(500, [Problem("internal", what, Location("server"))])
        path = request.url.path
        endpoint = next((known for known in ENDPOINTS if path == known or path.startswith(f"{known}/")), "other")
        metrics.requests.labels(endpoint, str(response.status_code)).inc()
        metrics.seconds.labels(endpoint).observe(time.perf_counter() - begun)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
