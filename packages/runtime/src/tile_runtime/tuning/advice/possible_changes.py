"""Which changes of a program can be tried: other sizes of its tiles, stages for its loops, both
vector cores, options. Taken from the text; whether a change leaves the kernel what it is, and what
it gives, others find out by trying.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from tile_runtime.tuning.advice.formula_edits import formula_edits
from tile_runtime.tuning.advice.kernel_text import (
    SERIAL,
    KernelText,
    called,
    calls_in,
    integer,
    keyword,
)
from tile_runtime.tuning.advice.option_edits import option_edits
from tile_runtime.tuning.advice.program import Argument, Change, Edit, Program

# Numbers up to this one are counts, such as stages; above it they are sizes.
_COUNTS = 4
# A number written at several places of a kernel is a size of its tiles from here on.
_LEAST_WRITTEN = 8


def possible_changes(program: Program, options: Mapping[str, bool]) -> list[Change]:
    """All that the text offers; nothing where trying it would run more than the kernel. `options`
    are keys of pass configs with the values to try."""
    text = KernelText(program)
    if text.factory is None or not text.launches or text.calls_itself:
        return []
    found: list[Change] = [*_arguments(text), *_constants(text), *_written_sizes(text)]
    found += [*_stages(text), *_lanes(text), *formula_edits(text)]
    for key, value in options.items():
        found += option_edits(text, key, value)
    return [change for change in found if not isinstance(change, Edit) or change.lines]


def next_values(value: int) -> list[int]:
    """Numbers to try in place of one: twice and half of it, and the next ones of a count."""
    near = [value * 2]
    if value % 2 == 0:
        near.append(value // 2)
    if value <= _COUNTS:
        near += [value + 1, value - 1]
    return [n for n in dict.fromkeys(near) if n >= 1]


def _values(text: KernelText, name: str, value: int) -> list[int]:
    """Numbers to try for a name. One iteration of a loop whose iterations could be blocks too
    leaves all of them to the compiler, which joins blocks where that is faster."""
    near = next_values(value)
    return list(dict.fromkeys([*near, 1])) if name in text.iterations_of_blocks else near


def _arguments(text: KernelText) -> Iterator[Change]:
    assert text.factory is not None, "looked at above"
    given = {**_defaults(text.factory), **text.program.given}
    for name, value in given.items():
        if type(value) is int and value >= 1:
            yield from (Argument(name, value, new) for new in _values(text, name, value))


def _defaults(factory: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Any]:
    arguments = factory.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    behind = names[len(names) - len(arguments.defaults) :]
    pairs = [*zip(behind, arguments.defaults, strict=True)]
    pairs += [
        (a.arg, default)
        for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    return {name: number for name, node in pairs if (number := integer(node)) is not None}


def _constants(text: KernelText) -> Iterator[Change]:
    """Names that the script or the factory sets to a number, and the factory uses."""
    assert text.factory is not None, "looked at above"
    used = {n.id for n in ast.walk(text.factory) if isinstance(n, ast.Name)}
    for node in (*text.tree.body, *ast.walk(text.factory)):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                number = integer(value)
                if number is None or number < 1 or name not in used or value is None:
                    continue
                for new in _values(text, name, number):
                    yield Edit(
                        f"{name} = {new} at line {node.lineno}",
                        text.edits([(value, str(new))]),
                        "size",
                        f"{name} at line {node.lineno}",
                        new < number,
                    )


def _written_sizes(text: KernelText) -> Iterator[Change]:
    """Sizes of tiles that are written down at each place: all places change together."""
    for body in text.bodies:
        places: dict[int, list[ast.expr]] = {}
        for node in ast.walk(body):
            number = integer(node) if isinstance(node, ast.expr) else None
            if number is not None and number >= _LEAST_WRITTEN:
                assert isinstance(node, ast.expr), "a number is one"
                places.setdefault(number, []).append(node)
        in_shapes = {
            number
            for call in calls_in(body)
            if called(call).startswith("alloc_") and call.args
            for part in ast.walk(call.args[0])
            if isinstance(part, ast.expr) and (number := integer(part)) is not None
        }
        for number, nodes in places.items():
            if number not in in_shapes or len(nodes) < 2:
                continue
            where = ", ".join(map(str, sorted({node.lineno for node in nodes})))
            for new in next_values(number):
                yield Edit(
                    f"{new} in place of {number} at lines {where}",
                    text.edits([(node, str(new)) for node in nodes]),
                    "size",
                    f"a size at lines {where}",
                    new < number,
                )


def _stages(text: KernelText) -> Iterator[Change]:
    """Loops that copy: stages for those without, and other numbers of them."""
    for body in text.bodies:
        for loop in ast.walk(body):
            if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
                continue
            call = loop.iter
            if not any(called(c) == "copy" for s in loop.body for c in calls_in(s)):
                continue
            yield from _stages_of(text, call)


def _stages_of(text: KernelText, call: ast.Call) -> Iterator[Change]:
    name, stages = called(call), keyword(call, "num_stages")
    if (name in SERIAL or (name == "Pipelined" and stages is None)) and len(call.args) < 3:
        bounds = ", ".join(map(text.source, call.args))
        written = f"{text.prefix}Pipelined({bounds}, num_stages=2)"
        yield Edit(
            f"`{written}` in place of `{text.source(call)}` at line {call.lineno}",
            text.edits([(call, written)]),
            "stages",
            f"the loop at line {call.lineno}",
        )
    elif name == "Pipelined" and (number := integer(stages)) is not None:
        assert stages is not None, "it has a number"
        for new in (number + 1, number - 1) if number > 1 else (2,):
            yield Edit(
                f"num_stages={new} at line {stages.lineno}",
                text.edits([(stages, str(new))]),
                "stages",
                f"the loop at line {call.lineno}",
            )


def _lanes(text: KernelText) -> Iterator[Change]:
    """Both vector cores for a block that leaves them to the compiler and has one."""
    for call in text.launches:
        threads = keyword(call, "threads")
        if integer(threads) == 1:
            assert threads is not None, "it has a number"
            edit = text.edits([(threads, "2")])
        elif threads is None and len(call.args) == 1 and call.args[0].end_lineno == call.lineno:
            edit = text.edits([(call.args[0], f"{text.source(call.args[0])}, threads=2")])
        else:
            continue
        yield Edit(
            f"threads=2 in {text.prefix}Kernel at line {call.lineno}", edit, "lanes", "threads"
        )
