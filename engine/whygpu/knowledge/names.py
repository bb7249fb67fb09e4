"""Names as people shorten them: without the maker, and without what tells only how the model was tuned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whygpu.kept import kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_WORD = re.compile(r"\d+(?:\.\d+)*[a-z]*|[a-z]+")
_TUNED = frozenset({"instruct", "chat", "it", "thinking", "hf", "v", "gguf", "mlx", "qat", "latest"})
"""Words that change no size."""
_PACKED = frozenset({"dynamic", "block"})
"""Words that say more of a number format."""
_SIZED = re.compile(r"[a-z](\d+)[nsmlx]\b")
"""A version with a size, in one word: nano, small, medium, large or extra large."""
_MOST_WORDS = 4
"""Words of packaging that a name ends with at most."""


def without_maker(names: Iterable[str]) -> tuple[str, ...]:
    """The names as given, and those of the Hub (``ORG/NAME``) without their ORG too."""
    given = tuple(names)
    return (*given, *(name.rpartition("/")[2] for name in given if "/" in name))


def untuned(text: str) -> str:
    """The words that may tell sizes: 'Qwen3 8B Thinking' is Qwen3 8B."""
    return " ".join(word for word in _words(text) if word not in _TUNED)


def packings(text: str) -> Iterator[tuple[str, str]]:
    """What a name of packed weights may be of, and what would tell the packing: 'ORG/Qwen3-8B-AWQ' is Qwen3-8B in AWQ,
    or a model called Qwen3-8B-AWQ.
    """
    words = re.split(r"[-: ]", text.rpartition("/")[2][:200])
    for number in range(min(len(words) - 1, _MOST_WORDS) + 1):
        cut = len(words) - number
        told = (word for word in words[cut:] if word.lower() not in _TUNED | _PACKED)
        yield "-".join(words[:cut]), "-".join(told)


def shortened(text: str, names: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """The ids, by their ``names``, that the text may be short for: the same first word, and all of its words.

    'mistral small 3.2' is short for 'Mistral Small 3.2 24B', 'mixtral' for two models, and 'YOLOv8' for all its sizes.
    """
    words = _words(text)
    if not words:
        return ()
    return tuple(
        identifier
        for identifier, known in names.items()
        if any((own := _words(name)) and own[0] == words[0] and set(words) - _TUNED <= _said(name) for name in known)
    )


@kept(4096)
def _said(name: str) -> frozenset[str]:
    """The words of a name, and its version without its size."""
    return frozenset((*_words(name), *_SIZED.findall(name.lower())))


@kept(4096)  # names, each of which is compared with whatever is typed
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()[:200]))
