"""``kb-explain``: the recommendation on one screen, and the questions that may be asked about it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, assert_never, get_args

from whygpu.collector import collector_at_rest
from whygpu.commands import batch, inputs
from whygpu.commands.status import INFEASIBLE, INTERRUPTED, OK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.commands.job import Detail
    from whygpu.errors import AnswerError
    from whygpu.explain.advice import Advice
    from whygpu.lifecycle.advice import LifecycleAdvice
    from whygpu.render.view.model import Section
    from whygpu.yamldoc.document import Node

Format = Literal["text", "json", "markdown", "html", "mermaid", "dot"]
FORMATS: tuple[Format, ...] = get_args(Format)
_QUESTIONS = ("why", "assumed", "why_not", "what_if", "flip", "how", "start", "tool")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    inputs.add_options(parser, FORMATS)
    parser.add_argument("--only", choices=("train", "serve"), help="of a lifecycle ('phases'), this phase in full")
    batch.add_options(parser)
    parser.add_argument(
        "--ask", action="store_true", help="ask, in this terminal, what can still change the recommendation"
    )
    parser.add_argument("--save", metavar="FILE", help="with --ask: keep the answers in this file, and go on from it")
    ask = parser.add_argument_group("questions about the answer, printed in its place")
    ask.add_argument("--why", action="store_true", help="the whole chain of rules: conditions, claims, arithmetic")
    ask.add_argument(
        "--all", action="store_true", help="everything at length; with --batch: every plan, and what is ruled out"
    )
    ask.add_argument("--assumed", action="store_true", help="everything that was assumed, and why")
    ask.add_argument(
        "--why-not",
        action="append",
        default=[],
        metavar="PLAN|CARD",
        help="why not this plan or card, for example 'RTX 4090' or '2x L40S int8'; may be repeated",
    )
    ask.add_argument(
        "--what-if",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what changes with this answer; repeated: with all of these together",
    )
    ask.add_argument(
        "--flip", action="store_true", help="for each answer the nearest change that changes the recommendation"
    )
    ask.add_argument("--how", metavar="NAME", help="how a figure, a name, a rule or a plan came about")
    ask.add_argument("--start", action="store_true", help="the command that starts the recommended plan")
    ask.add_argument(
        "--tool", metavar="TOOL", help="the same with this tool, such as sglang, llama.cpp, skypilot or kubernetes"
    )
    ask.add_argument("--depth", type=int, default=3, metavar="N", help="with --how: steps back (default 3)")
    parser.add_argument("--record", metavar="FILE", help="write a decision record, which 'whygpu replay' checks again")
    parser.add_argument("--trace", action="store_true", help="with --batch: each fact and step behind the plans")
    parser.add_argument("--about", action="store_true", help="say what this phase is like, at the end")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Answer, and print what was asked for."""
    bare = inputs.nothing_given(options) and not options.ask
    if bare and not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        parser.print_help()
        return OK
    if options.batch is not None or options.ask or bare:
        return _run(options, bare=bare)
    with collector_at_rest():  # one answer: what it makes stays until the process ends
        return _run(options, bare=False)


def _run(options: argparse.Namespace, *, bare: bool) -> int:
    import whygpu  # noqa: PLC0415  --help needs no numpy

    knowledge = whygpu.load(options.kb)
    if options.batch is not None:
        from whygpu.commands.job import Detail  # noqa: PLC0415

        return batch.run(
            options, knowledge, "advice", answer, Detail(options.date, options.only, options.all, options.trace)
        )
    _refuse_idle(options)
    if options.save is not None and not options.ask:
        raise _idle("it keeps the answers of an interview", "--save", "add --ask")
    node = inputs.read_answers(options, knowledge)
    if options.ask or bare:
        node = _interview(options, knowledge, node)
        if node is None:
            return INTERRUPTED
    found = knowledge.advise({} if node is None else node, engine=options.engine, today=options.date)
    advice = _of_phase(found, options.only)
    if options.record is not None:
        _record(options, advice)
    _print(options, advice)
    return INFEASIBLE if advice.status == "infeasible" else OK


