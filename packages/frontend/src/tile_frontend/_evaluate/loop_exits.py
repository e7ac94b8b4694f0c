"""Write `continue`, `return` and `T.thread_return()` as branches: the rest of a body moves to the
paths without them.

    if a: b; continue          if a: b
    c                  is      else: c

Where only some paths through a branch continue with the next iteration, the rest of the body stands
on each of the other paths.
"""

from __future__ import annotations

import ast

# On so many ways the rest of a body may stand.
_MOST = 64

Statements = list[ast.stmt]


def without_continue(body: Statements) -> Statements | None:
    """The body of a loop without `continue`; statements behind `break` or `continue` are
    unreachable. None where it would become too long."""
    if not _goes_on(body):
        return body
    return _settled(body) if _ways(body, 1) <= _MOST else None


def _settled(body: Statements) -> Statements:
    for position, stmt in enumerate(body):
        if isinstance(stmt, ast.Continue):
            return body[:position]
        if isinstance(stmt, ast.Break):
            return body[: position + 1]
        if isinstance(stmt, ast.If) and _goes_on([stmt]):
            rest = body[position + 1 :]
            then, orelse = (
                _settled(side if _leaves(side) else [*side, *rest])
                for side in (stmt.body, stmt.orelse)
            )
            nothing = ast.copy_location(ast.Pass(), stmt)
            branch = ast.If(stmt.test, then or [nothing], orelse)
            return [*body[:position], ast.copy_location(branch, stmt)]
    return body


def _ways(body: Statements, behind: int) -> int:
    """The number of copies of the end of the statements, if the code behind them has `behind`
    copies."""
    for stmt in reversed(body):
        if isinstance(stmt, ast.If) and _goes_on([stmt]):
            sides = (stmt.body, stmt.orelse)
            behind = sum(_ways(side, 1 if _leaves(side) else behind) for side in sides)
    return behind


def _leaves(body: Statements) -> bool:
    """Whether no path through the statements reaches the statement behind them."""
    return any(
        isinstance(s, (ast.Break, ast.Continue))
        or (isinstance(s, ast.If) and _leaves(s.body) and _leaves(s.orelse))
        for s in body
    )


def _goes_on(body: Statements) -> bool:
    """Whether a branch of this loop, and of none inside it, continues with the next iteration."""
    return any(
        isinstance(s, ast.Continue)
        or (isinstance(s, ast.If) and (_goes_on(s.body) or _goes_on(s.orelse)))
        for s in body
    )


def with_returns(body: Statements) -> Statements:
    """The body of a launch with `continue` for a return that ends a block, outside of loops."""
    if not any(_is_return(n) for s in body for n in ast.walk(s)):
        return body
    return [_with_returns(stmt) for stmt in body]


def _with_returns(stmt: ast.stmt) -> ast.stmt:
    if _is_return(stmt):
        return ast.copy_location(ast.Continue(), stmt)
    if isinstance(stmt, ast.If):
        branch = ast.If(stmt.test, with_returns(stmt.body), with_returns(stmt.orelse))
        return ast.copy_location(branch, stmt)
    return stmt


def _is_return(node: ast.AST) -> bool:
    match node:
        case ast.Return(value=None):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="thread_return"), args=[])):
            return True
    return False


def one_condition_each(stmt: ast.If) -> ast.If:
    """`if a and b:` with `if b:` inside `if a:`, where there is no other branch."""
    test = stmt.test
    if stmt.orelse or not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return stmt
    first, *others = test.values
    rest = others[0] if len(others) == 1 else ast.BoolOp(ast.And(), others)
    inner = ast.copy_location(ast.If(ast.copy_location(rest, others[0]), stmt.body, []), stmt)
    return ast.copy_location(ast.If(first, [inner], []), stmt)
