"""Describe an operation of the op table as a section of a page.

The reference has the operations of scripts, passes.md those that only passes make.
"""

from __future__ import annotations

import re
from functools import cache

from pages.legality import known_slugs, rule_text, rules, slugs_of
from pages.markdown import block, cell, code, listed, table
from pages.op_examples import Example, op_example
from pages.signatures import called, native, signature
from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.op_functions import bind
from tile_ir import DEFAULT_TARGET, OPS, Composite, OpDef, argument_of
from tile_ir.opdef import REQUIRED, AttrDef, check_op
from tile_runtime.tools.command_line.ops import language_name, operand_text, placements

# Lines of C++ that show what an operation becomes; what needs more is cut.
MOST_LINES = 8


@cache
def general_slugs() -> list[str]:
    """The slugs that every call of an operation can report; a section lists the others."""
    return slugs_of([bind, build_op, check_op], known_slugs())


def anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9_ -]", "", name.lower()).replace(" ", "-")


def op_section(opdef: OpDef) -> str:
    lines = [
        f"### {language_name(opdef)}\n",
        f"{code(signature(opdef))}: {opdef.doc}.\n",
        f"* {place(opdef)}; Ascend C: {opdef.ascend_c}",
    ]
    lines += [
        f"* {operand_text(o, spelled(o.name, opdef), o.name in opdef.hidden)}"
        for o in opdef.operands
    ]
    lines += [f"* {attribute_text(a, spelled(a.name, opdef))}" for a in opdef.attrs]
    lines += [f"* {text}" for text in facts(opdef)]
    demands = [rule_text(r) for r in rules(opdef)]
    if demands:
        lines.append(f"* rules: {' '.join(demands)}")
    if opdef.namespace is None:
        return "\n".join(lines) + "\n"
    function = native(opdef)
    found = slugs_of([*called(function), *rules(opdef)], known_slugs())
    lines += errors_line([s for s in found if s not in general_slugs()])
    return "\n".join(lines) + "\n" + example(op_example(opdef))


def place(opdef: OpDef) -> str:
    cores, pipes = zip(*placements(opdef), strict=True)
    return f"{listed(c.value for c in cores)} core, pipe {listed(p.value for p in pipes)}"


def errors_line(slugs: list[str]) -> list[str]:
    return [f"* errors: {', '.join(f'`{s}`' for s in slugs)}"] if slugs else []


def facts(opdef: OpDef) -> list[str]:
    return [
        text
        for text, holds in (
            (
                "takes slices of any shape; rows that are not adjacent run one by one",
                opdef.elementwise,
            ),
            (
                "slices that are not contiguous are copied first, if the rules allow them",
                opdef.flat,
            ),
            ("the part beyond the edge of a gm tensor is cut", opdef.clip is not None),
            ("dst may be a source", opdef.may_alias),
            ("uses the first elements of a larger buffer", opdef.uses is not None),
            ("split into simpler operations by `lower_tile_ops`", opdef.composite is Composite.YES),
        )
        if holds
    ]


def example(found: Example) -> str:
    operands = [f"# {text}" for text in found.operands]
    text = "\n" + block("python", [*operands, *found.lines])
    if found.refused:
        return text + f"\nChecked and printed; compiling it ends in the error `{found.refused}`.\n"
    shown = list(found.becomes[:MOST_LINES])
    if len(found.becomes) > MOST_LINES:
        shown.append(f"// and {len(found.becomes) - MOST_LINES} lines more")
    which = "The first line becomes" if len(found.lines) > 1 else "It becomes"
    return text + f"\n{which}\n\n" + block("cpp", shown)


def spelled(operand: str, opdef: OpDef) -> str:
    """An operand as the language calls it, and as its record does where that differs."""
    argument = argument_of(opdef, operand)
    if argument == operand:
        return f"`{operand}`"
    return f"`{argument}` ({operand})"


def attribute_text(a: AttrDef, name: str) -> str:
    choices = f" of {', '.join(repr(c) for c in a.choices)}" if a.choices else ""
    default = "" if a.default is REQUIRED else f", default `{a.default!r}`"
    return f"{name}: compile-time {a.type.__name__}{choices}{default}"


def cast_table() -> str:
    found = DEFAULT_TARGET.conversions.items()
    rows = [(s, t, ", ".join(f"CAST_{m}" for m in modes)) for (s, t), modes in found]
    return "Legal conversions:\n\n" + table(("from", "to", "modes"), rows)


def families(language: bool) -> dict[str, list[OpDef]]:
    """Operations by family: those that scripts write, or the others."""
    found: dict[str, list[OpDef]] = {}
    for opdef in OPS.values():
        if (opdef.namespace is not None) is language:
            found.setdefault(opdef.family, []).append(opdef)
    return found


def operations_of_passes() -> str:
    """The section of the operations that no script writes."""
    opdefs = [o for found in families(language=False).values() for o in found]
    parts = [
        "## Operations made by passes\n",
        "Passes and the language turn the operations of scripts\n"
        "([reference](../language/reference.md)) into these. The op table, `tile_ir.OPS`, has one\n"
        "record per operation; `tile-ascend ops NAME` prints a record.\n",
        table(
            ("operation", "what it does"),
            ((f"[{o.name}](#{anchor(o.name)})", cell(o.doc)) for o in opdefs),
        ),
    ]
    return "\n".join([*parts, *map(op_section, opdefs)])
