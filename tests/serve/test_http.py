"""The answers over HTTP are those of the library; whatever is wrong is said as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.loops import finish
from whygpu.cli import main
from whygpu.render.output import json_text
from whygpu.serve.current import Current
from whygpu.serve.work import BusyError, Limits, Work

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

CHAT: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8}


def plain(data: Any) -> Any:
    return json.loads(json_text(data))


def test_the_advice_is_the_one_of_the_library(client: TestClient, current: Current) -> None:
    found = client.post("/advise", json=CHAT)
    assert found.status_code == 200, found.text
    advice = current.get().advise(CHAT, engine="evaluator")
    assert found.json() == plain(advice.to_dict(every=False, trace=False))
    assert found.json()["recommendation"]["cost"]["usd_per_hour"] > 0
    with_all = client.post("/advise?every=true", json=CHAT).json()
    assert len(with_all["alternatives"]) == len(advice.alternatives)
    assert "trace" not in with_all


def test_estimate_why_not_and_what_if(client: TestClient, current: Current) -> None:
    plan = client.post("/estimate", json=CHAT | {"accelerators": ["l4"], "count": 2}).json()
    assert (plan["accelerator"]["id"], plan["count"]) == ("l4", 2)
    advice = current.get().advise(CHAT, engine="evaluator")
    why = client.post("/why-not", json={"answers": CHAT, "plan": "H100"})
    assert why.status_code == 200, why.text
    assert "H100" in why.json()["sections"][0]["title"]
    changes = {"concurrency": 512}
    what = client.post("/what-if", json={"answers": CHAT, "changes": changes}).json()
    after = advice.what_if(**changes)
    assert what["changed"] is after.changed
    assert what["advice"] == plain(after.advice.to_dict(every=False, trace=False))


def test_the_catalogue(client: TestClient) -> None:
    query = {"where": "gpu.usable_gib >= 70", "sort": "usable_gib", "limit": "5"}
    found = client.get("/catalogue/accelerators", params=query).json()
    memory = [row["usable_gib"] for row in found["rows"]]
    assert len(memory) == 5
    assert memory == sorted(memory)
    assert memory[0] >= 70
    assert client.get("/catalogue/accelerators/l4").json()["id"] == "l4"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/advise", b"{", 400, "bad-request"),
        ("/advise", b"[1]", 400, "bad-request"),
        ("/advise", b'{"a": 1, "a": 2}', 400, "bad-request"),
        ("/advise", b'{"count": NaN}', 400, "bad-request"),
        ("/advise", b"\xff", 400, "bad-request"),
        ("/advise", b"[" * 100_000, 400, "bad-request"),
        ("/advise", b'{"model": "' + b"x" * 300_000 + b'"}', 413, "bad-request"),
        ("/advise", b'{"modle": 1, "phase": "trainning"}', 422, "unknown-key"),
        ("/advise", b'{"model": {"config": "/etc/hostname"}}', 422, "no-files"),
        ("/advise", b'{"phases": {"train": {"model": {"gguf": "/etc"}}, "serve": {}}}', 422, "no-files"),
        ("/advise", b'{"measured": [{"measurement": 1, "setup": {"model": {"config": "/etc"}}}]}', 422, "no-files"),
        ("/advise", b'{"measured": ["/etc/hostname"]}', 422, "wrong-type"),
        ("/estimate", b"{}", 422, "one-accelerator"),
        ("/why-not", b'{"plan": 4}', 422, "bad-type"),
        ("/why-not", b'{"plan": "no such card"}', 422, ""),
        ("/what-if", b'{"changes": {}, "more": 1}', 422, "unknown-key"),
        ("/what-if", b'{"changes": {"model": {"diffusers": "/tmp"}}}', 422, "no-files"),
        ("/nothing", b"{}", 404, "unknown-path"),
    ],
)
def test_what_is_wrong_is_said(client: TestClient, path: str, body: bytes, status: int, code: str) -> None:
    found = client.post(path, content=body, headers={"content-type": "application/json"})
    assert found.status_code == status, found.text
    problems = found.json()["error"]
    assert problems[0]["code"] == code or not code
    assert problems[0]["message"]
    assert "Traceback" not in found.text


def test_all_problems_come_at_once(client: TestClient) -> None:
    problems = client.post("/advise", json={"modle": 1, "phase": "trainning"}).json()["error"]
    assert [item["code"] for item in problems] == ["unknown-key", "bad-choice"]
    assert "did you mean" in problems[0]["help"]


def test_other_requests_that_are_refused(client: TestClient) -> None:
    assert client.post("/advise", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    assert client.get("/advise").status_code == 405
    assert client.get("/catalogue/weather").status_code == 404
    assert client.get("/catalogue/models/no-such").json()["error"][0]["code"] == "unknown-entry"
    assert client.get("/catalogue/models?limit=x").json()["error"][0]["code"] == "bad-query"
    assert client.get("/catalogue/accelerators", params={"where": "gpu.x >"}).status_code == 422
    assert client.get("/health", headers={"host": "evil.example"}).status_code == 400


def test_an_error_of_whygpu_itself_shows_nothing_of_its_inside(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("whygpu.serve.questions.Asked.advise", fail)
    found = client.post("/advise", json={})
    assert (found.status_code, found.json()["error"][0]["code"]) == (500, "internal")
    assert "secret" not in found.text


def test_health_metrics_and_description(client: TestClient, current: Current) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    health = client.get("/health").json()
    assert health["status"] == "ok"
    assert health["kb"]["hash"] == current.get().knowledge.hash
    client.post("/estimate", content=b"{", headers={"content-type": "application/json"})
    metrics = client.get("/metrics").text
    assert 'whygpu_requests_total{endpoint="/estimate",status="400"}' in metrics
    assert "whygpu_request_seconds_bucket" in metrics
    api = client.get("/openapi.json").json()
    assert set(api["paths"]) >= {"/advise", "/estimate", "/why-not", "/what-if", "/health"}
    resolver = {"components": api["components"], "$ref": "#/components/schemas/Answers"}
    check = jsonschema.Draft202012Validator(resolver)
    assert check.is_valid(CHAT)
    assert not check.is_valid({"modle": 1})
    answer = {"components": api["components"], "$ref": "#/components/schemas/Output"}
    jsonschema.Draft202012Validator(answer).validate(client.post("/advise", json=CHAT).json())


def test_too_many_and_too_slow_requests_are_refused() -> None:
    free = threading.Event()

    async def scenario() -> None:
        work = Work(Limits(running=1, waiting=1, seconds=0.05))
        results = await asyncio.gather(*(work.run(free.wait) for _ in range(3)), return_exceptions=True)
        assert sorted(type(item).__name__ for item in results) == ["BusyError", "TimeoutError", "TimeoutError"]
        assert any(isinstance(item, BusyError) for item in results)
        free.set()
        while work.open:
            await asyncio.sleep(0.001)
        assert await work.run(lambda: 3) == 3
        work.close()

    finish(scenario())


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 2
    assert "pip install 'whygpu[serve]'" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "whygpu.serve.mcp", raising=False)
    assert main(["mcp"]) == 2
    assert "pip install 'whygpu[mcp]'" in capsys.readouterr().err
