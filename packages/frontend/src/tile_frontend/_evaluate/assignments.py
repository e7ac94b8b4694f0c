"""Evaluate assignments: lets, stores, names of buffers, tuples
(docs/language/index.md#statements)."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from tile_frontend._evaluate.call_expressions import CallEvaluator
from tile_frontend._evaluate.expressions import BINARY
from tile_frontend._evaluate.scope import MISSING
from tile_frontend._evaluate.static_iteration import known_items
from tile_frontend._tracing.faults import placed
from tile_frontend._tracing.scalars import (
    Scalar,
    describe,
    no_packed_scalar,
    python_number,
    scalar_expr,
    stored_value,
)
from tile_frontend._tracing.values import Cell, Pending, Tile, View
from tile_ir import Access, Expr, Load, Op, Region, Slice, Store, walk_expr
from tile_ir.quick_dataclasses import replace


class AssignmentEvaluator(CallEvaluator):
    """Evaluates the statements that give names and elements their values."""

    def _Assign(self, stmt: ast.Assign) -> None:
        value = self.evaluate(stmt.value)
        if len(stmt.targets) > 1:
            value = self._snapshot(value, "value", stmt)
        for target in stmt.targets:
            self.assign(target, value, stmt)

    def _AnnAssign(self, stmt: ast.AnnAssign) -> None:
        if stmt.value is None:
            hint = f"write `{ast.unparse(stmt)} = ...` with its first value"
            self.fail("unsupported-syntax", "an annotation without a value", stmt, hint)
        annotation = self.evaluate(stmt.annotation)
        value = self.evaluate(stmt.value)
        if callable(annotation) and getattr(annotation, "dtype", None) is not None:
            value = self.guarded(stmt, annotation, value)
        self.assign(stmt.target, value, stmt)

    def _AugAssign(self, stmt: ast.AugAssign) -> None:
        symbol, fn = BINARY[type(stmt.op)]
        left = self.evaluate(stmt.target)
        right = self.evaluate(stmt.value)
        if isinstance(right, Pending):
            self._no_value(right, stmt)
        self.assign(stmt.target, self.combine(stmt, symbol, fn, left, right), stmt)

    def assign(self, target: ast.expr, value: Any, stmt: ast.stmt) -> None:
        match target:
            case ast.Name(id=name):
                self._assign_name(name, value, target, stmt)
            case ast.Subscript():
                self._assign_element(target, value, stmt)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value, target, stmt)
            case _:
                what = "a starred target" if isinstance(target, ast.Starred) else "this target"
                self.unsupported(what, target, "assign to names and elements")

    def _assign_name(self, name: str, value: Any, target: ast.expr, stmt: ast.stmt) -> None:
        cell = self.scope.find_local(name)
        if isinstance(cell, Cell) and value is not cell and not _is_new_cell(value):
            self._store(cell.tile, cell.indices, value, stmt)
            return
        loc = self.source.loc(target)
        lost = self.scope.lost_to_next_iteration(name, loc)
        if lost is not None:
            # For a GPU a name that is bound again is a new one, which a warning tells of.
            relied_on = lost.relied_on or self.trace.python_names
            self.lost_assignment(
                f"`{name}` is assigned in a loop, and the value ends with the iteration: the next "
                "iteration reads the value from before the loop again",
                replace(lost, relied_on=relied_on),
                f"use another name, or keep the value in a variable: `{name} = T.alloc_var(...)`",
            )
        self.scope.assign(name, self._bound(name, value, stmt), loc)

    def _bound(self, name: str, value: Any, stmt: ast.stmt) -> Any:
        """The value to bind to a name by `name = value`."""
        loc = self.source.loc(stmt)
        if self.scope.find_local(name) is MISSING:
            self.trace.names.forget(name, self.expansion)
        match value:
            case Cell() if not value.tile.is_named:
                self.guarded(stmt, self.trace.name_cell, value, name, self.expansion)
                return value
            case Tile():
                if not value.is_named:
                    # A second name of a buffer may be that of the first one.
                    second = value.alias_of is not None
                    expansion = self.trace.ANONYMOUS if second else self.expansion
                    self.guarded(stmt, self.trace.name_tile, value, name, expansion)
                return value
            case View():
                return self._snapshot(value, name, stmt)
            case Scalar():
                expr = self.guarded(stmt, scalar_expr, value)
                return self.guarded(stmt, self.trace.let, name, expr, loc)
            case tuple() | list():
                return type(value)(self._element(name, i, v, stmt) for i, v in enumerate(value))
            case Pending():
                self._no_value(value, stmt)
        if python_number(value) is not None and not self.trace.python_names:
            expr = self.guarded(stmt, scalar_expr, value)
            return self.guarded(stmt, self.trace.let, name, expr, loc)
        return value

    def _no_value(self, pending: Pending, stmt: ast.stmt) -> NoReturn:
        """Report an operation whose value is used, with where it stores its result."""
        self.trace.pending.remove(pending)
        if pending.without_value is not None:
            raise placed(pending.without_value, self.source.loc(stmt))
        op = pending.stmt
        parts = op.opdef.operands if isinstance(op, Op) else ()
        stores = any(o.name == "dst" and o.access is not Access.READ for o in parts)
        hint = f"{'it stores its result in `dst`: ' if stores else ''}write it on a line of its own"
        self.fail("no-value", f"the operation `{pending.name}` has no value", stmt, hint)

    def _element(self, name: str, position: int, value: Any, stmt: ast.stmt) -> Any:
        """An element of a container that gets a name: the element stays the same, but it is read
        now."""
        if isinstance(value, (Tile, Cell)) or (isinstance(value, Scalar) and _reads(value.expr)):
            return self._bound(f"{name}_{position}", value, stmt)
        if isinstance(value, (tuple, list)) and any(isinstance(v, Tile) for v in value):
            return self._bound(f"{name}_{position}", value, stmt)
        return value

    def _unpack(
        self, targets: list[ast.expr], value: Any, target: ast.expr, stmt: ast.stmt
    ) -> None:
        starred = next((t for t in targets if isinstance(t, ast.Starred)), None)
        if starred is not None:
            self.assign(starred, value, stmt)
        items = known_items(value)
        if items is None:
            hint = "write as many values as names, separated by commas"
            self.fail("unpacking", f"{describe(value)} is not a tuple", target, hint)
        if len(items) != len(targets):
            hint = "write as many values as names"
            self.fail("unpacking", f"{len(items)} values for {len(targets)} names", target, hint)
        # Every right side is read before the first target changes: `a, b = b, a`.
        if len(targets) > 1 and any(self._is_place(t) for t in targets):
            items = [self._snapshot(v, "value", stmt) for v in items]
        for inner, item in zip(targets, items, strict=True):
            self.assign(inner, item, stmt)

    def _is_place(self, target: ast.expr) -> bool:
        if isinstance(target, ast.Name):
            return isinstance(self.scope.find_local(target.id), Cell)
        return isinstance(target, ast.Subscript)

    def _snapshot(self, value: Any, name: str, stmt: ast.stmt) -> Any:
        """The value with everything it reads from memory read now."""
        loc = self.source.loc(stmt)

        def now(expr: Expr) -> Expr:
            if not _reads(expr):
                return expr
            named = self.guarded(stmt, self.trace.let, name, expr, loc)
            assert isinstance(named, Scalar)
            return named.expr

        match value:
            case Cell() if _is_new_cell(value):
                return value
            case Scalar():
                return Scalar(now(value.expr)) if _reads(value.expr) else value
            case View(region=region):
                dims = tuple(Slice(now(s.offset), now(s.extent), s.stride) for s in region.dims)
                return View(Region(region.buffer, dims))
        return value

    def _assign_element(self, target: ast.Subscript, value: Any, stmt: ast.stmt) -> None:
        owner = self.evaluate(target.value)
        place = self.evaluate(target)
        if isinstance(owner, Cell):
            self._store(owner.tile, owner.indices, value, stmt)
            return
        if not isinstance(owner, Tile):
            message = f"an element of {describe(owner)} is assigned"
            hint = "build a new list, or keep the elements in a tile: T.alloc_local((n,), dtype)"
            self.fail("not-assignable", message, target, hint)
        if isinstance(place, View):
            if isinstance(value, Pending):
                self._no_value(value, stmt)
            copied = isinstance(value, (Tile, View))
            instead = "T.copy(src, dst)" if copied else "T.tile.fill(dst, value)"
            hint = f"write {instead}; only single elements are assigned"
            self.fail("slice-store", f"{describe(place)} is assigned", target, hint)
        load = place.expr
        assert isinstance(load, Load), "a subscript without slices is an element"
        self._store(owner, load.indices, value, stmt)

    def _store(self, tile: Tile, indices: tuple[Expr, ...], value: Any, stmt: ast.stmt) -> None:
        where: ast.expr | ast.stmt = getattr(stmt, "value", None) or stmt
        if isinstance(value, (Tile, View)):
            what = f"{describe(value)} is stored in one element"
            self.fail("operand-kind", what, where, "copy tiles with T.copy")
        self.guarded(stmt, no_packed_scalar, tile.element)
        expr = self.guarded(where, stored_value, value, tile.element)
        store = Store(tile.buffer, indices, expr, self.source.loc(stmt))
        if self.trace.thread is not None:
            self.trace.thread.assigned.append(store)
        self.guarded(stmt, self.trace.emit, store)


def _is_new_cell(value: Any) -> bool:
    return isinstance(value, Cell) and not value.tile.is_named


def _reads(expr: Expr) -> bool:
    """Whether the value depends on memory, so that it matters when it is evaluated."""
    return any(isinstance(e, Load) for e in walk_expr(expr))
