"""The order of the statements of a nest (docs/language/index.md#parallel-loops): each runs for all
iterations before the next one, and reads all of its elements before it writes any.

Running the iterations one after another gives the same where none uses an element that another one
writes. Elsewhere the values of the statement are kept in a tile first; what no tile can mend is an
error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import partial, reduce

from tile_ir import (
    Alloc,
    Body,
    Buffer,
    Diagnostic,
    Expr,
    If,
    KernelError,
    Let,
    Memory,
    Stmt,
    Store,
    Var,
    as_expr,
    binary,
    cast,
    map_own_expressions,
    reads_memory,
    substitute,
    unary,
)
from tile_ir.analysis import loop_range
from tile_passes.parallel.accumulation import (
    accumulates,
    added_along,
    added_up,
    same_for_all,
    same_where_they_meet,
)
from tile_passes.parallel.dependence import independent, overlapping, reason_of
from tile_passes.parallel.element_uses import Use, uses_of
from tile_passes.parallel.iteration_order import meeting
from tile_passes.parallel.nest import Keep, Leaf, Unsuitable


def in_statement_order(
    leaves: Sequence[Leaf], allocs: Sequence[Alloc], keep: Keep, own: Set[Buffer] = frozenset()
) -> tuple[list[Leaf], list[Diagnostic]]:
    """The statements of a nest so that each may run for all iterations before the next one. Of
    variables of its `own` an iteration has assigned what it reads.

    Raises KernelError where the result depends on the order of the iterations and no tile mends
    that, and Unsuitable where the iterations have to run one after another.
    """
    shared = overlapping(allocs)
    named = {alloc.buffer for alloc in allocs}
    uses = list(uses_of(leaves))
    variant = {loop.var for use in uses for loop in use.loops}
    changed = {use.buffer for use in uses if use.writes}
    serial: Unsuitable | None = None
    staged: dict[int, Use | None] = {}
    for write in (use for use in uses if use.writes):
        for other in uses:
            if (write.buffer, other.buffer) in shared:
                names = (f"`{use.buffer.name}`" for use in (write, other))
                problem = f"{' and '.join(names)} share bytes"
                found: bool | None = None
            elif write.buffer is not other.buffer or independent(write, other, variant):
                continue
            else:
                if _keeps_a_name(other, named) and other.number < write.number:
                    continue  # `a = x[i]` is the element as it was
                if _adds_up(write, other):
                    continue
                problem = reason_of(write, other)
                found = _order_matters(write, other, variant, changed)
            leaf = write.leaf
            # What a statement reads can be kept in a tile before the first one of it writes.
            mends = other.kept and leaf is other.leaf and other.number <= write.number
            if found and write.buffer in own:
                found, mends = None, False
            if found is False or not mends:
                if found:
                    raise _depends_on_order(write, other)
                if found is None or not _never_meets(write, other):
                    serial = serial or Unsuitable(problem, other.loc)
            elif write.number != other.number or not other.is_target:
                number = leaves.index(leaf)
                staged[number] = staged.get(number) or (other if found else None)
    if serial is not None:
        certain = next((use for use in staged.values() if use is not None), None)
        if certain is not None:
            raise _depends_on_order(certain, certain)
        raise serial
    return _with_kept_values(leaves, staged, keep)


def _with_kept_values(
    leaves: Sequence[Leaf], staged: dict[int, Use | None], keep: Keep
) -> tuple[list[Leaf], list[Diagnostic]]:
    result: list[Leaf] = []
    remarks: list[Diagnostic] = []
    for number, leaf in enumerate(leaves):
        if number not in staged:
            result.append(leaf)
            continue
        use = staged[number]
        try:
            result += _read_first((leaf.stmt,), leaf, (), {}, keep)
        except Unsuitable as problem:
            if use is not None:
                raise _depends_on_order(use, use, problem.reason) from None
            raise Unsuitable(
                "iterations may use elements that others write, and run one after another, as "
                f"{problem.reason}",
                leaf.stmt.loc,
            ) from None
        if use is not None:
            name = use.buffer.name
            remarks.append(
                Diagnostic(
                    "parallel-order",
                    f"this statement of T.Parallel reads elements of `{name}` that other "
                    "iterations write: all elements are read before any is written",
                    use.loc,
                    "read a copy to say so, or use T.serial if an iteration needs what earlier "
                    "ones have written",
                    severity="warning",
                )
            )
    return result, remarks


def _read_first(
    body: Body, leaf: Leaf, conditions: tuple[Expr, ...], names: dict[Var, Expr], keep: Keep
) -> Iterator[Leaf]:
    """Stores in order, each as one to a tile and one from there; conditions are kept as well."""

    def under(stmt: Stmt) -> Leaf:
        if conditions:
            both = reduce(partial(binary, "and"), conditions)
            stmt = If(both, (stmt,), (), stmt.loc)
        return Leaf(leaf.loops, leaf.guards, stmt)

    def cleared(store: Store) -> tuple[Leaf, ...]:
        """The tile has a value where conditions leave it alone: a choice reads that as well."""
        zero = cast(as_expr(0), store.buffer.dtype)
        fill = Store(store.buffer, store.indices, zero, store.loc)
        return (Leaf(leaf.loops, leaf.guards, fill),) if conditions else ()

    for original in body:
        stmt = map_own_expressions(original, partial(substitute, values=names))
        match stmt:
            case Let(var=var, value=value):
                if reads_memory(value):
                    store, value = keep(value, leaf.loops, stmt.loc)
                    yield from (*cleared(store), under(store))
                names = {**names, var: value}
            case Store(buffer=buffer, indices=indices, value=value):
                store, value = keep(cast(value, buffer.dtype), leaf.loops, stmt.loc)
                yield from (*cleared(store), under(store))
                yield under(Store(buffer, indices, value, stmt.loc))
            case If(condition=condition, then=then, orelse=orelse):
                if reads_memory(condition):
                    store, condition = keep(condition, leaf.loops, stmt.loc)
                    yield from (*cleared(store), under(store))
                yield from _read_first(then, leaf, (*conditions, condition), names, keep)
                otherwise = (*conditions, unary("not", condition))
                yield from _read_first(orelse, leaf, otherwise, names, keep)
            case _:
                raise Unsuitable("it holds more than stores to elements", stmt.loc)


def _adds_up(write: Use, other: Use) -> bool:
    """Whether both only add what iterations have to single elements, with one operator."""
    stores = write.store, other.store
    if None in stores or not other.is_target:
        return False
    found = {_adds(s, write.leaf.vars) for s in stores if s is not None}
    return len(found) == 1 and None not in found


def _adds(store: Store, variables: Sequence[Var]) -> str | None:
    found = added_up(store)
    return found[0] if found is not None and added_along(store, variables) else None


def _order_matters(write: Use, other: Use, variant: set[Var], changed: Set[Buffer]) -> bool | None:
    """Whether iterations in another order would give something else; None where that depends on
    values that are not known."""
    a, b = write.store, other.store
    if a is not None and b is not None:
        kind = accumulates(a)
        if kind is not None and kind == accumulates(b) and other.is_target:
            return False
        if other.writes and a.value == b.value and same_for_all(a, variant):
            return False
        known = {loop.var: loop_range(loop, {}) for loop in write.loops}
        if a is b and other.writes and same_where_they_meet(a, variant, changed, known):
            return False
    if _exclude(write.leaf.guards, other.leaf.guards):
        return False
    found = meeting(write, other)
    if found is None:
        return None
    both = write.number == other.number and other.writes
    if both or (write.number < other.number and _on_other_side(write, other)):
        return found.earlier or found.later
    return found.later if write.number < other.number else found.earlier


def _never_meets(write: Use, other: Use) -> bool:
    """Whether the two touch no element in different iterations."""
    if _exclude(write.leaf.guards, other.leaf.guards):
        return True
    found = meeting(write, other)
    return found is not None and not (found.earlier or found.later)


def _on_other_side(write: Use, other: Use) -> bool:
    """Whether the two stand on both sides of a branch, so that no iteration runs both."""
    return write.leaf is other.leaf and _exclude(write.conditions, other.conditions)


def _keeps_a_name(use: Use, named: set[Buffer]) -> bool:
    """Whether a statement keeps the value of a name in a tile of the compiler's."""
    store = use.store
    return store is not None and store.buffer.memory is Memory.UB and store.buffer not in named


def _exclude(guards: Sequence[Expr], others: Sequence[Expr]) -> bool:
    """Whether conditions that are the same for all iterations say so."""
    return any(unary("not", a) == b or unary("not", b) == a for a in guards for b in others)


def _depends_on_order(write: Use, other: Use, reason: str = "") -> KernelError:
    name = other.buffer.name
    what = (
        f"several iterations of T.Parallel write the same element of `{name}`"
        if other.writes
        else f"an iteration of T.Parallel reads an element of `{name}` that another one writes"
    )
    why = f", and no tile can keep it: {reason}" if reason else ""
    return KernelError(
        "parallel-order",
        f"{what}: the result depends on the order of iterations{why}",
        other.loc,
        f"read a copy of `{name}`, put the statements in loops of their own, or use T.serial",
    )
