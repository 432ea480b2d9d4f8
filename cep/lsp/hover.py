"""What an editor shows about the word under the cursor, as Markdown."""

from __future__ import annotations

from cep.compiler.shared.functions import EVERY_FUNCTION
from cep.explain.words import classes, meaning, partition, window
from cep.ir.expr import duration_text
from cep.ir.model import Stream
from cep.ir.plan import Plan
from cep.ir.types import COLUMN_TYPES
from cep.lsp.analysis import Analysis
from cep.lsp.keywords import BODY_HELP, KEYWORD_HELP, TYPE_HELP
from cep.lsp.things import Kind, Thing, thing_at
from cep.syntax.unparse import unparse_name


def hover(analysis: Analysis, offset: int) -> tuple[str, Thing] | None:
    """The text about what stands at an offset, and what that is; None where there is nothing to say."""
    thing = thing_at(analysis, offset)
    if thing is None:
        return None
    text = _ABOUT[thing.kind](analysis, thing)
    return (text, thing) if text else None


def _stream(analysis: Analysis, thing: Thing) -> str | None:
    stream = analysis.scope.streams.get(thing.streams[0])
    return _code(declaration(stream)) + _where(analysis, stream.name) if stream is not None else None


def _variable(analysis: Analysis, thing: Thing) -> str | None:
    whats = [step.what for step in thing.statement.steps if step.var.name == thing.variable]
    lines = [f"**{thing.variable}**: " + ", or ".join(dict.fromkeys(whats))]
    for name in thing.streams:
        stream = analysis.scope.streams.get(name)
        lines.append(_code(declaration(stream)) if stream is not None else f"There is no stream `{name}`.")
    return "\n\n".join(lines)


def _attribute(analysis: Analysis, thing: Thing) -> str | None:
    attr = thing.word.name
    lines = []
    for name in thing.streams:
        stream = analysis.scope.streams.get(name)
        type_ = stream.type_of(attr) if stream is not None else None
        if stream is None or type_ is None:
            continue
        role = ", the event time" if stream.time == attr else ""
        shown = f"{thing.variable}.{attr}" if thing.variable else attr
        lines.append(_code(f"{shown} {type_}") + f"\n\nattribute of `{name}`{role}")
    return "\n\n".join(lines) or None


def _pattern(analysis: Analysis, thing: Thing) -> str | None:
    plan = next((plan for plan in analysis.result.plans if plan.pattern == thing.word.name), None)
    return about_plan(plan) if plan is not None else f"**{thing.word.name}** has errors: there is no plan yet."


def about_plan(plan: Plan) -> str:
    """A pattern's class, window and costs."""
    rows = [
        ("class", f"{classes(plan.verdict)}: {meaning(plan.verdict)}"),
        ("window", window(plan)),
        ("partition", partition(plan)),
        ("update", plan.guarantees.update),
        ("delay", plan.guarantees.delay),
        ("space", plan.guarantees.space),
        ("emission", plan.guarantees.emission),
    ]
    table = "\n".join(f"| {name} | {_cell(text)} |" for name, text in rows)
    return f"**{plan.pattern}**\n\n| | |\n|---|---|\n{table}"


def _function(_analysis: Analysis, thing: Thing) -> str | None:
    function = EVERY_FUNCTION[thing.word.name.upper()]
    if not function.accepts:
        return _code(function.usage) + f"\n\n{function.about}."
    result = function.result.value if function.result is not None else "the common type of the arguments"
    if function.about:
        of = "any value" if function.accepts >= set(COLUMN_TYPES) else function.accepts_text
        gives = function.result.value if function.result is not None else "the same type"
        return _code(function.usage) + f"\n\n{function.about}. Of {of}; gives {gives}."
    return _code(function.usage) + f"\n\n{function.arity_text}: {function.accepts_text}. Gives {result}."


def _type(_analysis: Analysis, thing: Thing) -> str | None:
    return TYPE_HELP[thing.word.name.upper()]


def _keyword(_analysis: Analysis, thing: Thing) -> str | None:
    word = thing.word.text.upper()
    in_body = thing.word in thing.statement.body
    return (BODY_HELP.get(word) if in_body else None) or KEYWORD_HELP.get(word)


def _import(analysis: Analysis, _thing: Thing) -> str | None:
    names = [name for name in analysis.scope.streams if name not in _declared_here(analysis)]
    return "imported streams: " + ", ".join(f"`{name}`" for name in names) if names else None


_ABOUT = {
    Kind.STREAM: _stream,
    Kind.VARIABLE: _variable,
    Kind.ATTRIBUTE: _attribute,
    Kind.PATTERN: _pattern,
    Kind.FUNCTION: _function,
    Kind.TYPE: _type,
    Kind.KEYWORD: _keyword,
    Kind.IMPORT: _import,
}


def declaration(stream: Stream) -> str:
    """A stream as its declaration reads in the standard layout."""
    names = [unparse_name(name) for name, _ in stream.columns]
    wide = max(map(len, names), default=0)
    formats = dict(stream.formats)
    types = [f"{type_} {formats[name]}" if name in formats else str(type_) for name, type_ in stream.columns]
    columns = ",\n".join(f"  {name:<{wide}} {type_}" for name, type_ in zip(names, types, strict=True))
    time = f" TIMESTAMP BY {unparse_name(stream.time)}" if stream.time is not None else ""
    late = f" WATERMARK {duration_text(stream.watermark)}" if stream.watermark else ""
    idle = f" IDLE AFTER {duration_text(stream.idle_after)}" if stream.idle_after is not None else ""
    ahead = f" MAX AHEAD {duration_text(stream.max_ahead)}" if stream.max_ahead is not None else ""
    order = f" ORDER BY {unparse_name(stream.order)}" if stream.order is not None else ""
    return f"STREAM {unparse_name(stream.name)} (\n{columns}\n){time}{late}{idle}{ahead}{order};"


def _where(analysis: Analysis, name: str) -> str:
    file = analysis.scope.declared[name].span.file
    return f"\n\nimported from `{file}`" if file != analysis.source.name else ""


def _declared_here(analysis: Analysis) -> set[str]:
    return {name for name, decl in analysis.scope.declared.items() if decl.span.file == analysis.source.name}


def _code(text: str) -> str:
    return f"```cep\n{text}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
