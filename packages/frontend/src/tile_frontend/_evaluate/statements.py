"""Evaluate statements of kernel text (docs/language/index.md#statements)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._evaluate.loop_exits import (
    one_condition_each,
    with_returns,
    without_continue,
)
from tile_frontend._evaluate.scope import MISSING, BlockKind
from tile_frontend._evaluate.static_iteration import MOST_ITERATIONS, static_items, unrolled_range
from tile_frontend._evaluate.threads_in_text import ThreadEvaluator
from tile_frontend._language.kernel_frames import Frame, IfFrame, KernelFrame
from tile_frontend._language.loops import AnyLoop, Loop, loop_break
from tile_frontend._language.ranks import ScaleFrame
from tile_frontend._language.swizzle import SwizzledBlock
from tile_frontend._language.threads import OF_THREADS, ThreadNumber, check_part, parts
from tile_frontend._tracing.faults import Fault, placed
from tile_frontend._tracing.scalars import Scalar, condition, describe
from tile_frontend._tracing.values import Cell, Pending, Tile, View
from tile_ir import OPS, Const, If, KernelError, While
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Returned:
    """The value that a macro returns; no statement behind it is reached."""

    value: Any


class StatementEvaluator(ThreadEvaluator):
    """Evaluate the body of one function and emit the statements that it describes."""

    def run(self, body: list[ast.stmt]) -> Returned | None:
        """The statements of a block, in its scope."""
        for position, stmt in enumerate(body):
            frame, rest = self.statement(stmt), body[position + 1 :]
            if isinstance(frame, Returned):
                return frame
            if isinstance(frame, SwizzledBlock):
                self._where_there_is_a_tile(frame, stmt, rest)
                return None
            if frame is not None:
                # A frame as a statement of its own lasts until the end of the block.
                self._inside(frame, None, None, stmt, partial(self.run, rest))
                return None
        return None

    def block(self, body: list[ast.stmt], kind: BlockKind = BlockKind.PLAIN) -> Returned | None:
        with self.scope.block(kind):
            return self.run(body)

    def statement(self, stmt: ast.stmt) -> Frame | SwizzledBlock | Returned | None:
        """Evaluate one statement; return its effect on the rest of the block."""
        self.trace.here = self.source.loc(stmt)
        frame: Frame | SwizzledBlock | Returned | None = self.evaluate(stmt)
        # An operation that is described but not emitted would be dropped in silence.
        for lost in self.trace.pending:
            if lost.without_value is not None:
                raise placed(lost.without_value, lost.loc)
            message = f"the operation `{lost.name}` is called, but its result is not emitted"
            hint = "a helper returns all its operations, as a tuple, or none: "
            hint += "then they are emitted in order"
            raise KernelError("operation-lost", message, lost.loc, hint)
        return frame

    def _Pass(self, stmt: ast.Pass) -> None:
        pass

    def _Return(self, stmt: ast.Return) -> Returned | None:
        """The value of a macro, read now: a variable or a buffer stays itself."""
        if not self.scope.is_whole_function():
            hint = "return at the end of the macro, a variable that the branches assign"
            self.unsupported("`return` in a loop or a branch", stmt, hint)
        value = None if stmt.value is None else self.evaluate(stmt.value)
        if isinstance(value, (tuple, list)):
            return Returned(type(value)(self._as_it_is(v, stmt) for v in value))
        return Returned(self._as_it_is(value, stmt))

    def _as_it_is(self, value: Any, stmt: ast.stmt) -> Any:
        return value if isinstance(value, Cell) else self._snapshot(value, "value", stmt)

    def _Assert(self, stmt: ast.Assert) -> None:
        test = self.evaluate(stmt.test)
        if isinstance(test, Scalar):
            text = ast.unparse(stmt.test)
            said = text if stmt.msg is None else self.evaluate(stmt.msg)
            if self.trace.python_names:
                self._checked_on_the_device(stmt, test, str(said))
                return
            message = "`assert` of a runtime condition is not supported"
            instead = f"write T.device_assert({text}, {str(said)!r})"
            hint = f"{instead}, which is checked where the kernel runs"
            self.fail("unsupported-syntax", message, stmt, hint)
        if not test:
            message = "" if stmt.msg is None else f": {self.evaluate(stmt.msg)}"
            self.fail("assertion", f"`{ast.unparse(stmt.test)}` does not hold{message}", stmt)

    def _checked_on_the_device(self, stmt: ast.Assert, test: Scalar, said: str) -> None:
        """Emit an assertion on run-time values; one around the launch is about sizes, which calls
        check."""
        if self.trace.in_launch:
            given = {"condition": test, "msg": said}
            check = self.guarded(stmt, build_op, OPS["device_assert"], given, "device_assert")
            self.guarded(stmt, self.trace.emit_pending, check)

    def _Expr(self, stmt: ast.Expr) -> Frame | SwizzledBlock | None:
        value = self.evaluate(stmt.value)
        if isinstance(value, Frame):
            return value
        if isinstance(value, SwizzledBlock):
            return self._renumber_block(value, stmt)
        self._emit_value(value, stmt)
        return None

    def _renumber_block(self, value: SwizzledBlock, stmt: ast.Expr) -> SwizzledBlock | None:
        """A remapped block as a statement: the index of the block is that number from here on."""
        header = self.trace.header
        name = self.scope.name_of(
            lambda v: isinstance(v, Scalar) and header is not None and v.expr == header.block
        )
        if name is None or (value.in_loop and not self.scope.is_body_of_loop()):
            why = (
                "no name here is the index of the block"
                if name is None
                else "in_loop=True skips the rest of an iteration, and this is no body of a loop"
            )
            hint = "assign what it gives: `tile = T.use_swizzle(...)`"
            self.fail("swizzle-statement", f"T.use_swizzle stands alone, but {why}", stmt, hint)
        loc = self.source.loc(stmt)
        number = self.trace.let(name, value.expr, loc)
        self.scope.assign(name, number, loc)
        return SwizzledBlock(number.expr, value.tiles, True) if value.in_loop else None

    def _where_there_is_a_tile(
        self, block: SwizzledBlock, stmt: ast.stmt, rest: list[ast.stmt]
    ) -> None:
        """Emit the rest of an iteration, for blocks that have a tile in it."""
        loc = self.source.loc(stmt)
        with self.trace.block() as then:
            self.run(rest)
        check = self.guarded(stmt, condition, block.has_tile)
        self.guarded(stmt, self.trace.emit, If(check, tuple(then), (), loc))

    def _emit_value(self, value: Any, stmt: ast.Expr) -> None:
        match value:
            case Pending():
                self.guarded(stmt, self.trace.emit_pending, value)
            case tuple() | list():
                for item in value:
                    self._emit_value(item, stmt)
            case None | bool() | int() | float() | str() | Scalar() | Tile() | View():
                pass
            case AnyLoop():
                self.fail("loop-unused", "a loop stands alone", stmt, "write `for i in ...:`")
            case _ if callable(value):
                what = f"`{ast.unparse(stmt.value)}` is not called"
                self.fail("not-called", what, stmt, "add the parentheses")

    def _If(self, stmt: ast.If) -> Returned | None:
        if self._asks_for_threads(stmt.test):
            stmt = one_condition_each(stmt)
        test = self.evaluate(stmt.test)
        if isinstance(test, ThreadNumber):
            self._part_of_threads(stmt, test)
            return None
        if not isinstance(test, Scalar):
            if isinstance(test, (Tile, View, Pending)):
                hint = "compare one element, such as x[0] > 0, or choose by element in T.Parallel"
                self.fail("operand-kind", f"the condition is {describe(test)}", stmt.test, hint)
            return self._chosen(stmt.body if test else stmt.orelse)
        check = self.guarded(stmt.test, condition, test)
        if isinstance(check, Const):
            return self._chosen(stmt.body if check.value else stmt.orelse)
        runs = self.trace.surely(check)
        with self.scope.alternatives():
            with self.trace.block() as then:
                self.block(stmt.body, BlockKind.NEVER if runs is False else BlockKind.PLAIN)
            with self.trace.block() as orelse:
                self.block(stmt.orelse, BlockKind.NEVER if runs is True else BlockKind.PLAIN)
        loc = self.source.loc(stmt)
        self.guarded(stmt, self.trace.emit, If(check, tuple(then), tuple(orelse), loc))
        return None

    def _asks_for_threads(self, test: ast.expr) -> bool:
        """Whether a condition holds for some threads of a block and not for others."""
        names = (n.id for n in ast.walk(test) if isinstance(n, ast.Name))
        return any(isinstance(self.scope.find(name), ThreadNumber) for name in names) or any(
            n.attr in OF_THREADS for n in ast.walk(test) if isinstance(n, ast.Attribute)
        )

    def _part_of_threads(self, stmt: ast.If, test: ThreadNumber) -> None:
        """Evaluate both sides, one after the other: each belongs to some of the threads."""
        if self.trace.parallel_depth:
            self._place(test.refusal(), self.source.loc(stmt.test))
        outside = [tile.buffer for tile in self.trace.allocations if tile.is_named]
        around = self.trace.active
        with self.scope.alternatives():
            for side, part in zip((stmt.body, stmt.orelse), parts(test, around), strict=True):
                if not any(part):
                    continue
                self.trace.active = part
                with self.trace.block() as inner:
                    self.block(side)
                self.trace.active = around
                self.guarded(stmt, check_part, self.trace, inner, sum(part), outside, test)
                for each in inner:
                    self.trace.emit(each)

    def _chosen(self, body: list[ast.stmt]) -> Returned | None:
        """The branch that a value known now chooses."""
        if self.trace.python_names:
            return self.run(body)
        return self.block(body, BlockKind.CHOSEN)

    def _While(self, stmt: ast.While) -> None:
        if stmt.orelse:
            hint = "write its statements behind the loop"
            self.fail("unsupported-syntax", "`else` of a loop is not supported", stmt, hint)
        test = self.evaluate(stmt.test)
        if not isinstance(test, Scalar):
            message = f"the condition of `while` is {describe(test)}, expected a runtime condition"
            hint = "a loop with a known count is `for i in T.serial(n)`"
            self.fail("loop-condition", message, stmt.test, hint)
        check = self.guarded(stmt.test, condition, test)
        self.trace.loop_depth += 1
        with self.trace.block() as body, self.scope.block(BlockKind.LOOP):
            for node in ast.walk(stmt.test):  # every iteration reads what the condition names
                if isinstance(node, ast.Name):
                    self.scope.read(node.id)
            self.block(self._iteration(stmt))
        self.trace.loop_depth -= 1
        self.guarded(stmt, self.trace.emit, While(check, tuple(body), self.source.loc(stmt)))

    def _iteration(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        """The body of a loop, with branches for `continue`."""
        body = without_continue(loop.body)
        if body is None:
            hint = "put what is skipped into an `if`"
            self.unsupported("a body with so many ways to a `continue`", loop, hint)
        return body

    def _Break(self, stmt: ast.Break) -> None:
        if not self.trace.loop_depth:
            message = "`break` leaves a loop that is written out iteration by iteration"
            self.fail("outside-loop", message, stmt, "loop with T.serial")
        self.guarded(stmt, self.trace.emit_pending, loop_break())

    def _For(self, stmt: ast.For) -> None:
        if stmt.orelse:
            hint = "write its statements behind the loop"
            self.fail("unsupported-syntax", "`else` of a loop is not supported", stmt, hint)
        loop = self.evaluate(stmt.iter)
        numbers = unrolled_range(loop, stmt, self.scope, self.trace.in_launch)
        items = static_items(loop if numbers is None else numbers)
        if items is not None:
            self._static_for(stmt, items)
            return
        if not isinstance(loop, AnyLoop):
            message = f"a kernel cannot iterate over {describe(loop)}"
            hint = "loop with range, T.serial, T.unroll, T.grid, T.Parallel, T.Pipelined or "
            hint += "T.Persistent, or over a Python list"
            self.fail("not-a-loop", message, stmt.iter, hint)
        names, body = self._target_names(stmt.target), self._iteration(stmt)
        if len(names) != loop.rank:
            message = f"the loop has {loop.rank} {'variable' if loop.rank == 1 else 'variables'}"
            message += f", found {len(names)} {'name' if len(names) == 1 else 'names'}"
            hint = "write one name for each size, as in `for i, j in T.Parallel(rows, columns):`"
            self.fail("loop-target", message, stmt.target, hint)

        def run(variables: tuple[Scalar, ...]) -> None:
            bounds = loop.bounds if isinstance(loop, Loop) else ()
            iterations = [
                self.trace.most_iterations(v.expr, *b)
                for v, b in zip(variables, bounds, strict=False)
            ]
            with self.scope.block(BlockKind.NEVER if 0 in iterations else BlockKind.LOOP):
                for name, var in zip(names, variables, strict=True):
                    self.scope.bind(name, var, self.source.loc(stmt.target))
                self.block(body)

        loc = self.source.loc(stmt)
        self.trace.loop_depth += 1
        self.guarded(stmt, loop.emit, self.trace, names, loc, run)
        self.trace.loop_depth -= 1

    def _static_for(self, stmt: ast.For, items: Sequence[Any]) -> None:
        """Evaluate the body once per element, now. Each iteration names buffers of its own, as an
        expansion of a macro does; leaving an outer loop from here would leave it for all
        iterations."""
        if len(items) > MOST_ITERATIONS:
            message = f"a loop over a Python container has more than {MOST_ITERATIONS} iterations, "
            message += "and each is written out"
            self.fail("loop-bound", message, stmt.iter, "loop with T.serial")
        expansion, depth = self.expansion, self.trace.loop_depth
        self.trace.loop_depth = 0
        body = self._iteration(stmt)
        for item in items:
            self.trace.expansions += 1
            self.expansion = self.trace.expansions
            self.bind_static(stmt.target, item)
            self.run(body)
        self.expansion, self.trace.loop_depth = expansion, depth

    def _target_names(self, target: ast.expr) -> tuple[str, ...]:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        for part in parts:
            if not isinstance(part, ast.Name):
                hint = "write a name, such as `i`"
                self.fail("unsupported-syntax", "the target is not a name", part, hint)
        return tuple(p.id for p in parts if isinstance(p, ast.Name))

    def _With(self, stmt: ast.With) -> None:
        self._items(stmt.items, stmt)

    def _items(self, items: list[ast.withitem], stmt: ast.With) -> None:
        """`with a, b:` is `with a:` around `with b:`."""
        first, *rest = items
        frame = self.evaluate(first.context_expr)
        if not isinstance(frame, Frame):
            message = f"`with` does not take {describe(frame)}"
            hint = "it takes T.Kernel, T.Scope, T.If, T.Then or T.Else"
            self.fail("not-a-frame", message, first.context_expr, hint)
        target = first.optional_vars
        if isinstance(frame, ScaleFrame) and target is not None and _is_bare_name(rest):
            # `as r, num`, which Python reads as two frames.
            target = self._both_names(target, rest.pop(0).context_expr)
        self._inside(
            frame, target, first.context_expr, stmt,
            # The frame has opened a block for the names of its target; the body needs no other.
            (lambda: self._items(rest, stmt)) if rest else partial(self._body, frame, stmt),
        )  # fmt: skip

    def _both_names(self, first: ast.expr, second: ast.expr) -> ast.Tuple:
        """The names of a frame that stand behind its `as` without parentheses."""
        assert isinstance(second, ast.Name), "the caller has looked"
        if self.scope.find(second.id) is not MISSING:
            hint = f"write `as ({ast.unparse(first)}, another_name)`"
            self.fail("with-target", f"`{second.id}` has a value already", second, hint)
        return ast.copy_location(ast.Tuple([first, second], ast.Store()), first)

    def _body(self, frame: Frame, stmt: ast.With) -> Returned | None:
        """Evaluate the body of a frame. In a launch, statements behind a `return` move to the paths
        that reach them."""
        if not isinstance(frame, KernelFrame):
            return self.run(stmt.body)
        body = without_continue(with_returns(stmt.body))
        if body is None:
            hint = "put the statements that a `return` skips into an `else`"
            self.unsupported("a launch with so many paths to a `return`", stmt, hint)
        return self.run(self.with_thread_loops(body) if self.trace.python_names else body)

    def _inside(
        self, frame: Frame, target: ast.expr | None, place: ast.expr | None, stmt: ast.stmt,
        body: Callable[[], object],
    ) -> None:  # fmt: skip
        names = None if target is None else self._target_names(target)
        # `as indices` of a grid with several sizes is the list of them.
        listed = isinstance(target, ast.Name) and frame.yields_list
        names, all_of_them = (None, names) if listed else (names, None)

        def run(values: tuple[Any, ...]) -> None:
            with self.scope.block():
                for name in all_of_them or ():
                    assert target is not None
                    self.scope.bind(name, list(values), self.source.loc(target))
                for name, value in zip(names or (), values, strict=names is not None):
                    assert target is not None
                    self.scope.bind(name, value, self.source.loc(target))
                if isinstance(frame, IfFrame):
                    with self.scope.alternatives():
                        body()
                else:
                    body()

        try:
            frame.evaluate(self.trace, names, self.source.loc(stmt), run)
        except Fault as fault:
            named = target if fault.argument == "target" else place
            self._place(fault, self.source.loc(named if named is not None else stmt))


def _is_bare_name(items: list[ast.withitem]) -> bool:
    """Whether the next frame of a `with` is a name and nothing else."""
    return (
        bool(items)
        and items[0].optional_vars is None
        and isinstance(items[0].context_expr, ast.Name)
    )
