"""Find what differs from thread to thread in the text of a launch: names and statements."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tile_frontend._language.threads import OF_THREADS
from tile_ir.quick_dataclasses import dataclass

# What each thread calls on its own, as a statement.
_CALLS = frozenset({"device_assert", "assume", "print", "loop_break", "evaluate"})
_COLLECTIVE_LOOPS = frozenset({"Parallel", "Pipelined", "Persistent"})


@dataclass(frozen=True, slots=True)
class ThreadUses:
    """The names whose values differ from thread to thread; the variables and arrays of a thread;
    the counts of assignments and mentions of each name."""

    dependent: frozenset[str]
    private: frozenset[str]
    bound: Mapping[str, int]
    mentioned: Mapping[str, int]

    def differs(self, node: ast.AST | Sequence[ast.stmt]) -> bool:
        """Whether a thread number, or a value computed from one, has a part in a text."""
        if isinstance(node, ast.For):
            return self.differs(node.iter) or self.inside(node).differs(node.body)
        if isinstance(node, ast.Name):
            return node.id in self.dependent
        if not isinstance(node, ast.AST):
            return any(map(self.differs, node))
        return asks(node) or any(map(self.differs, ast.iter_child_nodes(node)))

    def inside(self, loop: ast.For) -> ThreadUses:
        """The uses in the body of a loop, whose variables differ if its bounds do."""
        names = names_in(loop.target, ast.Store)
        others = self.dependent - names
        found = others | names if self.differs(loop.iter) else others
        return ThreadUses(found, self.private, self.bound, self.mentioned)

    def is_each_threads(self, stmt: ast.stmt) -> bool:
        """Whether threads surely do a statement each: it differs, or each thread adds to an
        element."""
        return self.differs(stmt) or adds_to_element(stmt)

    def divides(self, stmt: ast.stmt) -> ast.stmt | None:
        """The first part of a statement that all threads do together: a barrier, an operation on
        tiles, a loop that is divided among them."""
        for node in ast.walk(stmt):
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call) if isinstance(
                    node, ast.stmt
                ):
                    if name in _CALLS | OF_THREADS or name.startswith("atomic_"):
                        continue
                    if self._of_array(call):
                        continue
                    return node
                case ast.For(iter=ast.Call(func=ast.Attribute(attr=name))):
                    if name in _COLLECTIVE_LOOPS:
                        return node
                case ast.With():
                    return node
        return None

    def _of_array(self, call: ast.Call) -> bool:
        """`T.clear(a)` or `T.fill(a, x)` of a thread's own array."""
        match call:
            case ast.Call(func=ast.Attribute(attr="clear" | "fill"), args=[ast.Name(id=name), *_]):
                return name in self.private
        return False


def uses_of(body: Sequence[ast.stmt]) -> ThreadUses:
    """The thread-dependent names of a launch or a macro, by a fixed point over its statements."""
    stmts = [s for s in _walk(body) if isinstance(s, ast.stmt)]
    private = {n for s in stmts if declared(s) is not None for n in names_in(s, ast.Store)}
    bound = Counter(n for s in stmts for n in _assigned(s))
    mentioned = Counter(mentions(body))
    uses = ThreadUses(frozenset(), frozenset(private), bound, mentioned)
    while True:
        found = frozenset(_found(body, uses, False))
        if found == uses.dependent:
            return uses
        uses = ThreadUses(found, uses.private, bound, mentioned)


def _found(body: Iterable[ast.stmt], uses: ThreadUses, divided: bool) -> Iterator[str]:
    """Names that differ from thread to thread as the statements use those known to; `divided`: for
    statements that not all threads reach."""
    for stmt in body:
        match stmt:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                if divided or uses.differs(stmt):
                    names = names_in(stmt, ast.Store)
                    yield from names & uses.private if not uses.differs(stmt) else names
                    yield from _arrays_stored(stmt) & uses.private
            case ast.For(iter=over):
                below = divided or uses.differs(over)
                yield from _found(stmt.body, uses.inside(stmt), below)
            case ast.While(test=test) | ast.If(test=test):
                yield from _found([*stmt.body, *stmt.orelse], uses, divided or uses.differs(test))
            case ast.With():
                yield from _found(stmt.body, uses, divided)
            case ast.Expr(value=ast.Call(args=args)):
                if divided or uses.differs(stmt):
                    for argument in args:
                        yield from names_in(argument, ast.Load) & uses.private


def _assigned(stmt: ast.stmt) -> set[str]:
    """The names that one statement binds, loops aside: their variables stay in the body."""
    match stmt:
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return names_in(stmt, ast.Store)
    return set()


def _arrays_stored(stmt: ast.stmt) -> set[str]:
    """The names whose elements an assignment stores."""
    found = set()
    for node in ast.walk(stmt):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            root: ast.expr = node
            while isinstance(root, ast.Subscript):
                root = root.value
            found |= names_in(root, ast.Load)
    return found


def declared(stmt: ast.stmt) -> ast.Call | None:
    """The call of an assignment that declares a variable or a small array of a thread."""
    match stmt:
        case ast.Assign(
            value=ast.Call(func=ast.Attribute(attr="alloc_var" | "alloc_local")) as call
        ):
            return call
    return None


def mentions(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names of a text, as often as they stand there."""
    return (n.id for n in _walk(body) if isinstance(n, ast.Name))


def names_in(node: ast.AST, context: type[ast.expr_context] | None = None) -> set[str]:
    return {
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and (context is None or isinstance(n.ctx, context))
    }


def adds_to_element(stmt: ast.stmt) -> bool:
    """Whether a statement outside of loops that the threads divide adds to one element."""
    match stmt:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(attr=name), args=[ast.Subscript() as at, *_])
        ):
            return name.startswith("atomic_") and not _slices(at)
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
            return False
        case ast.For() | ast.While() | ast.If():
            return any(map(adds_to_element, [*stmt.body, *stmt.orelse]))
        case ast.With():
            return any(map(adds_to_element, stmt.body))
    return False


def _slices(subscript: ast.Subscript) -> bool:
    return any(isinstance(n, ast.Slice) for n in ast.walk(subscript.slice))


def asks(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in OF_THREADS


def _walk(node: ast.AST | Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for part in (node,) if isinstance(node, ast.AST) else node:
        yield from ast.walk(part)
