"""Prove that flags and barriers suffice, for all trip counts and branches, from the text alone.

`section` proves the order between the pipes of each core by an abstract interpreter. At every
point, for every pipe, the interpreter computes the earlier accesses that may not be complete before
the next operation of that pipe. `block` proves the order between the cores of a block. Both import
nothing of the passes; the order rules are those of docs/hardware/index.md#flags.
"""

from __future__ import annotations

from tile_checkers.block import check_across
from tile_checkers.section import check_section
from tile_ir import DEFAULT_TARGET, Diagnostic, Func, Section, Target


def check_sync(func: Func, target: Target = DEFAULT_TARGET) -> tuple[Diagnostic, ...]:
    """Everything a SYNCED function leaves to chance, in textual order: pairs of accesses that no
    flag or barrier orders, and flags that may be set twice, waited for in vain or left set.

    Empty if it is proven that there is nothing. Works for any function whose buffers have
    addresses.
    """
    found: list[Diagnostic] = []
    for stmt in func.launch.body:
        if isinstance(stmt, Section):
            found += check_section(func, stmt, target)
    found += check_across(func, target)
    return tuple(sorted(found, key=lambda d: (d.loc or func.loc, d.slug, d.message)))


__all__ = ["check_sync"]
