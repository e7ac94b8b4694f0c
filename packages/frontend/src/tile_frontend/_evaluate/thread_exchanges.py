"""Write what the threads of a warp give each other as elements of a tile.

    v += T.shfl_xor(v, 1)     is      tile[t] = v
                                      T.sync_threads()
                                      v += tile[the other lane of t]

A loop `for t in T.thread_binding(...)` is its body, in which `t` is the number of the thread.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tile_frontend._evaluate.thread_uses import ThreadUses, names_in, uses_of
from tile_frontend._language.warp_exchanges import OPTIONS, REDUCTIONS, SHUFFLES, WarpExchange

Statements = list[ast.stmt]
S = TypeVar("S", bound=ast.stmt)


def in_memory(body: Statements, exchange: Callable[[str], WarpExchange]) -> Statements:
    """The statements of a launch without loops that bind threads, and with tiles for exchanges;
    `exchange` makes one of its name."""
    if not any(_is_call(n, "thread_binding") or _exchanges(n) for s in body for n in ast.walk(s)):
        return body
    bare = _without_bindings(body)
    return _Exchanges(exchange, uses_of(bare)).block(bare)


def _without_bindings(body: Sequence[ast.stmt]) -> Statements:
    found: Statements = []
    for stmt in body:
        for name in ("body", "orelse"):
            inner = getattr(stmt, name, None)
            if isinstance(inner, list) and inner:
                stmt = _with(stmt, **{name: _without_bindings(inner)})
        match stmt:
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call, body=inner, orelse=[]):
                stores = set().union(*(names_in(s, ast.Store) for s in inner))
                if _is_call(call, "thread_binding") and name not in stores:
                    found += [_named(name, call, s) for s in inner]
                    continue
        found.append(stmt)
    return found


def _named(name: str, value: ast.expr, stmt: ast.stmt) -> ast.stmt:
    """A statement with an expression in place of a name."""

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return value if node.id == name else node

    new = Replace().visit(_copied(stmt))
    assert isinstance(new, ast.stmt)
    return new


def _copied(node: ast.AST) -> ast.AST:
    """The same tree, whose nodes may be changed; leaves that are no nodes are shared."""
    fields = {
        name: [_copied(v) if isinstance(v, ast.AST) else v for v in value]
        if isinstance(value, list)
        else _copied(value)
        if isinstance(value, ast.AST)
        else value
        for name, value in ast.iter_fields(node)
    }
    return ast.copy_location(type(node)(**fields), node)


def _with(stmt: S, **fields: object) -> S:
    return ast.copy_location(type(stmt)(**{**dict(ast.iter_fields(stmt)), **fields}), stmt)


class _Exchanges:
    def __init__(self, make: Callable[[str], WarpExchange], uses: ThreadUses) -> None:
        self.make, self.uses = make, uses
        # The steps of exchanges, which all threads of a branch around do.
        self.together: dict[int, ast.AST] = {}

    def is_together(self, node: ast.AST) -> bool:
        return id(node) in self.together

    def block(self, body: Sequence[ast.stmt]) -> Statements:
        """The statements; neighbours that name what they get exchange together."""
        found: Statements = []
        together = 0  # the first step of the last exchange, or where one may start
        for stmt in body:
            before, stmts = self.statement(stmt)
            names = set().union(*(_names_bound(s) for s in found[together:]))
            if not before or None in names or any(names_in(s) & names for s in before):
                together = len(found)
            found[together:together] = before
            found += stmts
            if not before:
                together = len(found)
        return found

    def statement(self, stmt: ast.stmt) -> tuple[Statements, Statements]:
        """The steps of an exchange of the statement, and what follows."""
        match stmt:
            case _ if not any(map(_exchanges, ast.walk(stmt))):
                return [], [stmt]
            case ast.If(test=test, body=inner, orelse=orelse) if not self.uses.differs(test):
                sides = {"body": self.block(inner), "orelse": self.block(orelse)}
                return [], [_with(stmt, **sides)]
            case ast.If(test=test, body=inner, orelse=[]) if _is_stable(test, inner):
                return [], self.among(test, self.block(inner), stmt)
            case ast.For(body=inner) | ast.While(body=inner) | ast.With(body=inner):
                return [], [_with(stmt, body=self.block(inner))]
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr():
                before: Statements = []
                whole = self.replaced(stmt, before)
                assert isinstance(whole, ast.stmt)
                return before, [whole]
        exchange = next(n for n in ast.walk(stmt) if _exchanges(n))
        assert isinstance(exchange, ast.Call) and isinstance(exchange.func, ast.Attribute)
        stands_apart: Any = self.make(exchange.func.attr).stands_apart
        told = ast.Constant(stands_apart)
        call = _placed(ast.Call(told, [ast.Constant(ast.unparse(exchange))], []), exchange)
        return [], [ast.copy_location(ast.Expr(call), stmt)]

    def among(self, test: ast.expr, body: Sequence[ast.stmt], of: ast.If) -> Statements:
        """The statements for the threads of a branch; what all do together stands between."""
        found: Statements = []
        run: Statements = []

        def close() -> None:
            if run:
                found.append(ast.copy_location(ast.If(test, [*run], []), of))
                run.clear()

        for stmt in body:
            if isinstance(stmt, ast.For) and any(map(self.is_together, ast.walk(stmt))):
                close()
                found.append(_with(stmt, body=self.among(test, stmt.body, of)))
            elif self.is_together(stmt):
                close()
                found.append(stmt)
            else:
                run.append(stmt)
        close()
        return found

    def _reads_shared(self, value: ast.expr) -> bool:
        """Whether a value is computed from memory that threads share, which those outside of a
        branch may have no element of."""
        parts = (n for n in ast.walk(value) if isinstance(n, ast.Subscript))
        return any(not names_in(part.value) <= self.uses.private for part in parts)

    def replaced(self, node: ast.AST, before: Statements) -> ast.AST:
        """A part of a statement with elements in place of exchanges; `before` gets what leads to
        them."""
        fields: dict[str, object] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                fields[name] = [
                    self.replaced(v, before) if isinstance(v, ast.AST) else v for v in value
                ]
            else:
                fields[name] = self.replaced(value, before) if isinstance(value, ast.AST) else value
        new = ast.copy_location(type(node)(**fields), node)
        if not _exchanges(new):
            return new
        assert isinstance(new, ast.Call) and isinstance(new.func, ast.Attribute)
        language, exchange = new.func.value, self.make(new.func.attr)

        def call(fn: Any, *arguments: ast.expr, **named: ast.expr) -> ast.Call:
            own = ast.Attribute(language, fn, ast.Load()) if isinstance(fn, str) else None
            func = own or ast.Constant(fn)
            words = [ast.keyword(k, v) for k, v in named.items()]
            return _placed(ast.Call(func, [*arguments], words), new)

        def step(of: ast.Call) -> ast.Expr:
            made = ast.copy_location(ast.Expr(of), new)
            self.together[id(made)] = made
            return made

        thread = call("get_thread_binding")
        value, *others = new.args
        put = step(call(exchange.put, value, thread))
        if not exchange.reduces and self._reads_shared(value):
            del self.together[id(put)]
        before.append(put)
        before.append(step(call("sync_threads")))
        if exchange.reduces:
            ends = call(exchange.values), call(exchange.results)
            before.append(step(call(exchange.reduces, *ends, dim=ast.Constant(1))))
        names = {k.arg: k.value for k in new.keywords if k.arg is not None}
        return call(exchange.get, thread, *others, **names)


def _names_bound(stmt: ast.stmt) -> set[str | None]:
    """The names that a step of an exchange, or the statement behind it, binds; None where that
    writes memory."""
    match stmt:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
        case ast.Expr(value=ast.Call(func=ast.Constant() | ast.Attribute(attr="sync_threads"))):
            return set()
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return set() if name in REDUCTIONS.values() else {None}
    return {None}


def _placed(call: ast.Call, at: ast.AST) -> ast.Call:
    for node in (call, call.func, *call.keywords, *(k.value for k in call.keywords)):
        ast.copy_location(node, at)
    return call


def _is_stable(test: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """Whether a condition reads no memory, and no name that the statements assign."""
    stored = set().union(*(names_in(s, ast.Store) for s in body))
    reads = any(isinstance(n, (ast.Subscript, ast.NamedExpr)) for n in ast.walk(test))
    return not reads and not names_in(test) & stored


def _is_call(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=found)):
            return found == name
    return False


def _exchanges(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[_, *_], keywords=words):
            known = {k.arg for k in words} <= OPTIONS
            return known and (name in SHUFFLES or name in REDUCTIONS)
    return False
