"""Sessions of durable-rules: a fixed pool, a boot fact in each, ids that are unique, threads, and flat memory."""

from __future__ import annotations

import json
import resource
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.chain.drive import run
from tests.chain.programs import program
from tests.chain.small import ADVISE, knowledge, program_of
from tests.effort import PATIENCE
from whygpu.chain import durable
from whygpu.chain.durable import RETIRED, SESSIONS, DurableEngine, Session
from whygpu.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain.programs import Program

LIVE_LIMIT = 1_024


class _Watched(DurableEngine):
    """An engine that notes the facts it is given and the sessions it gives out."""

    def __init__(self, given: Program) -> None:
        super().__init__(given.knowledge)
        self.facts: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.live: set[str] = set()
        self.most = 0
        self._lock = threading.Lock()

    def take(self) -> Session:
        session = super().take()
        with self._lock:
            self.live.add(session.name)
            self.most = max(self.most, len(self.live))
        if not session.facts:
            self.facts[session.name].clear()
        return session

    def release(self, session: Session, *, whole: bool) -> None:
        with self._lock:
            self.live.discard(session.name)
        super().release(session, whole=whole)

    def put(self, fact: str) -> int:
        plain = json.loads(fact)
        self.facts[plain["sid"]].append(plain)
        return super().put(fact)


def test_every_session_begins_with_a_boot_fact_and_ids_are_unique() -> None:
    for seed in range(1, 40):
        given = program(seed)
        engine = _Watched(given)
        run(given, engine.chain())
        ((session, facts),) = engine.facts.items()
        assert facts[0] == {"id": "1", "sid": session, "g": "boot"}
        identifiers = [fact["id"] for fact in facts]
        assert len(set(identifiers)) == len(identifiers)
        assert None not in [value for fact in facts for value in fact.values()]


def _fnv1a(text: str) -> int:
    code = 2166136261
    for byte in text.encode():
        code = ((code ^ byte) * 16777619) & 0xFFFFFFFF
    return code


def test_ids_do_not_collide_in_the_hash_that_the_library_compares() -> None:
    assert len({_fnv1a(str(number)) for number in range(1, 100_001)}) == 100_000
    assert len({_fnv1a(f"s{number}") for number in range(SESSIONS)}) == SESSIONS


def test_properties_do_not_collide_in_it_either() -> None:
    keys = {"id", "sid", "$s", "g", *(f"{kind}{number}" for kind in "tp" for number in range(10_000))}
    assert len({_fnv1a(key) for key in keys}) == len(keys)


def test_one_id_twice_is_an_error_not_a_lost_fact() -> None:
    engine = DurableEngine(knowledge([(["workload.n > 1"], ADVISE)]))
    (compiled,) = engine.program.compiled.values()
    (group,) = compiled.session
    stage = {"id": "1", "sid": engine.take().name, "g": group.name, "t0": 2.0}
    engine.put(json.dumps(stage))
    with pytest.raises(EngineError, match="collide"):
        engine.put(json.dumps(stage))


def test_a_fact_the_library_cannot_read_is_an_error_not_a_lost_fact() -> None:
    engine = DurableEngine(knowledge([(["workload.n > 1"], ADVISE)]))
    with pytest.raises(EngineError, match="refused a fact"):
        engine.put(json.dumps({"id": "1", "sid": engine.take().name, "v": float("inf")}))


def test_sessions_come_from_a_pool_and_return_to_it() -> None:
    base = knowledge([(["workload.n > 1"], ADVISE)])
    given = program_of(base, {"workload.n": 2.0}, 1.0)
    engine = _Watched(given)
    for _ in range(3 * SESSIONS):
        assert run(given, engine.chain()).fired == {"r0"}
    assert SESSIONS < LIVE_LIMIT
    assert len(engine.facts) <= SESSIONS
    assert not engine.live


def test_a_session_is_given_back_after_an_error() -> None:
    given = program(1)
    engine = _Watched(given)
    with pytest.raises(RuntimeError), engine.chain():
        raise RuntimeError
    assert not engine.live


def test_sessions_that_cannot_begin_do_not_use_up_the_pool() -> None:
    """64 of them, and every consultation waited for ever. None of them is used again: what is in it is not known."""
    given = program(1)
    engine = _Watched(given)
    wanted = run(given, _Watched(given).chain())

    def refused(_: str) -> int:
        raise EngineError("refused")

    used: set[str] = set()
    for _ in range(3 * SESSIONS):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(engine, "put", refused)
            chain = engine.chain()
            with pytest.raises(EngineError, match="refused"):
                chain.__enter__()
        used.add(chain._session.name)
    assert len(used) == 3 * SESSIONS
    assert run(given, engine.chain()) == wanted
    assert SESSIONS + RETIRED < LIVE_LIMIT


