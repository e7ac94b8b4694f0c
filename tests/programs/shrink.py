"""Make a failing program small: by its text, with the executor as the judge of what has a meaning."""

from __future__ import annotations

import ast
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .batch import Outcome, run_programs
from .program import Program

# Programs that are tried together; one translation unit takes little longer than one of them.
TOGETHER = 24


def shrunk(program: Program, outcome: Outcome, seconds: float = 150) -> Program:
    """A smaller program with the same kind of outcome."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for candidates in _batches(_smaller(program)):
            found = run_programs(candidates)
            better = [c for c, o in zip(candidates, found, strict=True) if _alike(o, outcome)]
            if better:
                program = min(better, key=lambda p: len(p.text))
                break
        else:
            break
    return program


def _alike(one: Outcome, other: Outcome) -> bool:
    same = (one.kind, one.slug) == (other.kind, other.slug)
    return same and (one.kind == "differ" or _gist(one) == _gist(other))


def _gist(outcome: Outcome) -> str:
    """A message without its numbers and names."""
    return re.sub(r"\S*/\S*|-?\d+|[`'][^`']*[`']|\[[^\]]*\]", "#", outcome.message)[:90]


def _batches(programs: Iterator[Program]) -> Iterator[Sequence[Program]]:
    batch: list[Program] = []
    for program in programs:
        batch.append(program)
        if len(batch) == TOGETHER:
            yield batch
            batch = []
    if batch:
        yield batch


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are a step smaller, the largest steps first."""
    seen = {_cleaned(program).text}
    for change in (_without_statements, _unwrapped, _simpler_expressions, _smaller_numbers):
        for candidate in change(program):
            candidate = _cleaned(candidate)
            if candidate.text not in seen and len(candidate.text) <= len(program.text) + 2:
                seen.add(candidate.text)
                yield candidate


def _lists(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and statements and not isinstance(node, ast.Module):
                yield statements


def _edited(program: Program, edit: Callable[[ast.Module], bool]) -> Program | None:
    tree = ast.parse(program.text)
    if not edit(tree):
        return None
    return replace(program, text=ast.unparse(ast.fix_missing_locations(tree)) + "\n")


def _at(
    program: Program, collect: Callable[[ast.AST], list[Callable[[], None]]]
) -> Iterator[Program]:
    """One program for each edit that `collect` finds in a tree."""
    count = len(collect(ast.parse(program.text)))
    for number in range(count):

        def edit(tree: ast.Module, number: int = number) -> bool:
            collect(tree)[number]()
            return True

        found = _edited(program, edit)
        if found is not None:
            yield found


def _without_statements(program: Program) -> Iterator[Program]:
    def collect(tree: ast.AST) -> list[Callable[[], None]]:
        edits: list[Callable[[], None]] = []
        lists = list(_lists(tree))
        for size in (4, 2, 1):
            for statements in lists:
                for first in range(0, len(statements) - size + 1, size):
                    if len(statements) > size and not isinstance(statements[0], ast.FunctionDef):
                        edits.append(
                            lambda s=statements, f=first, n=size: s.__delitem__(slice(f, f + n))
                        )  # type: ignore[misc]
        return edits

    yield from _at(program, collect)


def _unwrapped(program: Program) -> Iterator[Program]:
    """The body in the place of a branch, a scope or a loop."""

    def collect(tree: ast.AST) -> list[Callable[[], None]]:
        edits: list[Callable[[], None]] = []
        for statements in _lists(tree):
            for place, node in enumerate(statements):
                if _unwraps(node):
                    edits.append(
                        lambda s=statements, p=place, n=node: s.__setitem__(slice(p, p + 1), n.body)
                    )  # type: ignore[misc]
        return edits

    yield from _at(program, collect)


def _unwraps(node: ast.stmt) -> bool:
    head = ast.unparse(node).split("\n")[0]
    plain = isinstance(node, (ast.If, ast.For)) and "Parallel" not in head
    return plain or (isinstance(node, ast.With) and "Scope" in head)


def _simpler_expressions(program: Program) -> Iterator[Program]:
    """One side of an operation, the least index, no keyword."""

    def collect(tree: ast.AST) -> list[Callable[[], None]]:
        edits: list[Callable[[], None]] = []
        for parent in ast.walk(tree):
            for field, value in ast.iter_fields(parent):
                for child, put in _children(parent, field, value):
                    if isinstance(child, ast.BinOp):
                        edits.append(lambda p=put, c=child: p(c.left))  # type: ignore[misc]
                        edits.append(lambda p=put, c=child: p(c.right))  # type: ignore[misc]
                    elif isinstance(child, ast.Call) and child.args and _is_number(child):
                        for argument in child.args[-2:]:
                            edits.append(lambda p=put, a=argument: p(a))  # type: ignore[misc]
            if (
                isinstance(parent, ast.Call)
                and parent.keywords
                and "Kernel" not in ast.unparse(parent.func)
            ):
                edits.append(lambda p=parent: p.keywords.pop())  # type: ignore[misc]
        return edits

    yield from _at(program, collect)
    for name, value in program.numbers.items():
        text = re.sub(rf"\b{name}: T\.\w+(, )?", "", program.text)
        yield replace(program, text=re.sub(rf"\b{name}\b", str(value), text))
    for name, size in program.symbols.items():
        text = re.sub(rf"^{name} = .*\n", "", program.text, flags=re.M)
        yield replace(program, text=re.sub(rf"\b{name}\b", str(size), text))
    for name, (low, high) in program.ranges.items():
        if low == high:
            tile = re.search(rf"T\.copy\({name}, (\w+)\)", program.text)
            if tile:
                yield replace(
                    program, text=re.sub(rf"\b{tile[1]}\[[^\]]*\]", str(low), program.text)
                )


def _is_number(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("T.max", "T.min", "T.if_then_else", "T.cast")


def _children(
    parent: ast.AST, field: str, value: object
) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None]]]:
    if isinstance(value, ast.AST):
        yield value, lambda new: setattr(parent, field, new)
    elif isinstance(value, list):
        for place, child in enumerate(value):
            if isinstance(child, ast.AST):
                yield child, lambda new, p=place: value.__setitem__(p, new)  # type: ignore[misc]


