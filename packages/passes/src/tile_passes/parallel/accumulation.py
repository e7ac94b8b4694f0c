"""Stores that may run for the iterations of a nest in any order though several write one element:
sums and their like, and values that are the same for all."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from tile_ir import (
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Store,
    Var,
    binary,
    children,
    select,
    simplify,
    walk_expr,
)
from tile_ir.analysis import Ranges
from tile_passes.analysis.index_digits import fixed_by
from tile_passes.parallel.accesses import step_of

# Operators whose order over many operands does not matter, but for rounding.
_KINDS = {"+": "+", "-": "+", "*": "*", "min": "min", "max": "max", "&": "&", "|": "|", "^": "^"}


# Operators that an operation on tiles has for many operands, with the value that adds nothing.
_NEUTRAL = {"+": 0.0, "max": -math.inf, "min": math.inf}


def accumulates(store: Store) -> str | None:
    """The operator with which a store adds to the element that it writes, if it does no more."""
    own = Load(store.buffer, store.indices)
    kinds = set(_kinds(store.value, own))
    if None in kinds or len(kinds - {""}) != 1:
        return None
    return next(kind for kind in kinds if kind)


def _kinds(value: Expr, own: Load) -> list[str | None]:
    """The operators around the element, "" where it stands alone; None for any other use."""
    match value:
        case Load() if value == own:
            return [""]
        case Cast(operand=operand, bits=False):
            return _kinds(operand, own)
        case Select(condition=condition, then=a, orelse=b) if not _reads(condition, own):
            return [*_kinds(a, own), *_kinds(b, own)]
        case Binary(op=op, left=a, right=b) if op in _KINDS:
            if _reads(a, own) == _reads(b, own) or (op == "-" and _reads(b, own)):
                return [None]
            inner = _kinds(a if _reads(a, own) else b, own)
            return [_KINDS[op] if kind in ("", _KINDS[op]) else None for kind in inner]
    return [None]


def added_up(store: Store) -> tuple[str, Expr] | None:
    """The operator of a store that adds to the element that it writes, and what it adds."""
    kind = accumulates(store)
    if kind not in _NEUTRAL:
        return None
    neutral = Const(_NEUTRAL[kind], store.buffer.dtype)
    value = _added(store.value, Load(store.buffer, store.indices), kind, neutral)
    return None if value is None else (kind, value)


def _added(value: Expr, own: Load, kind: str, neutral: Expr) -> Expr | None:
    """The operands beside the element as one; None if the element changes its type on the way."""
    match value:
        case Load():
            return neutral
        case Select(condition=condition, then=a, orelse=b):
            one, other = (_added(side, own, kind, neutral) for side in (a, b))
            return None if one is None or other is None else select(condition, one, other)
        case Binary(op=op, left=a, right=b):
            inner, more = (a, b) if _reads(a, own) else (b, a)
            found = _added(inner, own, kind, neutral)
            if found is None:
                return None
            return more if found == neutral and op != "-" else binary(op, found, more)
    return None


def meets_at_an_element(name: str) -> str:
    """The reason why a store is no vector operation where iterations share an element."""
    return (
        f"several iterations write one element of `{name}`; T.reduce_sum, T.reduce_max and the "
        "like combine rows or columns in vectors"
    )


def added_along(store: Store, variables: Sequence[Var]) -> frozenset[Var]:
    """The variables along which a store adds to one element: those that no index has, if each other
    one is counted by an index of its own."""
    counted: set[Var] = set()
    for index in store.indices:
        used = {p for p in walk_expr(index) if isinstance(p, Var) and p in variables}
        alone = len(used) <= 1 and all(step_of(index, var) for var in used)
        if not alone or used & counted or any(isinstance(p, Load) for p in walk_expr(index)):
            return frozenset()
        counted |= used
    return frozenset(variables) - counted


def _reads(e: Expr, own: Load) -> bool:
    return any(isinstance(p, Load) and p.buffer is own.buffer for p in walk_expr(e))


def same_for_all(store: Store, variables: Set[Var]) -> bool:
    """Whether every iteration stores the same value."""
    return not any(isinstance(p, Load) or p in variables for p in walk_expr(store.value))


def same_where_they_meet(
    store: Store, variables: Set[Var], written: Set[Buffer], known: Ranges
) -> bool:
    """Whether iterations that write one element store one value. It follows from the indices, and
    from memory that the nest leaves as it is."""
    fixed = fixed_by(store.indices, known)

    def same(e: Expr) -> bool:
        if simplify(e) in fixed:
            return True
        if e in variables or (isinstance(e, Load) and e.buffer in written):
            return False
        return all(map(same, children(e)))

    return same(store.value)
