"""Coverage of the sources as text and as data: each claim with who cites it, what moves plans for it, and its cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygpu.render.problems import problems_data, problems_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.errors import Problem
    from whygpu.knowledge.sources import Citation
    from whygpu.lint.coverage import ClaimCover, Coverage, Mover, TensionCover
    from whygpu.render.style import Style


def coverage_text(coverage: Coverage, problems: Iterable[Problem], style: Style) -> str:
    """Every claim and tension, then what is missing, then the sums."""
    parts = ["\n".join(_claim(item, style)) for item in coverage.claims]
    parts += ["\n".join(_tension(item, style)) for item in coverage.tensions]
    faults = problems_text(problems, style)
    return style.safe("\n".join([*parts, *([faults] if faults else []), _sums(coverage)]) + "\n")


def coverage_data(coverage: Coverage, problems: Iterable[Problem]) -> dict[str, Any]:
    """The same as data; files are named from the knowledge base's folder."""
    uncited = coverage.uncited
    return {
        "claims": len(coverage.claims),
        "cited": len(coverage.claims) - len(uncited),
        "uncited": list(uncited),
        "clean": not coverage.faults(),
        "by_claim": [
            {
                "id": item.claim.id,
                "kind": item.claim.kind,
                "about": list(item.claim.about),
                "cited_by": [
                    {"kind": cite.kind, "id": cite.by, "file": cite.location.file, "line": cite.location.line}
                    for cite in item.cited_by
                ],
                "moved_by": [{"rule": mover.rule, "case": mover.case, "what": mover.what} for mover in item.movers],
                "applies_in": list(item.applies),
                "spared_in": list(item.spared),
            }
            for item in coverage.claims
        ],
        "tensions": [
            {
                "id": item.tension.id,
                "between": list(item.tension.between),
                "settled_by": list(item.tension.settled_by),
                "how": item.tension.how,
                "cases": list(item.cases),
                "shown_as_conflict": item.shown,
            }
            for item in coverage.tensions
        ],
        "problems": problems_data(problems),
    }


def _claim(item: ClaimCover, style: Style) -> Iterator[str]:
    claim = item.claim
    about = f" about {', '.join(claim.about)}" if claim.about else ""
    yield f"{style.strong(claim.id)} {claim.kind}{about}: {claim.says}"
    cited = ", ".join(_citation(cite) for cite in item.cited_by)
    yield f"  cited by {cited}" if cited else f"  {style.bad('cited by nothing')}"
    if claim.chooses:
        movers = "; ".join(_mover(mover) for mover in item.movers)
        yield f"  moves {movers}" if movers else f"  {style.bad('moves no plan')}"
    if item.applies:
        yield f"  applies in {', '.join(item.applies)}"
    if item.spared:
        yield f"  does not in {', '.join(item.spared)}"


def _citation(cite: Citation) -> str:
    return f"{cite.kind} {cite.by} ({cite.location.file}:{cite.location.line})"


def _mover(mover: Mover) -> str:
    return f"{mover.what} of {mover.case} by {mover.rule}"


def _tension(item: TensionCover, style: Style) -> Iterator[str]:
    tension = item.tension
    yield f"{style.strong(tension.id)} tension between {', '.join(tension.between)}: {tension.about}"
    if tension.settled_by:
        yield f"  settled by {', '.join(tension.settled_by)}: {tension.how}"
    elif item.shown:
        yield "  shown as a conflict"
    else:
        yield f"  {style.bad('open')}"
    if item.cases:
        yield f"  shown in {', '.join(item.cases)}"


def _sums(coverage: Coverage) -> str:
    chosen = [item for item in coverage.claims if item.claim.chooses]
    moved = [item for item in chosen if item.movers]
    weak = sum(all(mover.what == "verdicts" for mover in item.movers) for item in moved)
    advice = [item for item in coverage.claims if item.claim.kind == "advice"]
    both = sum(bool(item.applies and item.spared) for item in advice)
    open_ = sum(any(True for _ in item.faults()) for item in coverage.tensions)
    claims, problems = len(coverage.claims), coverage.faults()
    faults = sum(item.severity == "error" for item in problems)
    doubts = f", {len(problems) - faults} doubtful" if faults < len(problems) else ""
    return (
        f"{claims} claim{'' if claims == 1 else 's'}, {claims - len(coverage.uncited)} cited; "
        f"{len(chosen)} about what is chosen, {len(moved)} of them move plans ({weak} only what speaks for or against "
        f"them); {len(advice)} advise, {both} shown from both sides; "
        f"{len(coverage.tensions)} tensions, {open_} open; {faults} problem{'' if faults == 1 else 's'}{doubts}"
    )
