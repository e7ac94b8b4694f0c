"""Edits that write formulas of `T.Parallel` loops with fewer vector instructions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.tuning.advice.formulas import shorter_formula
from tile_runtime.tuning.advice.kernel_text import KernelText, called, calls_in
from tile_runtime.tuning.advice.program import Edit, LineEdit

# What functions lose in a formula with fewer digits.
_FEWER_DIGITS = {"tanh": "tanh has fewer digits near 0", "erf": "erf differs by up to 0.0005"}


@dataclass(frozen=True, slots=True)
class _ShorterStatement:
    """A statement to write in place of one, and the statements that are gone with it."""

    old: ast.Assign
    text: str
    gone: tuple[ast.Assign, ...]


def formula_edits(text: KernelText) -> Iterator[Edit]:
    """One edit for all formulas, then one for each where there are several; then those with fewer
    digits near 0."""
    equal = _statements(text, fewer_digits=False)
    if len(equal) > 1:
        yield _edit(text, equal)
    for statement in equal:
        yield _edit(text, [statement])
    nearly = _statements(text, fewer_digits=True)
    if nearly != equal:
        edit = _edit(text, nearly)
        told = ", ".join(_told(text, [s for s in nearly if s not in equal]))
        yield replace(edit, says=f"{edit.says} ({told})")


def _told(text: KernelText, statements: Sequence[_ShorterStatement]) -> Iterator[str]:
    """Say by how much results of statements with fewer digits differ."""
    for name, told in _FEWER_DIGITS.items():
        old = [n for s in statements for n in (s.old, *s.gone)]
        if any(called(call) == name for n in old for call in calls_in(n)):
            yield told


def _statements(text: KernelText, fewer_digits: bool) -> list[_ShorterStatement]:
    return [
        s for body in text.bodies for loop in ast.walk(body) for s in _of_loop(loop, fewer_digits)
    ]


def _edit(text: KernelText, statements: Sequence[_ShorterStatement]) -> Edit:
    lines: list[LineEdit] = []
    for s in statements:
        first, last = s.old.lineno, s.old.end_lineno or s.old.lineno
        indent = text.lines[first - 1][: s.old.col_offset]
        lines.append(LineEdit(first, text.lines[first - 1], indent + s.text))
        gone = [*range(first + 1, last + 1)]
        gone += [n for g in s.gone for n in range(g.lineno, (g.end_lineno or g.lineno) + 1)]
        lines += [LineEdit(n, text.lines[n - 1], None) for n in gone]
    says = " and ".join(_says(s) for s in statements)
    return Edit(says, tuple(sorted(lines, key=lambda e: e.number)), "formula", "formulas")


def _says(s: _ShorterStatement) -> str:
    numbers = sorted({n.lineno for n in (*s.gone, s.old)})
    where = f"line {numbers[0]}" if len(numbers) == 1 else f"lines {', '.join(map(str, numbers))}"
    return f"`{s.text}` in place of {where}"


def _of_loop(loop: ast.AST, fewer_digits: bool) -> Iterator[_ShorterStatement]:
    """The statements of a `T.Parallel` loop that have a shorter formula."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return
    if called(loop.iter) != "Parallel" or not all(isinstance(s, ast.Assign) for s in loop.body):
        return
    names = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
    statements = [s for s in loop.body if isinstance(s, ast.Assign) and len(s.targets) == 1]
    for place, statement in enumerate(statements):
        if not isinstance(statement.targets[0], ast.Subscript):
            continue
        # A name keeps a value from before the last store.
        stores = [n for n in range(place) if isinstance(statements[n].targets[0], ast.Subscript)]
        inlined = _NamesTakenIn(statements[max(stores, default=-1) + 1 : place], statements)
        value = inlined.visit(_copy(statement.value))
        is_row = partial(_is_row, names=names, statements=statements)
        shorter = shorter_formula(value, is_row, fewer_digits)
        if shorter is None:
            continue
        written = f"{ast.unparse(statement.targets[0])} = {shorter}"
        if '"' not in written:  # quotes as black writes them
            written = written.replace("'", '"')
        yield _ShorterStatement(statement, written, tuple(inlined.gone))


class _NamesTakenIn(ast.NodeTransformer):
    """Puts the values of names that are used once in place of the names."""

    def __init__(self, before: Sequence[ast.Assign], whole: Sequence[ast.Assign]) -> None:
        self._values = {s.targets[0].id: s for s in before if isinstance(s.targets[0], ast.Name)}
        uses = [n.id for s in whole for n in ast.walk(s.value) if isinstance(n, ast.Name)]
        made = [n.id for s in whole for n in s.targets if isinstance(n, ast.Name)]
        self._once = {n for n in made if uses.count(n) == 1 and made.count(n) == 1}
        self.gone: list[ast.Assign] = []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._once or node.id not in self._values:
            return node
        statement = self._values[node.id]
        self.gone.append(statement)
        found = self.visit(_copy(statement.value))
        assert isinstance(found, ast.expr), "an expression stays one"
        return found


def _is_row(node: ast.expr, names: Sequence[str], statements: Sequence[ast.Assign]) -> bool:
    """Whether an expression is no number and the same for all columns of a row."""
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    values = {s.targets[0].id for s in statements if isinstance(s.targets[0], ast.Name)}
    return bool(used) and names[-1] not in used and not used & values


def _copy(node: ast.expr) -> ast.expr:
    return _expression(ast.unparse(node))


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
