"""Names elements of tensors by the number that their indices are digits of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from tile_ir import (
    Alloc,
    Automatic,
    Binary,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Let,
    Memory,
    Phase,
    Region,
    Stmt,
    Target,
    Var,
    bodies,
    constant_value,
    difference,
    expressions,
    is_constant,
    map_own_expressions,
    map_places,
    rebuild,
    rewrite,
    simplify,
    walk,
    walk_expr,
    with_bodies,
    with_statements,
    written_buffers,
)
from tile_ir.analysis import element, regions_of
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.parallel.nest_form import is_parallel
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT)
def flatten_places(func: Func, target: Target) -> Func:
    """Name elements of tensors by the number that their indices are digits of.

    Needs, gives: BUILT. Idea: with rows of N elements, `C[k // N, k % N]` is element k of all rows
    together. It is named as an element of a view that has them in one dimension, so that neighbours
    in a loop are neighbours in memory, and a bound of `k // N` is one of k. Limits: `T.Parallel`
    over tensors whose rows follow each other.
    """
    body = func.launch.body
    nests = tuple(s for s in walk(body) if is_parallel(s))
    if Automatic.STRIDES in func.automatic or not any(map(_has_digits, walk(nests))):
        return func
    flat = _Flat(func, {s.var: s.value for s in walk(body) if isinstance(s, Let)})
    body = flat.statements(body)
    if not flat.views:
        return func
    launch = func.launch
    return replace(func, launch=replace(launch, body=body, allocs=(*launch.allocs, *flat.allocs)))


def _has_digits(stmt: Stmt) -> bool:
    return any(
        isinstance(part, Binary) and part.op == "%"
        for expr in expressions(stmt)
        for part in walk_expr(expr)
    )


@dataclass(eq=False)
class _Flat:
    """The views of a function, and what numbers they are indexed with: each `(k, N, M)` whose
    digits `k // N` and `k % N` were indices of M rows."""

    func: Func
    lets: Mapping[Var, Expr]
    views: dict[tuple[Buffer, tuple[Expr, ...]], Buffer] = field(default_factory=dict)
    allocs: list[Alloc] = field(default_factory=list)
    digits: list[tuple[Expr, Expr, Expr]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = FreeNames.of(self.func)
        launch = self.func.launch
        strange = {b for a in launch.allocs for b in (a.buffer, a.alias_of)}
        nests = [s for s in walk(launch.body) if is_parallel(s)]
        inner = (s for s in walk(tuple(nests)) if isinstance(s, (For, Let)))
        self.inner = frozenset(s.var for s in inner)
        shapes: dict[Buffer, set[tuple[Expr, ...] | None]] = {}
        for buffer, indices in _uses(launch.body, False):
            found = None if indices is None else self.flattened(buffer, indices)
            shapes.setdefault(buffer, set()).add(None if found is None else found[0])
        written = written_buffers(launch.body)
        # What is written has one name only: order between two of them is not known.
        self.tensors = frozenset(
            tensor
            for tensor, found in shapes.items()
            if tensor in self.func.tensors and tensor not in strange
            if tensor not in written or (None not in found and len(found) == 1)
        )

    def statements(self, body: Body) -> Body:
        found: list[Stmt] = []
        for stmt in body:
            if is_parallel(stmt):
                (stmt,) = rewrite((stmt,), lambda s: map_places(s, self.place))
                (stmt,) = rewrite((stmt,), lambda s: map_own_expressions(s, self.bound))
            else:
                stmt = with_bodies(stmt, tuple(self.statements(b) for b in bodies(stmt)))
            found.append(stmt)
        return with_statements(body, found)

    def place(self, region: Region) -> Region | None:
        """An element as one of a view; None where it keeps its own name."""
        tensor, indices = region.buffer, _element(region)
        found = None
        if indices is not None and tensor in self.tensors:
            found = self.flattened(tensor, indices)
        return None if found is None else element(self.view(tensor, found[0]), found[1])

    def flattened(
        self, tensor: Buffer, indices: tuple[Expr, ...]
    ) -> tuple[tuple[Expr, ...], tuple[Expr, ...]] | None:
        """The shape of a view and the indices there; None where no two indices are digits."""
        shape, found = tensor.shape, indices
        at = len(found) - 2
        while at >= 0:
            number = self.number(found[at], found[at + 1], shape[at], shape[at + 1])
            if number is not None:
                found = (*found[:at], number, *found[at + 2 :])
                size = simplify(shape[at] * shape[at + 1])
                shape = (*shape[:at], size, *shape[at + 2 :])
                at = min(at, len(found) - 1)
            at -= 1
        return None if len(found) == len(indices) else (shape, found)

    def number(self, high: Expr, low: Expr, rows: Expr, size: Expr) -> Expr | None:
        """The number that has two indices as its digits, in dimensions of these sizes."""
        low, high = self.digit(low), self.digit(high)
        if not isinstance(low, Binary) or low.op != "%" or not _equal(low.right, size):
            return None
        if self.inner.isdisjoint(walk_expr(low)):
            return None
        number = low.left
        quotient = Binary("//", number, low.right, low.dtype)
        if self.quotient(high) == self.quotient(quotient):
            found = number
        elif (
            isinstance(high, Binary)
            and high.op == "%"
            and _equal(high.right, rows)
            and self.quotient(high.left) == self.quotient(quotient)
        ):
            found = number % simplify(rows * size)
        else:
            return None
        self.digits.append((number, size, rows))
        return found

    def digit(self, e: Expr) -> Expr:
        """A quotient or a rest that has a name; others as they are."""
        value = self.lets.get(e) if isinstance(e, Var) else None
        return value if isinstance(value, Binary) and value.op in ("//", "%") else e

    def quotient(self, e: Expr) -> tuple[Expr, Expr] | None:
        """The dividend and the divisor of a quotient; quotients of quotients are one."""
        e = self.digit(e)
        if not isinstance(e, Binary) or e.op != "//" or (constant_value(e.right) or 1) < 0:
            return None
        inner = self.quotient(e.left)
        return (e.left, e.right) if inner is None else (inner[0], simplify(inner[1] * e.right))

    def bound(self, e: Expr) -> Expr:
        """`k // N < M` as a bound of k, for digits of which k itself is the index."""
        new = rebuild(e, self.bound)
        left = self.digit(new.left) if isinstance(new, Binary) and new.op == "<" else None
        if not isinstance(new, Binary) or not isinstance(left, Binary):
            return new
        divided = self.quotient(left) or (left.left, left.right)
        for number, size, rows in self.digits:
            if divided[0] == number and _equal(divided[1], size):
                if left.op == "%" and _equal(new.right, size):
                    return Const(True)
                if left.op == "//" and _equal(new.right, rows):
                    return number < simplify(rows * size)
        return new

    def view(self, tensor: Buffer, shape: tuple[Expr, ...]) -> Buffer:
        if (tensor, shape) not in self.views:
            name = self.names.fresh(f"{tensor.name}_flat")
            view = Buffer(name, Memory.GM, tensor.dtype, shape, tensor.loc)
            self.views[tensor, shape] = view
            self.allocs.append(Alloc(view, tensor.loc, alias_of=tensor))
        return self.views[tensor, shape]


def _uses(body: Body, in_nest: bool) -> Iterator[tuple[Buffer, tuple[Expr, ...] | None]]:
    """Every read and written buffer, with the indices of single elements in `T.Parallel`."""
    for stmt in body:
        inside = in_nest or is_parallel(stmt)
        for region, *_ in regions_of(stmt):
            yield region.buffer, _element(region) if inside else None
        for inner in bodies(stmt):
            yield from _uses(inner, inside)


def _element(region: Region) -> tuple[Expr, ...] | None:
    """The indices of a region that is one element."""
    single = all(is_constant(s.extent, 1) for s in region.dims)
    return tuple(s.offset for s in region.dims) if single else None


def _equal(a: Expr, b: Expr) -> bool:
    return constant_value(difference(a, b)) == 0