def test_too_many_lost_sessions_are_an_error_not_a_crash() -> None:
    engine = DurableEngine(program(1).knowledge)
    for _ in range(RETIRED):
        engine.take()
        engine.retire()
    engine.take()
    with pytest.raises(EngineError, match="could not begin"):
        engine.retire()


def test_a_session_that_cannot_be_emptied_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    base = knowledge([(["workload.n > 1"], ADVISE)])
    engine = DurableEngine(base)

    def refused(*_: object) -> None:
        raise engine._library.error("refused")

    for _ in range(RETIRED - SESSIONS):
        session = engine.take()
        with monkeypatch.context() as patched:
            patched.setattr(engine, "_library", _Library(engine._library, refused))
            with pytest.raises(EngineError, match="kept a session"):
                engine.release(session, whole=False)
    assert run(program_of(base, {"workload.n": 2.0}, 1.0), engine.chain()).fired == {"r0"}


class _Library:
    """The library but for what empties a session."""

    def __init__(self, library: Any, delete_state: Callable[..., None]) -> None:
        self._library, self.delete_state = library, delete_state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


def test_a_reused_session_has_forgotten_everything() -> None:
    base = knowledge([(["workload.n > 1"], ADVISE)])
    engine = DurableEngine(base)
    fires, silent = program_of(base, {"workload.n": 2.0}, 1.0), program_of(base, {}, 1.0)
    for _ in range(2 * SESSIONS):
        assert run(fires, engine.chain()).fired == {"r0"}
        assert run(silent, engine.chain()).fired == set()


def test_what_an_error_left_to_fire_never_fires() -> None:
    base = knowledge([(["workload.n > 1"], ADVISE)])
    engine = DurableEngine(base)
    (compiled,) = engine.program.compiled.values()
    chain = engine.chain()
    chain.__enter__()
    chain._put(f'"g":"{compiled.session[0].name}","t0":2.0')
    chain.__exit__(RuntimeError, RuntimeError(), None)
    assert run(program_of(base, {}, 1.0), engine.chain()).fired == set()


def test_a_session_is_used_again_until_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "SESSION_FACTS", 7)
    base = knowledge([(["workload.n > 1"], ADVISE)])
    engine = _Watched(program_of(base, {}, 1.0))
    most = []
    for number in range(20):
        given = program_of(base, {"workload.n": 2.0} if number % 3 else {}, 1.0)
        assert run(given, engine.chain()).fired == ({"r0"} if number % 3 else set())
        most.append(len(engine.facts["s0"]))
    assert most[:7] == [2, 3, 4, 5, 6, 7, 2]
    assert max(most) == 7


def test_more_consultations_than_sessions_wait_for_one() -> None:
    given = program(1)
    engine = _Watched(given)
    chains = [engine.chain() for _ in range(SESSIONS)]
    for chain in chains:
        chain.__enter__()
    done = threading.Event()

    def consult_one() -> None:
        run(given, engine.chain())
        done.set()

    threading.Thread(target=consult_one, daemon=True).start()
    time.sleep(0.1)
    assert not done.is_set()
    for chain in chains:
        chain.__exit__(None, None, None)
    assert done.wait(PATIENCE)
    assert engine.most == SESSIONS


def test_eight_threads_on_one_engine_give_the_same_answers() -> None:
    givens = [program(seed) for seed in range(1, 9)]
    engines = [DurableEngine(given.knowledge) for given in givens]
    wanted = [run(given, engine.chain()) for given, engine in zip(givens, engines, strict=True)]

    def consult_all(_: int) -> bool:
        return all(
            run(given, engine.chain()) == outcome
            for given, engine, outcome in zip(givens, engines, wanted, strict=True)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(consult_all, range(64)))


@pytest.mark.slow
def test_thousands_of_consultations_hold_memory_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "SESSION_FACTS", 20)  # full at other times they are a few megabytes more or less
    givens = [program(seed) for seed in range(1, 6)]
    engines = [DurableEngine(given.knowledge) for given in givens]
    silent = knowledge([(["workload.n > 1"], ADVISE)])
    givens.append(program_of(silent, {}, 1.0))  # nothing fires in its sessions but the boot rule
    engines.append(DurableEngine(silent))

    def consult_all(times: int) -> int:
        for _ in range(times):
            for given, engine in zip(givens, engines, strict=True):
                run(given, engine.chain())
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    settled = consult_all(300)
    assert consult_all(4_000 // len(givens)) - settled < 2 * 1024  # KiB


def test_an_engine_that_is_dropped_leaves_no_session_in_memory() -> None:
    given = program(1)

    def consult_anew(times: int) -> int:
        for _ in range(times):
            run(given, DurableEngine(given.knowledge).chain())
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    settled = consult_anew(20)
    assert consult_anew(100) - settled < 8 * 1024  # KiB; a session takes a third of a megabyte
