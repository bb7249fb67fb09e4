"""What was loaded before: used only where it is this user's own and of these very files, and equal to a fresh load."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.loader.small import small_texts
from whygpu import api
from whygpu.errors import KnowledgeBaseError
from whygpu.loader import assemble, cache

if TYPE_CHECKING:
    from collections.abc import Callable

    from whygpu.chain.names import EngineName

KEY = "1" * 64
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no cache where owners cannot be told")
ENGINES: tuple[EngineName, ...] = ("durable", "evaluator")
ANSWERS = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 4}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache of this test lies."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(cache.SWITCH, raising=False)
    return tmp_path / "cache" / "whygpu"


@pytest.fixture
def mykb(tmp_path: Path) -> Path:
    """A small knowledge base in a folder."""
    return written(tmp_path / "mykb", small_texts())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The roots of the knowledge bases that were read from their texts, not from the cache."""
    roots: list[str] = []
    original = assemble.load_texts

    def load_texts(texts: dict[str, str], root: str, *rest: object, **named: bool) -> object:
        roots.append(root)
        return original(texts, root, *rest, **named)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(assemble, "load_texts", load_texts)
    return roots


def written(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def entry(home: Path) -> Path:
    """The one file that is kept."""
    (found,) = home.glob("*.kb")
    return found


def test_what_is_kept_answers_alike(home: Path, mykb: Path, read: list[str]) -> None:
    fresh, again = api.load(mykb), api.load(mykb)
    assert len(read) == 1
    for engine in ENGINES:
        one, other = (json.dumps(kb.advise(ANSWERS, engine=engine).to_dict()) for kb in (fresh, again))
        assert one == other
    assert again.program.definition == fresh.program.definition
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry(home).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("rules", "strength: strong", "strength: mild"),
        ("facts/models", "layers: 32", "layers: 33"),
        ("facts/offerings", "usd_per_hour: 1", "usd_per_hour: 2"),
    ],
)
@pytest.mark.slow
def test_a_change_shows_at_once(home: Path, mykb: Path, read: list[str], name: str, before: str, after: str) -> None:
    """Of a rule, a model or a price: of the same length, at the same time of change, or not."""
    first = api.load(mykb)
    changed = 0
    for path in sorted(mykb.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if path.relative_to(mykb).as_posix().startswith(name) and before in text:
            times = path.stat()
            path.write_text(text.replace(before, after), encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            changed += 1
    assert changed
    second = api.load(mykb)
    assert len(read) == 2
    assert first.knowledge.hash != second.knowledge.hash


def test_two_beside_each_other(home: Path, tmp_path: Path, mykb: Path, read: list[str]) -> None:
    other = written(tmp_path / "other", small_texts())
    for _ in range(2):
        assert [api.load(path).knowledge.root for path in (mykb, other)] == [str(mykb), str(other)]
    assert read == [str(mykb), str(other)]
    assert len(list(home.glob("*.kb"))) == 2


def test_an_error_is_found_each_time(home: Path, mykb: Path) -> None:
    api.load(mykb)
    (mykb / "rules" / "broken.yaml").write_text("rulez: []\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(KnowledgeBaseError):
            api.load(mykb)


def test_it_can_be_turned_off(home: Path, mykb: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]) -> None:
    monkeypatch.setenv(cache.SWITCH, "off")
    api.load(mykb)
    api.load(mykb)
    assert len(read) == 2
    assert not home.exists()


def shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def readable(path: Path) -> None:
    path.chmod(0o640)


def linked(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def twice(path: Path) -> None:
    os.link(path, path.with_suffix(".other"))


def open_folder(path: Path) -> None:
    path.parent.chmod(0o770)


def open_above(path: Path) -> None:
    path.parent.parent.chmod(0o777)


def of_another(path: Path) -> None:
    """One that was kept by another key, under this one's name."""
    cache.write("0" * 64, (1, 2))
    path.write_bytes((path.parent / f"{'0' * 64}.kb").read_bytes())


def empty(path: Path) -> None:
    path.write_bytes(b"")


SPOILT = (shortened, flipped, readable, linked, twice, open_folder, open_above, of_another, empty)


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__)
def test_what_cannot_be_trusted_is_not_read(home: Path, spoil: Callable[[Path], None]) -> None:
    cache.write(KEY, (1, "two"))
    assert cache.read(KEY) == (1, "two")
    spoil(entry(home))
    assert cache.read(KEY) is None


def test_what_was_damaged_is_written_anew(home: Path, mykb: Path, read: list[str]) -> None:
    api.load(mykb)
    flipped(entry(home))
    api.load(mykb)
    api.load(mykb)
    assert len(read) == 2


def test_a_file_of_another_user_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write(KEY, (1,))
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    monkeypatch.setattr(os, "getuid", lambda: 12_345)
    assert cache.read(KEY) is None


def test_a_folder_that_cannot_be_written_to_is_no_failure(tmp_path: Path, mykb: Path, home: Path) -> None:
    home.parent.mkdir()
    home.write_text("a file where the folder should be", encoding="utf-8")
    assert api.load(mykb).knowledge.rules


@pytest.mark.parametrize("fails", ["mkdir", "mkstemp"])
def test_a_folder_that_is_read_only_is_no_failure(
    home: Path, mykb: Path, read: list[str], monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """For root too, whom no mode keeps from writing."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    if fails == "mkstemp":
        home.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(Path if fails == "mkdir" else tempfile, fails, refused)
    assert [api.load(mykb).knowledge.rules for _ in range(2)]
    assert len(read) == 2
    assert not list(home.glob("*"))


WRITES = """
import sys
from whygpu.loader import cache
if len(sys.argv) > 1:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
values = [("a" * 3_000_000,), ("b" * 3_000_000,)]
while True:
    for value in values:
        cache.write("1" * 64, value)
        print("kept", flush=True)
"""


def ended(after: int, *words: str) -> None:
    """Have another process keep things, one after the other, and kill it."""
    with subprocess.Popen([sys.executable, "-c", WRITES, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after):
            assert process.stdout.readline() == "kept\n"
        process.send_signal(signal.SIGKILL)


@pytest.mark.slow
def test_a_kill_while_it_is_written_leaves_the_old_one_or_the_new(home: Path) -> None:
    for after in range(1, 4):
        ended(after)
        assert cache.read(KEY) in (("a" * 3_000_000,), ("b" * 3_000_000,))
    left = home / ".abc.part"
    for hours in (0, 2):
        left.write_bytes(b"half")
        os.utime(left, (left.stat().st_mtime - 3600 * hours,) * 2)
        cache.write(KEY, (1,))
        assert left.exists() == (hours == 0), "what another process may be writing is left alone"


@pytest.mark.slow
def test_a_full_disk_keeps_nothing_and_is_no_failure(home: Path) -> None:
    ended(3, "full")
    assert not list(home.iterdir())


class Runs:
    """A pickle of this runs a command where it is read without care."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch ran",)


@pytest.mark.parametrize("bad", [Runs(), io.BytesIO(), cache.read, date(2026, 1, 2)])
def test_nothing_but_knowledge_is_made(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: object
) -> None:
    """Not even from a file that was put there whole, with the right name and digest."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "_Writer", pickle.Pickler)
    cache.write(KEY, bad)
    assert entry(home).exists()
    assert cache.read(KEY) is None
    assert not (tmp_path / "ran").exists()


def test_few_are_kept(home: Path) -> None:
    for number in range(9):
        cache.write(f"{number:064}", (number,))
    assert len(list(home.iterdir())) == 4
    assert cache.read(f"{8:064}") == (8,)
