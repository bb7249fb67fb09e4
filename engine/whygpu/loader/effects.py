"""Reads effects: what a rule, or an output cell of a table, does when it fires."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.rules import (
    CONSIDERABLE,
    CRITERIA,
    STRENGTHS,
    Advise,
    Conclude,
    Consider,
    Effect,
    Exclude,
    Grade,
    Require,
    Sign,
    Verdict,
    Warn,
    in_words,
)
from whygpu.yamldoc.document import Mapping, Node, Scalar
from whygpu.yamldoc.fields import Fields, kind_of, problem
from whygpu.yamldoc.forms import (
    EXPRESSION,
    ID,
    IDENTIFIER,
    NUMBER,
    TEMPLATE,
    TEXTS,
    Kind,
    Schema,
    among,
    names_to,
    needed,
    object_schema,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as ReadOnly

    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.forms import Form

CONSIDER: Form = MappingProxyType(dict.fromkeys(CONSIDERABLE, TEXTS))
VERDICT: Form = MappingProxyType(
    {
        "criterion": needed(among(CRITERIA)),
        "strength": among(STRENGTHS),
        "over": EXPRESSION,
        "from": NUMBER,
        "to": NUMBER,
    }
)
MESSAGE: Form = MappingProxyType({"id": needed(IDENTIFIER), "text": needed(TEMPLATE)})
_VERDICT: Schema = {
    "anyOf": [
        {"type": "string", "pattern": rf"^\s*({'|'.join(CRITERIA)})(\s+({'|'.join(STRENGTHS)}))?\s*$"},
        object_schema(VERDICT),
    ]
}
_SIGN: Schema = {"type": "string", "pattern": rf"^\s*[a-z0-9._-]+\s+({'|'.join(STRENGTHS)})\s*$"}
_MESSAGE: Schema = {"anyOf": [IDENTIFIER.value, object_schema(MESSAGE)]}
EFFECTS: ReadOnly[str, Schema] = MappingProxyType(
    {
        "conclude": names_to(EXPRESSION.value).value,
        "consider": object_schema(CONSIDER),
        "require": EXPRESSION.value,
        "exclude": {"enum": ["plan", True, "true"]},
        "prefer": _VERDICT,
        "avoid": _VERDICT,
        "advise": _MESSAGE,
        "warn": _MESSAGE,
        "diagnose": _SIGN,
        "doubt": _SIGN,
    }
)
"""The words that effects begin with, and what stands behind each."""
_ONE: Schema = {
    "type": "object",
    "properties": dict(EFFECTS),
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
EFFECTS_OF_RULE = Kind(
    "a list of effects", schema={"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "exclude"}, _ONE]}}
)


@dataclass(frozen=True, slots=True)
class Placed:
    """An effect and where it is written."""

    effect: Effect
    node: Node


class EffectReader:
    """Reads the effects of one thing; ``what`` names it in messages: "rule 'quantize'"."""

    def __init__(self, what: str, options: ReadOnly[str, frozenset[str]], reading: Reading) -> None:
        """``options``: what may be considered (formats of weights and caches, methods, shardings)."""
        self._what, self._options, self._reading = what, options, reading
        self._problems = reading.problems

    def listed(self, fields: Fields) -> Iterator[Placed]:
        """The effects listed under ``then``."""
        items = fields.items("then")
        for node in items:
            if isinstance(node, Scalar) and node.text == "exclude":
                yield Placed(Exclude(), node)
            elif isinstance(node, Mapping) and len(node.items) == 1:
                word, inner = next(iter(node.items.items()))
                yield from self.effect(word, inner, node.keys[word])
            else:
                self._add(
                    node,
                    "bad-effect",
                    f"an effect of {self._what} is one of {', '.join(EFFECTS)}, each with its object",
                    "for example '- advise: quantize'",
                )
        if not items and "then" in fields:
            self._add(fields.node.keys["then"], "bad-effect", f"{self._what} has no effect", "add one under 'then'")

    def effect(self, word: str, node: Node, key: Node) -> Iterator[Placed]:
        """The effects that ``word: node`` stands for; ``key`` is where the word is."""
        match word:
            case "conclude":
                found = self._conclude(node)
            case "consider":
                found = self._consider(node)
            case "exclude":
                found = self._exclude(node)
            case "require":
                found = self._require(node)
            case "prefer" | "avoid":
                found = self._verdict(word, node)
            case "advise" | "warn":
                found = self._message(word, node)
            case "diagnose" | "doubt":
                found = self._sign(word, node)
            case _:
                near = did_you_mean(word, EFFECTS) or f"one of {', '.join(EFFECTS)}"
                self._add(key, "bad-effect", f"{self._what}: there is no effect '{word}'", near)
                return
        for effect in found:
            yield Placed(effect, key)

    def named(self, node: Node) -> str | None:
        """The effect that a test names, as ``in_words`` has it; None, with a problem added, where it names none."""
        if not isinstance(node, Scalar):
            message = f"{self._what}: an effect is named by a text, not {kind_of(node)}"
            self._add(node, "wrong-type", message, "for example 'prefer cost mild', without a colon")
            return None
        word, _, rest = " ".join(node.text.split()).partition(" ")
        if word not in EFFECTS:
            near = did_you_mean(word, EFFECTS) or f"one of {', '.join(EFFECTS)}, each with its object"
            self._add(node, "bad-effect", f"{self._what}: '{node.text[:60]}' is not an effect", near)
            return None
        if word not in ("prefer", "avoid"):
            return f"{word} {rest}".rstrip()
        verdict, over, grade = rest.partition(" over ")
        found = next(self._verdict(word, replace(node, text=verdict)), None)
        return f"{in_words(found)}{over}{grade}" if found is not None else None

    def _add(self, node: Node, code: str, message: str, help_text: str | None = None) -> None:
        problem(self._problems, node, code, message, help_text)

    def _exclude(self, node: Node) -> Iterator[Effect]:
        if isinstance(node, Scalar) and node.text in ("plan", "true"):
            yield Exclude()
        else:
            self._add(node, "bad-effect", f"{self._what}: write '- exclude' or '- exclude: plan'")

    def _require(self, node: Node) -> Iterator[Effect]:
        if not isinstance(node, Scalar):
            self._add(node, "wrong-type", f"{self._what}: 'require' takes one condition, not {kind_of(node)}")
            return
        condition = self._reading.condition(node)
        if condition is not None:
            yield Require(condition)

    def _conclude(self, node: Node) -> Iterator[Effect]:
        if not isinstance(node, Mapping):
            message = f"'conclude' of {self._what} takes a name and its value, not {kind_of(node)}"
            self._add(node, "wrong-type", message, "for example {workload.size_class: small}")
            return
        fields = Fields(node, f"'conclude' of {self._what}", self._problems)
        for name, key in node.keys.items():
            inner = fields.get(name)
            if inner is None:
                self._add(key, "wrong-type", f"{self._what} concludes '{name}' without a value")
            elif self.concludable(name, key):
                yield from (item.effect for item in self.conclusion(name, inner))

    def conclusion(self, name: str, node: Node) -> Iterator[Placed]:
        """The conclusion that the name, which may be concluded, has the value at ``node``."""
        value = self._reading.value_of(node, self._reading.vocabulary[name], self._what)
        if value is not None:
            yield Placed(Conclude(name, value), node)

    def concludable(self, name: str, key: Node) -> bool:
        """Whether rules may conclude the name; adds a problem where not."""
        spec = self._reading.vocabulary.get(name)
        if spec is None:
            near = did_you_mean(name, self._reading.vocabulary) or "add it to vocabulary.yaml"
            self._add(key, "unknown-name", f"{self._what} concludes '{name}', which is not a name", near)
            return False
        if spec.answer is not None or spec.entity in ("gpu", "field"):
            self._add(
                key,
                "not-concludable",
                f"{self._what} concludes '{name}', which is answered or looked up",
                "give the conclusion a name of its own in vocabulary.yaml",
            )
            return False
        return True

    def _consider(self, node: Node) -> Iterator[Effect]:
        fields = Fields.of(node, f"'consider' of {self._what}", self._problems, CONSIDER)
        if fields is None:
            return
        for what in CONSIDERABLE:
            known = self._options.get(what, frozenset())
            for item in fields.text_nodes(what):
                if item.text in known:
                    yield Consider(what, item.text)
                else:
                    near = did_you_mean(item.text, known) or f"one of {', '.join(sorted(known)[:24])}"
                    self._add(
                        item, "bad-choice", f"{self._what} considers {what} '{item.text}', which does not exist", near
                    )
        fields.done()

    def _verdict(self, word: str, node: Node) -> Iterator[Effect]:
        strength: str = "normal"
        where: Node = node
        grade: Grade | None = None
        if isinstance(node, Scalar):
            words = node.text.split()
            criterion = words[0] if words else ""
            if len(words) > 1:
                strength = " ".join(words[1:])
        else:
            fields = Fields.of(node, f"'{word}' of {self._what}", self._problems, VERDICT)
            if fields is None:
                return
            criterion = fields.text("criterion") or ""
            strength = fields.text("strength") or "normal"
            where = fields.node.items.get("strength", node)
            grade = self._grade(fields)
            fields.done()
        if criterion not in CRITERIA:
            near = did_you_mean(criterion, CRITERIA) or f"one of {', '.join(CRITERIA)}"
            self._add(node, "bad-choice", f"{self._what}: there is no criterion '{criterion}'", near)
        elif strength not in STRENGTHS:
            near = did_you_mean(strength, STRENGTHS) or f"one of {', '.join(STRENGTHS)}"
            self._add(where, "bad-choice", f"{self._what}: there is no strength '{strength}'", near)
        else:
            yield Verdict(word == "prefer", criterion, next(known for known in STRENGTHS if known == strength), grade)

    def _grade(self, fields: Fields) -> Grade | None:
        """``over``, ``from`` and ``to``: the figure that the verdict grows with, and between which values."""
        if not any(key in fields for key in ("over", "from", "to")):
            return None
        node = fields.get("over", required=True)
        start, full = fields.number("from", required=True), fields.number("to", required=True)
        if node is None or start is None or full is None:
            return None
        if not isinstance(node, Scalar):
            self._add(node, "wrong-type", f"'over' of {fields.what} must be a figure, not {kind_of(node)}")
            return None
        expression = self._reading.expression(node, "number")
        if start <= 0 or full <= 0 or start == full:
            message = f"{fields.what} grows from {start:g} to {full:g}; they must be two different numbers above 0"
            self._add(
                fields.node.items["to"], "out-of-range", message, "it counts nothing at 'from', all of it from 'to' on"
            )
            return None
        return None if expression is None else Grade(" ".join(node.text.split()), expression, start, full)

    def _sign(self, word: str, node: Node) -> Iterator[Effect]:
        words = node.text.split() if isinstance(node, Scalar) else []
        known = self._options.get("cause", frozenset())
        cause, strength = (words[0], words[1]) if len(words) == 2 else ("", "")
        if cause in known and strength in STRENGTHS:
            yield Sign(word == "diagnose", cause, next(one for one in STRENGTHS if one == strength))
            return
        if len(words) == 2 and cause not in known:
            near = did_you_mean(cause, known) or "causes are listed in causes.yaml"
            self._add(node, "bad-choice", f"{self._what}: there is no cause '{cause[:60]}'", near)
            return
        near = f"for example '{word}: input-pipeline strong'; strengths: {', '.join(STRENGTHS)}"
        self._add(node, "bad-effect", f"{self._what}: '{word}' takes a cause and a strength, not {kind_of(node)}", near)

    def _message(self, word: str, node: Node) -> Iterator[Effect]:
        kind = Advise if word == "advise" else Warn
        if isinstance(node, Scalar):
            if ID.match(node.text):
                yield kind(node.text, None)
            else:
                self._add(
                    node,
                    "bad-id",
                    f"{self._what}: '{word}' takes an id, not {kind_of(node)}",
                    f"write {{id: some-id, text: ...}}, or '{word}: some-id' to use the rule's because",
                )
            return
        fields = Fields.of(node, f"'{word}' of {self._what}", self._problems, MESSAGE)
        if fields is None:
            return
        identifier = fields.identifier()
        text = self._reading.template(fields.get("text"), f"'text' of {self._what}")
        fields.done()
        if identifier is not None:
            yield kind(identifier, text)
