"""What the user answered: from YAML, JSON, Python or ``--set``, checked against the vocabulary."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, assert_never

from whygpu.consult.names import ALONE
from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.intake.owned import counted
from whygpu.intake.typed import size_of
from whygpu.knowledge.catalogue import PRICE_KINDS, PROVIDER_CLASSES, fold
from whygpu.quantity import parse_number, parse_pixels, show
from whygpu.yamldoc.document import Document, Mapping, Node, Scalar, Sequence, parse, plain_data, plain_value
from whygpu.yamldoc.fields import kind_of, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Mapping as ReadOnly

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Catalogue
    from whygpu.language.names import NameSpec
    from whygpu.measured.measurement import Measurement

MAX_ITEMS = 500
_MOST_OWNED = 100_000
_PAIR = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
"""A character beyond U+FFFF as JSON may write it, and YAML does not read it."""
MEASURED = "measured"
"""The answer that holds measurements."""
_OWN_FIGURES = (
    "give its figures instead: model: {parameters: 8B}; docs/how-to/use-your-own-model.md says how, also of models "
    "that speak"
)
_EXAMPLES = {
    "pixels": "1920x1080",
    **dict.fromkeys(
        ("ms", "s", "minutes", "h", "hours", "days"), "400 ms, 90 s, 12 min, 3 h (12 h for a night), 20 days or 3 weeks"
    ),
    "USD": "3500, $3,500 or 12k",
    "USD/hour": "2.50 or $4",
    "USD/month": "800 or $1,200",
    "requests/s": "5 or 0.5",
    "frames/s": "30",
    "tokens": "4096, 32k, 5M or 100 billion; a file of 20 MB of text holds about 5M, some four bytes each",
    "samples": "5000, 1.2M or 2 billion",
    "W": "350 or 1.5k",
}
"""Of a number as people write it, by its unit."""
_COMMA = re.compile(r"[0-9],[0-9]")
"""A comma within a number that is none: it does not set off thousands."""
_EITHER = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{2}0")
"""A point that sets off thousands where some people write, and decimals where others do."""
_FEW = 1e6
"""Up to so many nobody writes in billions."""
_MOST_NAMED = 8
"""Models that an error names."""
LISTS = ("regions", "price_kinds", "providers", "provider_classes", "accelerators", "exclude_accelerators")


_AT_MOST = (
    ("count", "max_count", ""),
    ("output_tokens", "context_tokens", ", which counts the prompt too"),
    ("output_tokens", "average_context_tokens", ", which counts the answer too: both are of an average request"),
    ("average_context_tokens", "context_tokens", ", the most that one may have"),
)
"""Answers of which the first may not exceed the second, and why."""
_LAYOUT = ("tensor_parallel", "pipeline_parallel", "replicas")
"""Answers whose product divides the accelerators."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Checked answers. ``values``: typed values by answer key; ``None`` lists mean no restriction."""

    values: ReadOnly[str, float | bool | str]
    locations: ReadOnly[str, Location]
    model: str | ReadOnly[str, Any] | None = None
    accelerators: tuple[str, ...] | None = None
    exclude_accelerators: tuple[str, ...] = ()
    providers: tuple[str, ...] | None = None
    provider_classes: tuple[str, ...] | None = None
    regions: tuple[str, ...] | None = None
    price_kinds: tuple[str, ...] = ("on-demand",)
    life: str = ALONE
    """Which phase of a lifecycle this is about (train, serve); "alone" where it is about one phase."""
    owned: tuple[tuple[str, int], ...] = ()
    """Ids of accelerators that are there already, each once, and how many."""
    given: ReadOnly[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The answers as they were given, for the record."""
    measured: tuple[Measurement, ...] = ()
    """What was measured, which corrects the estimates of the same model, card and runtime."""

    @property
    def allows_own(self) -> bool:
        """Whether what is owned may be used: no list of provider classes leaves it out."""
        return self.provider_classes is None or "own" in self.provider_classes


def allowed_words(key: str, catalogue: Catalogue) -> frozenset[str] | None:
    """What a list among the answers may hold; None for accelerators, which go by many names."""
    known: ReadOnly[str, Iterable[str]] = {
        "price_kinds": PRICE_KINDS,
        "provider_classes": PROVIDER_CLASSES,
        "providers": catalogue.providers,
        "regions": catalogue.region_names,
    }
    return frozenset(known[key]) if key in known else None


def node_of(value: object, name: str = "answers") -> Node:
    """Plain Python data (dicts with text keys, lists, values) as a node; raises AnswerError on anything else."""
    document = Document(name, "")
    try:
        return _node(value, document, 0, "")
    except _UnfitError as error:
        raise AnswerError([Problem("wrong-type", str(error), Location(name))]) from error


def as_node(answers: ReadOnly[str, object] | Node) -> Node:
    """Answers as a node, whichever way they came; raises AnswerError on what answers do not hold."""
    return answers if isinstance(answers, Scalar | Sequence | Mapping) else node_of(dict(answers))


def in_order(value: object) -> object:
    """Plain data with its keys in order: in which order questions are answered changes nothing."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


class _UnfitError(Exception):
    pass


def _node(value: object, document: Document, depth: int, path: str) -> Node:
    if depth > 8:
        raise _UnfitError(f"'{path}' is nested too deeply")
    if isinstance(value, dict):
        if len(value) > MAX_ITEMS or not all(isinstance(key, str) and is_text(key) for key in value):
            raise _UnfitError(f"'{path or 'answers'}' must have at most {MAX_ITEMS} keys, all of them texts")
        keys = {key: Scalar(key, key, document, 0, 0) for key in value}
        return Mapping(
            {key: _node(item, document, depth + 1, key) for key, item in value.items()}, keys, document, 0, 0
        )
    if isinstance(value, list | tuple):
        if len(value) > MAX_ITEMS:
            raise _UnfitError(f"'{path}' has more than {MAX_ITEMS} items")
        return Sequence([_node(item, document, depth + 1, path) for item in value], document, 0, 0)
    if isinstance(value, str) and not is_text(value):
        raise _UnfitError(f"'{path or 'answers'}' holds half a character (a lone surrogate), which is no text")
    if value is None or isinstance(value, bool | int | float | str):
        return Scalar(value, "" if value is None else str(value), document, 0, 0)
    raise _UnfitError(f"'{path}' is a {type(value).__name__}; answers hold mappings, lists, texts, numbers and flags")


def is_text(value: str) -> bool:
    """Whether it can be written: JSON may hold halves of characters, which stand for nothing alone."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_text(text: str, name: str) -> Node:
    """Answers as YAML or JSON text; raises AnswerError."""
    problems: list[Problem] = []
    if text.lstrip()[:1] == "{":  # JSON, in which a backslash stands only for an escape
        text = _PAIR.sub(lambda pair: bytes.fromhex(pair[1] + pair[2]).decode("utf-16-be"), text)
    node = parse(text, name, problems)
    if problems or node is None:
        raise AnswerError(problems or [Problem("empty", "there are no answers in it", Location(name))])
    return node


def apply_settings(node: Node | None, settings: Iterable[str], name: str | None = None) -> Node:
    """Lay ``key=value`` settings (dotted keys reach inside) over answers; raises AnswerError.

    ``name``: where they stand, if not in ``--set``.
    """
    location = Location(name or "--set")
    document = Document(location.file, "")
    root = node if isinstance(node, Mapping) else Mapping({}, {}, document, 0, 0)
    problems: list[Problem] = []
    done: list[list[str]] = []
    for setting in settings:
        if not is_text(setting):
            problems.append(Problem("bad-setting", "a setting is not UTF-8 text", location))
            continue
        key, equals, text = setting.partition("=")
        path = key.strip().split(".")
        clash = next((other for other in done if _overlap(other, path)), None)
        if clash is None and len(path) > 1 and isinstance(inner := root.items.get(path[0]), Scalar) and inner.value:
            clash = path[:1]
        if clash is not None:
            message = f"'{key.strip()}' and '{'.'.join(clash)}' are both answered, and only one of them can count"
            problems.append(Problem("contradiction", message, location, "leave one of them out"))
            continue
        if not equals or not all(path):
            problems.append(
                Problem(
                    "bad-setting",
                    f"'{setting[:80]}' is not key=value",
                    location,
                    "for example --set concurrency=8",
                )
            )
            continue
        done.append(path)
        where = f"--set {key.strip()}" if name is None else f"{name}: {key.strip()}"
        value = _setting_value(text.strip(), where, problems)
        if value is not None:
            root = _with(root, path, value)
    if problems:
        raise AnswerError(problems)
    return root if settings or node is None else node


def _overlap(one: list[str], other: list[str]) -> bool:
    """Whether one key holds the other inside it ('model' and 'model.parameters')."""
    shared = min(len(one), len(other))
    return len(one) != len(other) and one[:shared] == other[:shared]


def _setting_value(text: str, name: str, problems: list[Problem]) -> Node | None:
    if text[:1] in "[{":
        return parse(text, name, problems)
    return Scalar(plain_value(text), text, Document(name, text), 0, 0)


def with_answer(node: Node | None, key: str, value: Node) -> Node:
    """One answer merged over others; what is no mapping stays as it is, for the check to refuse."""
    if node is not None and not isinstance(node, Mapping):
        return node
    return _with(node or Mapping({}, {}, value.document, 0, 0), [key], value)


def _with(node: Mapping, path: list[str], value: Node) -> Mapping:
    key, *rest = path
    if rest:
        inner = node.items.get(key)
        base = inner if isinstance(inner, Mapping) else Mapping({}, {}, value.document, 0, 0)
        value = _with(base, rest, value)
    keys = node.keys | {key: Scalar(key, key, value.document, 0, 0)}
    return Mapping({**node.items, key: value}, keys, node.document, node.line, node.column)


def check(node: Node, knowledge: Knowledge, read_measured: Callable[[Node], Measurement] | None = None) -> Answers:
    """Check answers against the knowledge base; raises AnswerError with every problem.

    ``read_measured`` reads a measurement among them, and raises AnswerError; without it, as for the setup that was
    measured, they hold none. ``measured/answers.py`` has the check with it.
    """
    problems: list[Problem] = []
    if not isinstance(node, Mapping):
        raise AnswerError(
            [Problem("wrong-type", f"answers must be a mapping of keys to values, not {kind_of(node)}", node.location)]
        )
    answers = _Reader(node, knowledge, problems, read_measured).read()
    if problems:
        raise AnswerError(problems)
    return answers


def read_number(key: str, node: Scalar, spec: NameSpec, problems: list[Problem]) -> float | None:
    """A number as people write it, within the bounds of its name; None, with a problem, where it is none."""
    value: float | None = None
    if _EITHER.fullmatch(node.text.strip()):
        whole, short = node.text.strip().replace(".", ""), f"{float(node.text):g}"
        problem(problems, node, "ambiguous-number", f"'{key}' may be {whole} or {short}", "write the one that you mean")
        return None
    if isinstance(node.value, bool):
        value = None
    elif spec.unit == "pixels":
        value = parse_pixels(node.text)
    elif isinstance(node.value, int | float):
        value = float(node.value) if abs(node.value) < 1e300 else None
    elif isinstance(node.value, str):
        value = parse_number(node.value, spec.unit)
    if value is None or not math.isfinite(value):
        few = spec.integer and (spec.maximum or math.inf) <= _FEW
        example = _EXAMPLES.get(spec.unit or "", "12 or 1.5k" if few else "8, 70e9, 32k, 8B or 16GiB")
        point = "decimals are set off by a point, " if _COMMA.search(node.text) else ""
        problem(
            problems,
            node,
            "wrong-type",
            f"'{key}' must be a number{f' of {spec.unit}' if spec.unit else ''}, not {kind_of(node)}",
            f"{point}for example {example}",
        )
        return None
    low, high = spec.minimum, spec.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        word = "at least" if high is None else "at most" if low is None else "between"
        bounds = " and ".join(show(end) for end in (low, high) if end is not None)
        problem(problems, node, "out-of-range", f"'{key}' is {value:g}; it must be {word} {bounds}")
        return None
    if spec.integer and value != int(value):
        problem(problems, node, "wrong-type", f"'{key}' must be a whole number, not {value:g}")
        return None
    return value


class _Reader:
    def __init__(
        self,
        node: Mapping,
        knowledge: Knowledge,
        problems: list[Problem],
        read_measured: Callable[[Node], Measurement] | None,
    ) -> None:
        self._node, self._knowledge, self._problems = node, knowledge, problems
        self._read_measured = read_measured

    def read(self) -> Answers:
        specs = self._knowledge.name_by_answer
        values: dict[str, float | bool | str] = {}
        locations: dict[str, Location] = {}
        lists: dict[str, tuple[str, ...]] = {}
        owned: tuple[tuple[str, int], ...] = ()
        measured: tuple[Measurement, ...] = ()
        model: str | dict[str, Any] | None = None
        for key, node in self._node.items.items():
            if (isinstance(node, Scalar) and node.value is None) or (isinstance(node, Sequence) and not node.items):
                continue  # nothing is named: not answered
            locations[key] = node.location
            if key == "model":
                model = self._model(node)
            elif key in LISTS:
                lists[key] = self._list(key, node)
            elif key == "owned":
                owned = self._owned(node)
            elif key == MEASURED and self._read_measured is not None:
                measured = self._measured(node, self._read_measured)
            elif key == MEASURED:
                message = "the setup of a measurement holds no measurements of its own"
                self._add(self._node.keys[key], "unknown-key", message, "leave it out, or give it beside the others")
            elif key in specs:
                value = self._value(key, node, specs[key])
                if value is not None and value == specs[key].unanswered:
                    del locations[key]
                elif value is not None:
                    values[key] = value
            elif key == "phases":
                message = "'phases' describes a lifecycle, training and serving; this is about a single phase"
                self._add(self._node.keys[key], "whole-life", message, "leave it out, and give 'phase' instead")
            else:
                known = [*specs, *LISTS, "model", "owned", MEASURED]
                misnamed = self._knowledge.misnamed.get(key.lower())
                near = did_you_mean(key, known) or "docs/reference/answers.md lists them"
                near = near if misnamed is None else misnamed.help
                self._add(self._node.keys[key], "unknown-key", f"there is no answer '{key}'", near)
        if isinstance(model, str):
            values["model"] = model
        self._check_together(values, lists)
        return Answers(
            values=MappingProxyType(dict(sorted(values.items()))),
            locations=MappingProxyType(dict(sorted(locations.items()))),
            model=model,
            accelerators=lists.get("accelerators"),
            exclude_accelerators=lists.get("exclude_accelerators", ()),
            providers=lists.get("providers"),
            provider_classes=lists.get("provider_classes"),
            regions=lists.get("regions"),
            price_kinds=lists.get("price_kinds", ("on-demand",)),
            owned=owned,
            given=MappingProxyType(self._given()),
            measured=measured,
        )

    def _given(self) -> dict[str, Any]:
        """What was answered, as plain data: null and an empty list are no answers."""
        given = in_order(plain_data(self._node))
        rest = given.items() if isinstance(given, dict) else ()
        return {key: value for key, value in rest if value is not None and value != []}

    def _measured(self, node: Node, read: Callable[[Node], Measurement]) -> tuple[Measurement, ...]:
        """Measurements: mappings as in their files."""
        found: list[Measurement] = []
        for item in node.items if isinstance(node, Sequence) else [node]:
            if isinstance(item, Scalar):
                hint = "name files with --measured, or in a file of answers; here the measurement itself is needed"
                message = f"a measurement must be a mapping of names to values, not {kind_of(item)}"
                self._add(item, "wrong-type", message, hint)
                continue
            try:
                found.append(read(item))
            except AnswerError as error:
                self._problems.extend(error.problems)
        return tuple(found)

    def _check_together(self, values: dict[str, float | bool | str], lists: dict[str, tuple[str, ...]]) -> None:
        """Answers that are fine alone and contradict each other."""
        for less, more, why in _AT_MOST:
            one, other = values.get(less), values.get(more)
            if isinstance(one, float) and isinstance(other, float) and one > other:
                message = f"'{less}' is {one:g}, more than '{more}' ({other:g}){why}"
                self._add(self._node.items[less], "contradiction", message, "change one of them")
        if {"dataset_hours", "dataset_samples"} <= values.keys():
            message = "'dataset_hours' and 'dataset_samples' both say how large the data set is"
            self._add(self._node.items["dataset_hours"], "contradiction", message, "give one of them")
        self._check_layout(values)
        excluded = set(lists.get("exclude_accelerators", ()))
        chosen = self._node.items.get("accelerators") if excluded else None
        for item in [] if chosen is None else self._texts("accelerators", chosen):
            ids = self._knowledge.catalogue.find_accelerators(item.text)
            if ids and excluded.issuperset(ids):
                message = f"'{item.text[:60]}' is both in 'accelerators' and in 'exclude_accelerators'"
                self._add(item, "contradiction", message, "take it out of one of them")

    def _check_layout(self, values: dict[str, float | bool | str]) -> None:
        """A layout takes as many accelerators as its parts multiplied, or a multiple where a part is left open."""
        given = {key: int(value) for key in _LAYOUT if isinstance(value := values.get(key), float)}
        if not given:
            return
        takes, parts = math.prod(given.values()), " x ".join(f"{key} {value}" for key, value in given.items())
        count, most = values.get("count"), values.get("max_count")
        if isinstance(count, float) and (count % takes or (len(given) == len(_LAYOUT) and count != takes)):
            only = "takes" if len(given) == len(_LAYOUT) else "takes a multiple of"
            message = f"{parts} {only} {takes} accelerators, and 'count' is {count:g}"
            self._add(self._node.items["count"], "contradiction", message, "change one of them")
        elif count is None and isinstance(most, float) and takes > most:
            message = f"{parts} takes {takes} accelerators, more than 'max_count' ({most:g})"
            self._add(self._node.items["max_count"], "contradiction", message, "change one of them")

    def _add(self, node: Node, code: str, message: str, help_text: str | None = None) -> None:
        problem(self._problems, node, code, message, help_text)

    def _value(self, key: str, node: Node, spec: NameSpec) -> float | bool | str | None:
        if not isinstance(node, Scalar):
            self._add(node, "wrong-type", f"'{key}' must be one value, not {kind_of(node)}")
            return None
        match spec.kind:
            case "number":
                return read_number(key, node, spec, self._problems)
            case "flag":
                if isinstance(node.value, bool):
                    return node.value
                self._add(node, "wrong-type", f"'{key}' must be true or false, not {kind_of(node)}")
                return None
            case "choice":
                return self._choice(key, node, spec)
            case "text":
                if isinstance(node.value, str) and len(node.value) <= 200:
                    return node.value
                self._add(node, "wrong-type", f"'{key}' must be a text, not {kind_of(node)}")
                return None
            case _:
                assert_never(spec.kind)

    def _choice(self, key: str, node: Scalar, spec: NameSpec) -> str | None:
        text = spec.also.get(node.text.lower(), node.text)
        if text in spec.values:
            return text
        folded = {fold(word): word for word in spec.values}
        if fold(text) in folded and not isinstance(node.value, bool):
            return folded[fold(text)]
        near = did_you_mean(text, spec.values) or f"one of {', '.join(list(spec.values)[:24])}"
        names = self._knowledge.name_by_answer.items()
        other = next((name for name, item in names if text in item.values or text in item.also), None)
        near = near if other is None else f"it is a choice of '{other}'; of '{key}' {near}"
        self._add(node, "bad-choice", f"'{key}' cannot be {kind_of(node)}", near)
        return None

    def _texts(self, key: str, node: Node) -> list[Scalar]:
        items = node.items if isinstance(node, Sequence) else [node]
        found: list[Scalar] = []
        for item in items:
            if isinstance(item, Scalar) and item.value is not None and not isinstance(item.value, bool):
                found.append(item)
            else:
                self._add(item, "wrong-type", f"'{key}' must be a list of texts, not {kind_of(item)}")
        return found

    def _list(self, key: str, node: Node) -> tuple[str, ...]:
        catalogue = self._knowledge.catalogue
        found: list[str] = []
        for item in self._texts(key, node):
            if key in ("accelerators", "exclude_accelerators"):
                found.extend(self._knowledge.catalogue.accelerators_of_kind(item.text) or self._accelerators(item))
                continue
            allowed = allowed_words(key, catalogue) or frozenset()
            named = {"regions": catalogue.region, "providers": catalogue.provider}.get(key)
            word = item.text if named is None else named(item.text)
            if word in allowed:
                found.append(word)
            else:
                self._add(
                    item,
                    "bad-choice",
                    f"'{key}' has no '{item.text[:60]}'",
                    did_you_mean(item.text, allowed) or f"known: {', '.join(sorted(allowed)[:24])}",
                )
        return tuple(dict.fromkeys(found))

    def _accelerators(self, item: Scalar) -> tuple[str, ...]:
        """The accelerators that a text names, or all of a vendor; none, with a problem, where nothing is called so."""
        catalogue = self._knowledge.catalogue
        cards = catalogue.accelerators.values()
        ids = catalogue.find_accelerators(item.text)
        if not ids:
            ids = tuple(card.id for card in cards if fold(card.vendor) == fold(item.text))
        if not ids:
            known = [name for card in cards for name in (card.id, card.name)]
            newest = sorted(cards, key=lambda card: -(card.number("released") or 0))
            named = ((name for name in card.aliases if fold(item.text) in fold(name)) for card in newest)
            longer = [name for names in named if (name := next(names, None)) is not None]
            several = f"one of: {', '.join(longer[:_MOST_NAMED])}" if longer and len(item.text) > 2 else None
            one = counted(item.text, catalogue)
            if several is None and len(one) == 1 and one[0][1] > 1:
                several = f"name the card alone, and how many of it by 'count: {one[0][1]}'"
            self._add(
                item,
                "unknown-accelerator",
                f"there is no accelerator '{item.text[:60]}'",
                several or did_you_mean(item.text, known) or "kb/facts/accelerators lists them",
            )
        return ids

    def _owned(self, node: Node) -> tuple[tuple[str, int], ...]:
        """What is owned: cards named twice are added up."""
        items = node.items if isinstance(node, Sequence) else [node]
        found: dict[str, int] = {}
        for item in items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                for name, number in self._owned_text(item):
                    found[name] = found.get(name, 0) + number
                continue
            if not isinstance(item, Mapping):
                example = "for example owned: 4x RTX 3090"
                self._add(item, "wrong-type", f"'owned' lists accelerators and counts, not {kind_of(item)}", example)
                continue
            for key in item.items.keys() - {"accelerator", "count"}:
                hint = did_you_mean(key, ("accelerator", "count")) or "each has an 'accelerator' and a 'count'"
                self._add(item.keys[key], "unknown-key", f"'owned' has no '{key}'", hint)
            card, count = self._owned_card(item), self._owned_count(item)
            if card is not None and count is not None:
                found[card] = found.get(card, 0) + count
        return tuple(found.items())

    def _owned_text(self, item: Scalar) -> Iterable[tuple[str, int]]:
        cards = counted(item.text, self._knowledge.catalogue)
        if not cards:
            self._add(item, "wrong-type", "'owned' names no accelerator", "for example owned: 4x RTX 3090")
        for name, count in cards:
            card = self._one_accelerator(replace(item, value=name, text=name))
            if not 1 <= count <= _MOST_OWNED:
                self._add(item, "out-of-range", f"'owned' is {count}x {name}; it must be from 1 to {_MOST_OWNED:,}")
            elif card is not None:
                yield card, count

    def _owned_card(self, item: Mapping) -> str | None:
        node = item.items.get("accelerator")
        if not isinstance(node, Scalar) or node.value is None or isinstance(node.value, bool):
            self._add(node or item, "wrong-type", "each of 'owned' names its 'accelerator'", "add 'accelerator: ...'")
            return None
        return self._one_accelerator(node)

    def _one_accelerator(self, node: Scalar) -> str | None:
        ids = self._accelerators(node)
        if len(ids) > 1:
            self._add(
                node,
                "several-accelerators",
                f"'{node.text[:60]}' is more than one accelerator; say which is owned",
                f"one of: {', '.join(ids)}",
            )
        return ids[0] if len(ids) == 1 else None

    def _owned_count(self, item: Mapping) -> int | None:
        node = item.items.get("count")
        if node is None or (isinstance(node, Scalar) and node.value is None):
            self._add(node or item, "missing-key", "each of 'owned' says its 'count'", "add 'count: ...', 1 for one")
            return None
        value = node.value if isinstance(node, Scalar) else None
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
        if number == number // 1 and 1 <= number <= _MOST_OWNED:
            return int(number)
        message = f"'count' of 'owned' must be a whole number from 1 to {_MOST_OWNED:,}, not {kind_of(node)}"
        self._add(node, "wrong-type", message)
        return None

    def _model(self, node: Node) -> str | dict[str, Any] | None:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            ids = self._knowledge.catalogue.find_models(node.value)
            if len(ids) == 1:
                return ids[0]
            if ids:
                shown = ", ".join(ids[:_MOST_NAMED]) + (" ..." if len(ids) > _MOST_NAMED else "")
                self._add(node, "ambiguous-model", f"'{node.value[:80]}' names several models", f"one of {shown}")
                return None
            size = size_of(node.value)
            if size is not None:
                return {"parameters": size}
            models = self._knowledge.catalogue.models.values()
            known = [name for model in models for name in (model.id, *model.aliases) if "/" not in name]
            self._add(
                node,
                "unknown-model",
                f"there is no preset model '{node.value[:80]}'",
                self._knowledge.catalogue.instead_of(node.value) or did_you_mean(node.value, known) or _OWN_FIGURES,
            )
            return None
        if isinstance(node, Mapping):
            task, spec = node.items.get("task"), self._knowledge.name_by_answer.get("task")
            if isinstance(task, Scalar) and spec is not None and task.text not in spec.values:
                near = did_you_mean(task.text, spec.values) or f"known: {', '.join(spec.values)}"
                self._add(task, "bad-choice", f"'model.task' cannot be {kind_of(task)}", near)
            data = plain_data(node)
            return data if isinstance(data, dict) else None
        self._add(
            node,
            "wrong-type",
            f"'model' must be a preset's name or a mapping of its figures, not {kind_of(node)}",
            "for example model: llama-3.1-8b, or model: {parameters: 8B}",
        )
        return None