def _interview(options: argparse.Namespace, knowledge: KnowledgeBase, node: Node | None) -> Node | None:
    """The answers after an interview; None where it was left. Raises AnswerError."""
    from pathlib import Path  # noqa: PLC0415

    from whygpu.answers import node_of  # noqa: PLC0415
    from whygpu.commands.ask import Stop, ask  # noqa: PLC0415
    from whygpu.files import check_target  # noqa: PLC0415
    from whygpu.lifecycle.answers import is_lifecycle  # noqa: PLC0415
    from whygpu.yamldoc.document import plain_data  # noqa: PLC0415

    save = None if options.save is None else Path(options.save)
    if save is not None:
        check_target(save)
    if inputs.nothing_given(options) and save is not None and save.exists():
        node = inputs.answers_in(str(save))
    if node is not None and is_lifecycle(node):
        raise _idle("a lifecycle is not asked about; ask about one phase", "--ask", "leave 'phases' out")
    begun = {} if node is None else plain_data(node)
    try:
        return node_of(ask(knowledge, begun if isinstance(begun, dict) else {}, save))
    except (Stop, KeyboardInterrupt):
        kept = f" What was answered is in {save}: go on with --ask --save {save}." if save is not None else ""
        print(f"\nStopped.{kept}", file=sys.stderr)
        return None


def _record(options: argparse.Namespace, advice: Advice | LifecycleAdvice) -> None:
    """Write the decision record; raises AnswerError."""
    from whygpu.commands.replay import write  # noqa: PLC0415
    from whygpu.lifecycle.advice import LifecycleAdvice  # noqa: PLC0415
    from whygpu.render.decision import record  # noqa: PLC0415
    from whygpu.render.view import view_of  # noqa: PLC0415

    if isinstance(advice, LifecycleAdvice):
        raise _idle("a record is of one decision, and a lifecycle has two", "--record", "add --only train or serve")
    write(options.record, record(advice, view_of(advice)))


def _asked(options: argparse.Namespace) -> bool:
    return any(getattr(options, name) for name in _QUESTIONS)


def _print(options: argparse.Namespace, advice: Advice | LifecycleAdvice) -> None:
    from whygpu.lifecycle.advice import LifecycleAdvice  # noqa: PLC0415

    if isinstance(advice, LifecycleAdvice) and _asked(options):
        raise _of_one_phase()
    form: Format = options.format
    match form:
        case "text":
            _print_text(options, advice)
        case "json":
            _print_json(options, advice)
        case "markdown" | "html":
            sys.stdout.write(_document(options, advice, form))
        case "mermaid" | "dot":
            sys.stdout.write(_graph(options, advice, form))
        case _:
            assert_never(form)


def _print_json(options: argparse.Namespace, advice: Advice | LifecycleAdvice) -> None:
    """The answers to what was asked, or else the whole advice."""
    from whygpu.lifecycle.advice import LifecycleAdvice  # noqa: PLC0415
    from whygpu.render.output import sections_dict, write_json  # noqa: PLC0415

    if isinstance(advice, LifecycleAdvice) or not _asked(options):
        write_json(advice.to_dict())
    else:
        write_json(sections_dict(sections_of(options, advice), advice.engine))


def _document(options: argparse.Namespace, advice: Advice | LifecycleAdvice, form: Literal["markdown", "html"]) -> str:
    """The advice as a document."""
    from whygpu.lifecycle.advice import LifecycleAdvice  # noqa: PLC0415
    from whygpu.render.view import view_of  # noqa: PLC0415

    if isinstance(advice, LifecycleAdvice):
        from whygpu.render.lifecycle import documented  # noqa: PLC0415

        views, sections = documented(advice)
    else:
        views, sections = [view_of(advice, flips="loads")], list(sections_of(options, advice))
    if form == "html":
        from whygpu.render.html import page  # noqa: PLC0415

        return page(views, sections)
    from whygpu.render.markdown import document  # noqa: PLC0415

    return document(views, sections)


def _graph(options: argparse.Namespace, advice: Advice | LifecycleAdvice, form: Literal["mermaid", "dot"]) -> str:
    """The proof of the recommendation; raises AnswerError for a lifecycle, which has two."""
    from whygpu.lifecycle.advice import LifecycleAdvice  # noqa: PLC0415
    from whygpu.render import graph  # noqa: PLC0415
    from whygpu.render.view import view_of  # noqa: PLC0415

    if isinstance(advice, LifecycleAdvice):
        raise _of_one_phase()
    list(sections_of(options, advice))  # what is wrong with a question is said, though a graph has no answers
    draw = graph.mermaid if form == "mermaid" else graph.dot
    return draw(graph.proof_graph(advice, view_of(advice)))


