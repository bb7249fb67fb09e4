"""Damages a YAML text the way people and editors do, and worse: one random change, the same for the same seed."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(r"[A-Za-z0-9_.'\"-]+")
_ODD = (
    "\t",
    "\x00",
    "\x1b[31m",
    " ",
    "\x85",
    "\ufeff",
    "é",
    "漢字",
    "\U0001f600",
    "\r",
    "\xa0",
    "&a ",
    "*a ",
    "!!python/object/apply:os.system ",
    "!x ",
    "%",
    "@",
    "`",
    "---\n",
    "...\n",
    "? ",
    "<<: ",
    "#",
)
_VALUES = (
    "null",
    "true",
    "-1",
    "0",
    "1e308",
    "-1e400",
    "9" * 60,
    ".5",
    "0x1F",
    "NaN",
    ".inf",
    "''",
    "[]",
    "{}",
    "[1, [2]]",
    "{a: {b: c}}",
    "{is: 5}",
    "{is: [1], source: x, others: 3}",
    "{absent: true}",
    "not a known word",
    "2026-13-45",
    "'{model.name} {'",
    "gpu.x and (",
    "known(gpu.id) or not known(plan.count)",
    "'" + "x" * 3000 + "'",
    "a" * 25_000,
    "(" * 300 + "1" + ")" * 300,
    "'1 + " + "1 + " * 200 + "1 > 0'",
    "'plan.count > 1e999'",
    "'plan.count in []'",
    "'not not not gpu.ecc'",
    "'\\d'",
    "'1if 2else 3'",
)


def mutate(text: str, generator: random.Random) -> str:
    """The text with one change."""
    lines = text.split("\n")
    location = generator.randrange(len(lines))
    match generator.randrange(16):
        case 0:
            del lines[location]
        case 1:
            lines.insert(location, lines[location])
        case 2:
            other = generator.randrange(len(lines))
            lines[location], lines[other] = lines[other], lines[location]
        case 3 | 4:
            lines[location] = _change_token(lines[location], generator)
        case 5:
            lines[location] = _drop(lines[location], "\"'{}[]:,-", generator)
        case 6:
            spot = generator.randrange(len(lines[location]) + 1)
            lines[location] = lines[location][:spot] + generator.choice(_ODD) + lines[location][spot:]
        case 7:
            lines[location] = " " * generator.randrange(1, 7) + lines[location]
        case 8:
            lines[location] = lines[location].lstrip()
        case 9 | 10 | 11:
            key, colon, _ = lines[location].partition(": ")
            lines[location] = f"{key}{colon}{generator.choice(_VALUES)}"
        case 12:
            return text[: generator.randrange(len(text) + 1)]
        case 13:
            depth = generator.choice((5, 30, 3000))
            lines[location] += "\n" + generator.choice(("- " * depth, "[" * depth, "{a: " * depth))
        case 14:
            del lines[location : location + generator.randrange(1, 30)]
        case _:
            spot = generator.randrange(len(lines[location]) + 1)
            lines[location] = (
                lines[location][:spot] + generator.choice("\"'{}[]:,-#&*!|>%@\\ ") + lines[location][spot:]
            )
    return "\n".join(lines)


def _change_token(line: str, generator: random.Random) -> str:
    found = list(_TOKEN.finditer(line))
    if not found:
        return line
    match = generator.choice(found)
    word = match.group()
    new = generator.choice(
        (word[:-1], word + "x", word[::-1], word.upper(), "", "7", "-", generator.choice(_VALUES), f"{word} {word}")
    )
    return line[: match.start()] + new + line[match.end() :]


def _drop(line: str, characters: str, generator: random.Random) -> str:
    spots = [index for index, character in enumerate(line) if character in characters]
    if not spots:
        return line
    spot = generator.choice(spots)
    return line[:spot] + line[spot + 1 :]
