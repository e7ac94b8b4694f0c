"""Whether every cross-core flag of a final text is needed: each set and each wait is left out, then
all of one flag, and somebody has to object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fuzz.minimality import Minimality, Removal, without
from tile_ir import OPS, Effect, Func, Op
from tile_ir.expr import Const
from tile_ir.traversal import rewrite, walk

NOBODYS = 9  # the compiler's flags are 0 to 7
CROSS = (Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG)


def cross_minimality(func: Func, noticed: Callable[[Func], bool]) -> Minimality:
    """How many removals are noticed, of flags that anything gets to: what stands behind conditions
    that exclude each other may be missing."""
    reached = [op for op in _flags(func) if noticed(_stuck_at(func, op))]
    singles = [(r, noticed(r.func)) for r in single_removals(func, reached)]
    flags = [(r, noticed(r.func)) for r in flag_removals(func, reached)]
    return Minimality(
        len(singles),
        sum(n for _, n in singles),
        len(flags),
        sum(n for _, n in flags),
        tuple(f"{func.name}: {r.name}" for r, n in (*singles, *flags) if not n)[:20],
    )


def _stuck_at(func: Func, flag: Op) -> Func:
    """The function in which whoever gets to a flag waits for one that nobody sets."""
    nobody = Op(OPS["wait_cross_flag"], (Const(NOBODYS),), ("",), flag.loc)
    return func.with_body(rewrite(func.launch.body, lambda s: nobody if s is flag else s))


def single_removals(func: Func, reached: Sequence[Op]) -> Iterator[Removal]:
    for op in reached:
        yield without(func, (op,))


def flag_removals(func: Func, reached: Sequence[Op]) -> Iterator[Removal]:
    """All sets and waits of one number."""
    by_number: dict[str, list[Op]] = {}
    for op in reached:
        by_number.setdefault(str(op.operand("flag")), []).append(op)
    for ops in by_number.values():
        yield without(func, tuple(ops))


def _flags(func: Func) -> list[Op]:
    return [s for s in walk(func.launch.body) if isinstance(s, Op) and s.opdef.effect in CROSS]