def _smaller_numbers(program: Program) -> Iterator[Program]:
    """Every occurrence of a number replaced by a smaller one."""
    numbers = {int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.])", program.text)}
    for number in sorted(numbers, reverse=True):
        for less in sorted({number // 2, number - 1, 1, 8, 16, 32}):
            if less < number:
                text = re.sub(rf"(?<![\w.]){number}(?![\w.])", str(less), program.text)
                yield replace(program, text=text)
    for name, value in program.numbers.items():
        for less in {0, 1, value // 2, value - 1}:
            if 0 <= less < value:
                yield replace(program, numbers={**program.numbers, name: less})
    for name, value in program.symbols.items():
        for less in {1, value // 2, value - 1}:
            if 0 < less < value:
                yield replace(program, symbols={**program.symbols, name: less})


def _cleaned(program: Program) -> Program:
    """Without buffers that are allocated only, parameters and symbols that are not used."""
    try:
        text = program.text
        for _ in range(8):
            before = text
            words = Counter(re.findall(r"\b[A-Za-z_]\w*\b", text))
            text = "\n".join(
                line for line in text.split("\n")
                if not ((m := re.match(r"\s*(\w+) = T\.(alloc|symbolic)", line)) and words[m[1]] == (2 if "symbolic" in line else 1))
            )  # fmt: skip
            for name in re.findall(r"\b(\w+): T\.", text):
                if words[name] == 1:
                    text = re.sub(
                        rf"\b{name}: T\.(Tensor\(\([^)]*\), ['\"]\w+['\"]\)|\w+)(, )?", "", text
                    )
            text = text.replace(", ):", "):")
            if text == before:
                break
        used = set(re.findall(r"\b[A-Za-z_]\w*\b", text))
        return replace(
            program,
            text=text,
            symbols={n: v for n, v in program.symbols.items() if n in used},
            numbers={n: v for n, v in program.numbers.items() if n in used},
            ranges={n: v for n, v in program.ranges.items() if n in used},
        )
    except re.error:
        return program
