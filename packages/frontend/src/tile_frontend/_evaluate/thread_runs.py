"""Write what each thread of a block does as loops over the threads.

    t = T.get_thread_binding()
    S[t] = X[t]                     for t in ...: S[t] = X[t]
    T.sync_threads()        is      T.sync_threads()
    Y[t] = S[n - t]                 for t in ...: Y[t] = S[n - t]

Between two barriers threads run in any order, as iterations of `T.Parallel` do. Barriers and tile
operations stand between the loops, and so do waits for sums that threads add up in an array. Names
computed from the number of the thread alone are computed
again in each loop.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NoReturn

from tile_frontend._evaluate.loop_exits import without_continue
from tile_frontend._evaluate.thread_uses import (
    ThreadUses,
    adds_to_element,
    asks,
    declared,
    mentions,
    names_in,
    uses_of,
)
from tile_ir.quick_dataclasses import dataclass

Statements = list[ast.stmt]
# The assignments of names that are computed from thread numbers, by name.
Formulas = dict[str, ast.Assign]
# For each thread whether a condition holds; None where that is not known now.
Truths = Callable[[ast.expr], tuple[bool, ...] | None]
Fail = Callable[[str, ast.stmt, str], NoReturn]


def as_runs(
    body: Statements, truths: Truths, private: Any, loop: Callable[[], Any], fail: Fail
) -> Statements:
    """The statements of a launch with loops over the threads, if more than a branch uses thread
    numbers. `truths` evaluates conditions on thread numbers alone, `private`
    declares a variable that each thread has one of, `loop` is the loop over the threads, and `fail`
    raises an error at a statement."""
    if not any(asks(n) for s in body for n in ast.walk(s)):
        return body
    uses = uses_of(body)
    runs = _Runs(uses, truths, private, loop, fail, _unused(body))
    result = runs.block(body, {})
    return result if runs.any_run else body


@dataclass(eq=False, slots=True)
class _Runs:
    uses: ThreadUses
    truths: Truths
    private: Any
    loop: Callable[[], Any]
    fail: Fail
    variable: str
    any_run: bool = False
    # Names that a loop over the threads has bound, and where.
    ended: dict[str, ast.stmt] = field(default_factory=dict)

    def block(self, body: Statements, known: Formulas) -> Statements:
        """The statements of one block, with loops around maximal runs of a thread's statements."""
        formulas, out, run = dict(known), Statements(), Statements()

        def close() -> None:
            if run:
                inner = [stmt for stmt in out if self._is_of(stmt, run)]
                out[:] = [stmt for stmt in out if stmt not in inner]
                out.append(self._over_threads([*inner, *run], formulas))
                run.clear()

        for stmt in body:
            if self._is_formula(stmt):
                assert isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name)
                formulas[stmt.targets[0].id] = stmt
            elif not self.uses.is_each_threads(stmt) or self._declares(stmt):
                if not _moves_up(stmt, run):
                    close()
                out.append(stmt)
            elif self._is_branch_of_parts(stmt, formulas) or _is_nest(stmt):
                close()
                out += self._needed([stmt], formulas)
                out.append(stmt)
            elif (inside := self._inside(stmt, formulas)) is not None:
                close()
                out.append(inside)
            else:
                self._check_alone(stmt)
                if any(_meets(before, stmt) for before in run):
                    close()
                run.append(stmt)
        close()
        return [self._declared(stmt) for stmt in out]

    def _is_of(self, stmt: ast.stmt, run: Statements) -> bool:
        """Whether a statement declares what one run alone uses: it is declared there."""
        call = declared(stmt)
        if call is None or not all(map(_computes, list(ast.walk(call))[1:])):
            return False
        (name,) = names_in(stmt, ast.Store) or {""}
        return Counter(mentions(run))[name] == self.uses.mentioned[name] - 1

    def _is_formula(self, stmt: ast.stmt) -> bool:
        """Whether a statement names what is computed from thread numbers, without memory."""
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names = names_in(stmt)
                return (
                    self.uses.differs(value)
                    and self.uses.bound[name] == 1
                    and all(self.uses.bound.get(n, 0) < 2 for n in names)
                    and not names & self.uses.private
                    and all(map(_computes, ast.walk(value)))
                )
        return False

    def _declares(self, stmt: ast.stmt) -> bool:
        call = declared(stmt)
        return call is not None and not any(map(self.uses.differs, [*call.args, *call.keywords]))

    def _declared(self, stmt: ast.stmt) -> ast.stmt:
        call = declared(stmt)
        if call is None or not self.uses.differs(stmt) or not isinstance(stmt, ast.Assign):
            return stmt
        own = ast.copy_location(ast.Constant(self.private), call)
        func = own if call.func.attr == "alloc_var" else call.func  # type: ignore[attr-defined]
        made = ast.copy_location(ast.Call(func, call.args, call.keywords), call)
        return ast.copy_location(ast.Assign(stmt.targets, made), stmt)

    def _is_branch_of_parts(self, stmt: ast.stmt, formulas: Formulas) -> bool:
        """Whether a branch selects a part of the threads, with a body that is the same for all."""
        return isinstance(stmt, ast.If) and self._serves([stmt], formulas, None)

    def _serves(
        self, body: Sequence[ast.stmt], formulas: Formulas, active: tuple[bool, ...] | None
    ) -> bool:
        for stmt in body:
            if isinstance(stmt, ast.If) and self.uses.differs(stmt.test):
                truths = self.truths(_expanded(stmt.test, formulas))
                if truths is None:
                    return False
                among = active or (True,) * len(truths)
                then = tuple(a and t for a, t in zip(among, truths, strict=True))
                other = tuple(a and not t for a, t in zip(among, truths, strict=True))
                for side, part in ((stmt.body, then), (stmt.orelse, other)):
                    if not self._serves(side, formulas, part):
                        return False
            elif self.uses.differs(stmt) or (
                adds_to_element(stmt) and active is not None and sum(active) > 1
            ):
                return False
        return True

    def _inside(self, stmt: ast.stmt, formulas: Formulas) -> ast.stmt | None:
        """A statement with the loops in its body; None where threads do all of it alone."""
        match stmt:
            case ast.If(test=test, body=then, orelse=orelse):
                if self.uses.differs(test) or self.uses.divides(stmt) is None:
                    return None
                nothing = ast.copy_location(ast.Pass(), stmt)
                sides = [self.block(then, formulas) or [nothing], self.block(orelse, formulas)]
                return ast.copy_location(ast.If(test, *sides), stmt)
            case ast.For(target=target, iter=over):
                if self.uses.differs(over) or self.uses.divides(stmt) is None:
                    return None
                bound, outside = names_in(target, ast.Store), self.uses
                kept = {n: f for n, f in formulas.items() if not names_in(f) & bound}
                self.uses = outside.inside(stmt)
                body = self.block(without_continue(stmt.body) or stmt.body, kept)
                self.uses = outside
                return ast.copy_location(ast.For(target, over, body, stmt.orelse), stmt)
            case ast.While(test=test):
                if self.uses.differs(test):
                    return None
                body = self.block(without_continue(stmt.body) or stmt.body, formulas)
                return ast.copy_location(ast.While(test, body, stmt.orelse), stmt)
            case ast.With(items=items, body=body):
                return ast.copy_location(ast.With(items, self.block(body, formulas)), stmt)
            case ast.Expr() if self.uses.divides(stmt) is not None and not isinstance(
                stmt.value, ast.Call
            ):
                return None
        return None

    def _check_alone(self, stmt: ast.stmt) -> None:
        """Raise an error where threads would do together what each of them reaches on its own, and
        where one would leave a loop of all."""
        together = self.uses.divides(stmt)
        if together is not None:
            text = ast.unparse(together).splitlines()[0]
            self.fail(
                f"`{text}` is for all threads of the block, but differs from thread to thread, or "
                "stands where they differ",
                together,
                "put it outside of branches and loops on thread numbers, or write the elements in "
                "`for t in T.Parallel(...)`",
            )
        leaving = _leaves(stmt)
        if leaving is not None:
            self.fail(
                f"`{ast.unparse(leaving)}` would end a loop for some of the threads",
                leaving, "put what the others do into a branch",
            )  # fmt: skip

    def _over_threads(self, run: Statements, formulas: Formulas) -> ast.stmt:
        self.any_run = True
        self._check_names(run)
        first = run[0]
        target = ast.copy_location(ast.Name(self.variable, ast.Store()), first)
        over = ast.copy_location(ast.Constant(self.loop()), first)
        body = [*self._needed(run, formulas), *run]
        return ast.copy_location(ast.For(target, over, body, []), first)

    def _check_names(self, run: Statements) -> None:
        """Raise an error for a name that an earlier loop over the threads has bound."""
        here: set[str] = set()
        for stmt in run:
            for name in sorted(_read_from_before([stmt], here) & self.ended.keys()):
                before = self.ended[name]
                self.fail(
                    f"`{name}` is a value of each thread from line {before.lineno}, and is read "
                    "behind what all threads do together",
                    stmt,
                    f"keep it in a variable: `{name} = T.alloc_var(dtype)`, above both",
                )
            here |= names_in(stmt, ast.Store)
        for stmt in run:
            for name in names_in(stmt, ast.Store) - self.uses.private:
                self.ended[name] = stmt

    def _needed(self, body: Statements, formulas: Formulas) -> Statements:
        """The formulas of the names that statements use, and of those that these use."""
        names: set[str] = set().union(*map(names_in, body))
        for name in reversed(formulas):
            if name in names:
                names |= names_in(formulas[name].value)
        return [stmt for name, stmt in formulas.items() if name in names]


