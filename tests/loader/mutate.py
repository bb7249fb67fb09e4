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
    place = generator.randrange(len(lines))
    match generator.randrange(16):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[place])
        case 2:
            other = generator.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        case 3 | 4:
            lines[place] = _change_token(lines[place], generator)
        case 5:
            lines[place] = _drop(lines[place], "\"'{}[]:,-", generator)
        case 6:
            spot = generator.randrange(len(lines[place]) + 1)
            lines[place] = lines[place][:spot] + generator.choice(_ODD) + lines[place][spot:]
        case 7:
            lines[place] = " " * generator.randrange(1, 7) + lines[place]
        case 8:
            lines[place] = lines[place].lstrip()
        case 9 | 10 | 11:
            key, colon, _ = lines[place].partition(": ")
            lines[place] = f"{key}{colon}{generator.choice(_VALUES)}"
        case 12:
            return text[: generator.randrange(len(text) + 1)]
        case 13:
            depth = generator.choice((5, 30, 3000))
            lines[place] += "\n" + generator.choice(("- " * depth, "[" * depth, "{a: " * depth))
        case 14:
            del lines[place : place + generator.randrange(1, 30)]
        case _:
            spot = generator.randrange(len(lines[place]) + 1)
            lines[place] = lines[place][:spot] + generator.choice("\"'{}[]:,-#&*!|>%@\\ ") + lines[place][spot:]
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
