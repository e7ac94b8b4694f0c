"""Stores that may run for the iterations of a nest in any order though several write one element:
sums and their like, and values that are the same for all."""

from __future__ import annotations

from collections.abc import Set

from tile_ir import (
    Binary,
    Buffer,
    Cast,
    Expr,
    Load,
    Select,
    Store,
    Var,
    children,
    simplify,
    walk_expr,
)
from tile_ir.analysis import Ranges
from tile_passes.analysis.index_digits import fixed_by

# Operators whose order over many operands does not matter, but for rounding.
_KINDS = {"+": "+", "-": "+", "*": "*", "min": "min", "max": "max", "&": "&", "|": "|", "^": "^"}


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