def _print_text(options: argparse.Namespace, advice: Advice | LifecycleAdvice) -> None:
    from whygpu.lifecycle.advice import LifecycleAdvice  # noqa: PLC0415
    from whygpu.render.lifecycle import LifeRenderer  # noqa: PLC0415
    from whygpu.render.screen import Screen  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415
    from whygpu.render.view import view_of  # noqa: PLC0415
    from whygpu.render.view.full import about  # noqa: PLC0415

    style = Style.of(sys.stdout)
    texts: list[str] = []
    sections: list[Section] = []
    phases: tuple[Advice, ...]
    if isinstance(advice, LifecycleAdvice):
        phases = advice.phases
        texts.append(LifeRenderer(style).render(advice))
    else:
        phases = (advice,)
        sections += sections_of(options, advice)
        if options.all or not _asked(options):
            texts.append(Screen(style).render(view_of(advice, flips="loads")))
    if options.about:
        sections += about(phase.profile for phase in phases if phase.profile is not None)
    if sections:
        texts.append(Screen(style).sections(sections))
    sys.stdout.write("\n".join(texts))


def sections_of(options: argparse.Namespace, advice: Advice) -> Iterator[Section]:
    """The answers to what was asked about the advice, in the order of the options; raises AnswerError."""
    from whygpu.explain.flips import price_flips, search  # noqa: PLC0415
    from whygpu.explain.proof import prove  # noqa: PLC0415
    from whygpu.render.view import questions  # noqa: PLC0415
    from whygpu.render.view.full import everything, why  # noqa: PLC0415
    from whygpu.render.view.starting import asked_section  # noqa: PLC0415

    if options.all:
        yield from everything(advice)
    elif options.why:
        yield from why(advice)
    if options.assumed and not options.all:
        yield questions.assumed_section(advice)
    for asked in options.why_not:
        yield from questions.why_not_sections(advice, asked, advice.why_not(asked))
    if options.what_if:
        changes = settings(options.what_if)
        yield questions.what_if_section(advice, advice.what_if(**changes).advice, changes)
    if options.flip:
        consultation = advice.consultation
        yield questions.flip_section(advice, price_flips(consultation), search(consultation))
    if options.how is not None:
        yield questions.how_section(advice, options.how, prove(advice, options.how, options.depth))
    if options.start or options.tool is not None:
        yield asked_section(advice, options.tool)


def settings(texts: Iterable[str]) -> dict[str, Any]:
    """``key=value`` as plain data, as ``--set`` reads it; raises AnswerError."""
    from whygpu.answers import apply_settings  # noqa: PLC0415
    from whygpu.yamldoc.document import plain_data  # noqa: PLC0415

    found = plain_data(apply_settings(None, texts))
    return found if isinstance(found, dict) else {}


def answer(knowledge: KnowledgeBase, node: Node, engine: EngineName | None, detail: Detail) -> dict[str, Any]:
    """One row of a batch; raises AnswerError."""
    advice = _of_phase(knowledge.advise(node, engine=engine, today=detail.today), detail.only)
    return advice.to_dict(every=detail.every, trace=detail.trace)


def _refuse_idle(options: argparse.Namespace) -> None:
    """Raise AnswerError where an option of a batch is given without one."""
    if options.trace:
        raise _idle("it is about a batch; one answer has everything in '--format json'", "--trace", "leave it out")


def _idle(message: str, option: str, hint: str) -> AnswerError:
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415

    return AnswerError([Problem("idle-option", message, Location(option), hint)])


def _of_one_phase() -> AnswerError:
    return _idle("a lifecycle has two answers; this is about one of them", "--only", "add --only train or serve")


def _of_phase(advice: Advice | LifecycleAdvice, only: str | None) -> Advice | LifecycleAdvice:
    """The whole advice, or that on one phase of a life; raises AnswerError where the answers are about no life."""
    from whygpu.lifecycle.advice import LifecycleAdvice  # noqa: PLC0415

    if only is None:
        return advice
    if isinstance(advice, LifecycleAdvice):
        return advice.train if only == "train" else advice.serve
    raise _idle("the answers are about one phase, and --only picks one of a lifecycle", "--only", "leave it out")
