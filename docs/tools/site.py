"""The hook of mkdocs: pages that list what the code and the knowledge base hold are completed when the site is built.

A page says ``<!-- generated: rules -->`` where a list belongs; ``python -m docs.tools.site rules`` prints it. So no
list is committed, and none can be out of date.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # mkdocs loads this file by its path

from docs.tools.command import run
from whygpu.lint.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
_MARK = re.compile(r"<!-- generated: ([a-z-]+) -->")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"[a-z]+(?:-[a-z0-9]+)+|unreadable|crashed")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Complete a page, and turn its links to files that are no pages into names of files."""
    folder = Path(page.file.src_path).parent
    return _MARK.sub(lambda mark: LISTS[mark[1]](), _LINK.sub(lambda link: _inside(link, folder), markdown))


def _inside(link: re.Match[str], folder: Path) -> str:
    """A link as it is where it stays among the pages; else its text."""
    target = Path(os.path.normpath(Path("docs") / folder / link[3]))
    return link[2] if ":" not in link[3] and target.parts[0] != "docs" else link[0]


def options() -> str:
    """The help of every command."""
    _, overview = run(["whygpu", "--help"])
    commands = re.findall(r"^    ([a-z][a-z-]*)(?:  |$)", overview, re.MULTILINE)
    found = [("kb-explain", run(["kb-explain", "--help"])[1])]
    found += [(f"whygpu {name}", run(["whygpu", name, "--help"])[1]) for name in commands if name != "explain"]
    return "\n".join(f"### {name}\n\n```text\n{text.rstrip()}\n```\n" for name, text in found)


def rules() -> str:
    """Every rule and every row of a table, by topic: what fires it, what follows, why, and who says so."""
    lines = []
    for path in sorted((ROOT / "kb").glob("rules/*.yaml")) + sorted((ROOT / "kb").glob("tables/*.yaml")):
        held = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        entries = [*map(_rule, held.get("rules", ())), *map(_table, held.get("tables", ()))]
        lines += [f"## {path.stem.replace('-', ' ').capitalize()}", f"`{path.relative_to(ROOT)}`", *entries]
    return "\n\n".join(lines)


def _rule(rule: dict[str, Any]) -> str:
    shown: dict[str, Any] = {key: rule[key] for key in ("when", "unless", "then", "overrides") if key in rule}
    return _entry(rule, shown, [str(rule["because"])])


def _table(table: dict[str, Any]) -> str:
    shown: dict[str, Any] = {key: table[key] for key in ("hit", "when", "columns", "then", "rows") if key in table}
    return _entry(table, shown, [str(table[key]) for key in ("because",) if key in table])


def _entry(entry: dict[str, Any], shown: dict[str, Any], texts: list[str]) -> str:
    """A heading whose anchor is the id, the entry as its author writes it, its text and its sources."""
    given = entry.get("source", ())
    sources = [given] if isinstance(given, str) else given
    texts += [f"Sources: {', '.join(f'`{source}`' for source in sources)}"] if sources else []
    written = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=110).rstrip()
    said = "\n\n".join(text.replace("<", "&lt;") for text in texts)
    return f"### {entry['title']} {{ #{entry['id']} }}\n\n`{entry['id']}`\n\n```yaml\n{written}\n```\n\n{said}"


def lints() -> str:
    """What ``whygpu check`` looks for in a knowledge base that loads."""
    rows = [f"| `{check.code}` | {check.severity} | {check.meaning} |" for check in CHECKS]
    return "\n".join(["| code | severity | what it found |", "|---|---|---|", *rows])


def problems() -> str:
    """Every other code of a problem, with the messages that the source gives it."""
    known = {check.code for check in CHECKS}
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)  # texts in the order of the source, each once
    for path in sorted((ROOT / "engine").rglob("*.py")):
        for code, message in _raised(ast.parse(path.read_text(encoding="utf-8"))):
            if code not in known:
                found[code].setdefault(message)
    rows = [f"| `{code}` | {'<br>'.join(filter(None, texts))} |" for code, texts in sorted(found.items())]
    return "\n".join(["| code | messages |", "|---|---|", *rows])


def _raised(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Code and message of each call that takes both, one after the other."""
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef):
            texts = [node for node in ast.walk(scope) if isinstance(node, ast.Assign)]
            for node in ast.walk(scope):
                if isinstance(node, ast.Call):
                    yield from _pairs(node, texts)


def _pairs(call: ast.Call, texts: list[ast.Assign]) -> Iterator[tuple[str, str]]:
    for code, message in pairwise(call.args):
        if isinstance(code, ast.Constant) and isinstance(code.value, str) and _CODE.fullmatch(code.value):
            text = _text(_last(message, texts))
            if text or getattr(call.func, "id", "") == "Problem":
                yield code.value, text


def _last(message: ast.expr, texts: list[ast.Assign]) -> ast.expr:
    """What a message that is a variable was last set to, in the order of the lines."""
    if not isinstance(message, ast.Name):
        return message
    before = [node for node in texts if node.lineno < message.lineno and _sets(node, message.id)]
    return max(before, key=lambda node: node.lineno).value if before else message


def _sets(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _text(node: ast.expr) -> str:
    """A message with an ellipsis for each value put in; "" where it is none, or is made elsewhere."""
    if isinstance(node, ast.Constant):
        return _cell(node.value) if isinstance(node.value, str) and " " in node.value else ""
    if isinstance(node, ast.JoinedStr):
        return _cell("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values))
    return ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("{", "&#123;")


LISTS = {"options": options, "rules": rules, "lints": lints, "problems": problems}
"""What may stand in a mark, and what writes it."""


if __name__ == "__main__":
    print(LISTS[sys.argv[1]]())