def _computes(node: ast.AST) -> bool:
    """Whether a part of an expression reads no memory and calls no macro."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return not name.startswith(("alloc_", "atomic_", "shfl", "ballot"))
        case ast.Call() | ast.Subscript() | ast.NamedExpr() | ast.Lambda():
            return False
    return True


def _meets(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether one of two statements adds to an array that the other reads or stores to: a block
    waits in between, as the compilers for GPUs have it."""
    one, other = _arrays(first), _arrays(second)
    return bool(one[0] & other[1] or one[1] & other[0])


def _arrays(stmt: ast.stmt) -> tuple[set[str], set[str]]:
    """The arrays that a statement adds to, and those of which it uses elements otherwise."""
    added, used = set[str](), set[str]()
    targets = set[int]()
    for node in ast.walk(stmt):
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Subscript() as at, *_]):
                if name.startswith("atomic_"):
                    targets.add(id(at))
                    added |= names_in(at.value)
        if isinstance(node, ast.Subscript) and id(node) not in targets:
            used |= names_in(node.value)
    return added, used


def _is_nest(stmt: ast.stmt) -> bool:
    """Whether a statement is a loop that the threads divide."""
    match stmt:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
            return True
    return False


def _moves_up(stmt: ast.stmt, run: Statements) -> bool:
    """Whether a statement of the block may as well stand in front of a run of the threads."""
    if not run or isinstance(stmt, ast.Pass) or declared(stmt) is not None:
        return True
    match stmt:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            used = set().union(*map(names_in, run))
            stored = set().union(*(names_in(s, ast.Store) for s in run))
            alone = all(map(_computes, ast.walk(value))) or _allocates(value)
            return alone and name not in used and not names_in(value) & stored
    return False


