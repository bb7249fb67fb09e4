"""A command as a process: whatever its streams are and whoever interrupts it, a status that says so, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.conftest import ROOT
from whygpu.cli import main
from whygpu.commands.process import guarded
from whygpu.commands.status import BROKEN
from whygpu.render.output import json_text
from whygpu.render.style import Style

Run = Callable[..., subprocess.CompletedProcess[str]]
PLAN = "whygpu.cli estimate --model llama-3.1-8b --set accelerators=l4"


def slow(*values: str) -> list[ParameterSet]:
    """Further values of a parameter that take a process each."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=ROOT, check=False, env=env)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize(
    "words", [PLAN, "whygpu.cli --help", *slow(f"{PLAN} --format json", "whygpu.cli catalogue models")]
)
def test_a_full_disk_is_said(words: str) -> None:
    done = shell(f"{sys.executable} -m {words} >/dev/full")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if "--help" not in words:  # which argparse prints, and passes over what it cannot
        assert done.returncode == 2
        assert "No space left" in done.stderr


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", *slow(">&-", "2>&-")])
def test_closed_streams_are_no_error(closed: str) -> None:
    done = shell(f"{sys.executable} -m {PLAN} {closed}")
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr


def test_a_reader_that_has_seen_enough() -> None:
    done = shell(f"{sys.executable} -m {PLAN} | head -n 1; exit 0")
    assert done.stdout.count("\n") == 1
    assert not done.stderr


def test_characters_that_a_stream_lacks() -> None:
    done = shell(f"{sys.executable} -m {PLAN}", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.slow
def test_characters_that_a_stream_lacks_are_escaped_in_json() -> None:
    data = shell(f"{sys.executable} -m {PLAN} --format json", PYTHONIOENCODING="latin-1")
    plain = shell(f"{sys.executable} -m {PLAN} --format json")
    assert json.loads(data.stdout) == json.loads(plain.stdout)


@pytest.mark.parametrize("place", ["whygpu.cli", "whygpu.api", *slow("numpy", "whygpu.explain.advice")])
def test_an_interrupt_while_modules_are_imported(place: str) -> None:
    program = (
        "import sys, signal, os\n"
        "class Early:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {place!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Early())\n"
        "sys.argv = ['whygpu', 'estimate', '--model', 'llama-3.1-8b', '--set', 'accelerators=l4']\n"
        "from whygpu.entry import whygpu\n"
        "sys.exit(whygpu())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (130, "", "")


def test_an_error_of_ours_has_a_status_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> int:
        raise ZeroDivisionError("a\x1b[2Jb")

    assert guarded(fails) == BROKEN
    said = capfd.readouterr().err
    assert "an error of whygpu itself" in said
    assert "test_process.py" in said
    assert "\x1b" not in said


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil"


def test_a_models_name_is_not_obeyed_by_a_terminal(run: Run, tmp_path: Path) -> None:
    config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4}
    config |= {"vocab_size": 100, "intermediate_size": 128, "_name_or_path": HOSTILE}
    answers = {"model": {"config": config, "name": HOSTILE}, "accelerators": ["l4"], "phase": "inference"}
    for command in (("estimate", "-"), ("explain", "-"), ("explain", "-", "--format", "json")):
        done = run(*command, stdin=json.dumps(answers))
        assert done.returncode == 0, done.stderr
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(done.stdout)
    assert json.loads(done.stdout)["answers"]["model"]["name"] == HOSTILE


@pytest.mark.parametrize("words", [("--set", f"accelerators={HOSTILE}"), ("--model", HOSTILE), (f"{HOSTILE}.yaml",)])
def test_an_error_is_not_obeyed_by_a_terminal(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", *words]) == 2
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(capsys.readouterr().err)


def test_colours_of_our_own_stay() -> None:
    style = Style(True)
    painted = style.bad("no")
    assert style.safe(painted + HOSTILE) == painted + "]0;owned[2J31mevil"
    assert Style(False).safe(painted) == "no"


def test_json_has_no_half_characters_and_no_numbers_without_end() -> None:
    assert json_text("a\ud800\x9b") == '"a\\ufffd\\u009b"'
    with pytest.raises(ValueError, match="Out of range"):
        json_text(float("nan"))


@pytest.mark.parametrize("words", [("explain", "-"), ("explain", "-", "--format", "json")])
def test_half_a_character_in_an_answer_is_a_problem_that_can_be_printed(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words, stdin='{"phase": "inference", "model": "\\ud800"}')
    assert done.returncode == 2
    assert "invalid Unicode character" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_only_check_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--set", "phase=nonsense"]) == 2
    assert main(["estimate", "no-such.yaml"]) == 2
    nothing = ("phase=inference", "model=llama-3.1-70b", "budget_per_hour=0.001")
    assert main(["explain", *(word for setting in nothing for word in ("--set", setting))]) == 3
    with pytest.raises(SystemExit) as caught:
        main(["estimate", "--no-such-option"])
    assert caught.value.code == 2


def test_an_interrupt_has_the_status_of_shells() -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert guarded(interrupted) == 130
