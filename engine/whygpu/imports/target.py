"""Puts entries into a file of a knowledge base: it is written whole and the knowledge base loads, or nothing is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.api import REGISTRY
from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.files import check_target, write_whole
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import SUFFIXES, default_root, read_text, read_texts
from whygpu.yamldoc.document import Mapping, Node, Sequence, parse
from whygpu.yamldoc.forms import ID

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as ReadOnly

    from whygpu.imports.entries import Entries
    from whygpu.knowledge.base import Knowledge


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A knowledge base and the file that entries go to; ``out`` None: they are only printed."""

    root: Path
    out: Path | None
    texts: ReadOnly[str, str]
    """The files of the knowledge base, with that of ``out`` among them."""
    name: str
    """What the file is called among them."""
    knowledge: Knowledge

    @classmethod
    def of(cls, root: str | None, out: str | None, printed_as: str) -> Target:
        """Load the knowledge base together with the file; raises InputError."""
        folder = default_root() if root is None else Path(root)
        texts = read_texts(folder)
        if out is None:
            return cls(folder, None, texts, printed_as, load_texts(texts, str(folder), REGISTRY, cases=False))
        path = Path(out)
        if path.suffix not in SUFFIXES:
            raise _refused(path, "is not a YAML file", "name it with .yaml at the end")
        check_target(path)
        inside = path.resolve().is_relative_to(folder.resolve())
        name = path.resolve().relative_to(folder.resolve()).as_posix() if inside else str(path)
        if path.exists():
            text = read_text(path, name)
            if isinstance(text, Problem):
                raise AnswerError([text])
            texts = {**texts, name: text}
        return cls(folder, path, texts, name, load_texts(texts, str(folder), REGISTRY, cases=False))

    def refuse_unknown(
        self,
        *,
        sources: Iterable[str],
        provider: str | None = None,
        new_model: str | None = None,
        wrong: ReadOnly[str, str] | None = None,
    ) -> None:
        """Raise AnswerError where a source or the provider does not exist, or the model's id cannot be taken.

        ``wrong``: further options that cannot be used, and how to fix them.
        """
        knowledge = self.knowledge
        references = knowledge.catalogue.references
        problems = [
            Problem("bad-option", "cannot be used", Location(name), hint) for name, hint in (wrong or {}).items()
        ]
        for source in sources:
            if not (source in references or source in knowledge.claims or source in knowledge.documents):
                hint = did_you_mean(source, references) or "add it to a 'references:' section first, with its date"
                problems.append(
                    Problem("unknown-source", f"there is no reference '{source[:80]}'", Location("--source"), hint)
                )
        providers = knowledge.catalogue.providers
        if provider is not None and provider not in providers:
            hint = did_you_mean(provider, providers) or "add it to a 'providers:' section first"
            message = f"there is no provider '{provider[:80]}'"
            problems.append(Problem("unknown-provider", message, Location("--provider"), hint))
        if new_model is not None and not ID.match(new_model):
            hint = "use lower-case letters, digits, '.', '_' and '-'"
            problems.append(Problem("bad-id", f"'{new_model[:80]}' is not an id", Location("--id"), hint))
        if new_model is not None and new_model in knowledge.catalogue.models:
            hint = f"it is at {knowledge.catalogue.models[new_model].location}: choose another"
            problems.append(Problem("duplicate-id", f"there is a model '{new_model}' already", Location("--id"), hint))
        if problems:
            raise AnswerError(problems)

    def location(self, entries: Entries) -> str:
        """The text of the file once it holds the entries; raises InputError where that would not load."""
        held = self.texts.get(self.name)
        text = entries.text() if held is None else added(held, self.name, entries)
        load_texts({**self.texts, self.name: text}, str(self.root), REGISTRY, cases=False)
        return text

    def write(self, text: str) -> None:
        """Put the text into the file; raises AnswerError, also where somebody changed it since it was read."""
        if self.out is None:
            return
        now = read_text(self.out, self.name) if self.out.exists() else None
        if now != self.texts.get(self.name):
            raise _refused(self.out, "was changed meanwhile, and is left as it is", "run the command again")
        write_whole(self.out, text)


def added(text: str, name: str, entries: Entries) -> str:
    """A file's text with the entries at the end of their section; raises AnswerError where they cannot go there."""
    problems: list[Problem] = []
    node = parse(text, name, problems)
    if problems:
        raise AnswerError(problems)
    if node is None:
        return _ended(text) + entries.text()
    path = Path(name)
    if not isinstance(node, Mapping):
        raise _refused(path, "does not begin with a section", f"begin it with '{entries.section}:'")
    section = node.items.get(entries.section)
    if section is None:
        return _ended(text) + entries.text()
    indent = _indent(section, text)
    if indent is None:
        message = f"has '{entries.section}:' without items that begin with '- '"
        raise _refused(path, message, "write the first entry by hand, or name another file")
    start = node.keys[entries.section].line
    later = [key.line for key in node.keys.values() if key.line > start]
    lines = text.splitlines(keepends=True)
    end = min(later) - 1 if later else len(lines)
    while end > start and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1  # what stands above the next section belongs to it
    new = "".join(" " * indent + line for item in entries.items for line in item.splitlines(keepends=True))
    return _ended("".join(lines[:end])) + new + "".join(lines[end:])


def _indent(section: Node, text: str) -> int | None:
    """How far the section's items are indented; None where they are not written with '- '."""
    if not isinstance(section, Sequence) or not section.items:
        return None
    first = section.items[0]
    line = text.splitlines()[first.line - 1]
    before = line[: first.column - 1]
    return len(before) - len(before.lstrip(" ")) if before.strip() == "-" else None


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _refused(path: Path, message: str, hint: str) -> AnswerError:
    return AnswerError([Problem("bad-target", message, Location(str(path)), hint)])