def _allocates(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.startswith("alloc_")
    return False


def _read_from_before(body: Sequence[ast.stmt], bound: set[str]) -> set[str]:
    """The names that statements read and do not bind before that."""
    bound, found = set(bound), set()
    for stmt in body:
        match stmt:
            case ast.For(target=target, iter=over):
                found |= names_in(over, ast.Load) - bound
                found |= _read_from_before(stmt.body, bound | names_in(target, ast.Store))
            case ast.If(test=test) | ast.While(test=test):
                found |= names_in(test, ast.Load) - bound
                found |= _read_from_before(stmt.body, bound)
                found |= _read_from_before(stmt.orelse, bound)
            case ast.AugAssign():
                found |= names_in(stmt) - bound
            case _:
                found |= names_in(stmt, ast.Load) - bound
        bound |= names_in(stmt, ast.Store)
    return found


def _leaves(stmt: ast.stmt) -> ast.stmt | None:
    """A `break` or `continue` that leaves a loop around a statement."""
    match stmt:
        case ast.Break() | ast.Continue():
            return stmt
        case ast.If():
            found = map(_leaves, [*stmt.body, *stmt.orelse])
            return next((leaving for leaving in found if leaving is not None), None)
    return None


def _expanded(test: ast.expr, formulas: Formulas) -> ast.expr:
    """A condition with formulas in place of their names."""

    class Expand(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            stmt = formulas.get(node.id)
            return node if stmt is None else _expanded(stmt.value, formulas)

    copied = ast.parse(ast.unparse(test), mode="eval").body
    for node in ast.walk(copied):
        ast.copy_location(node, test)
    expanded = Expand().visit(copied)
    assert isinstance(expanded, ast.expr)
    return expanded


def _unused(body: Statements) -> str:
    name, taken = "thread", set().union(*map(names_in, body))
    while name in taken:
        name += "_"
    return name
