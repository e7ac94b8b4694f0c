"""Check the compiler's own choices: addresses it gave, flags and barriers it inserted.

The check runs `check_memory` and `check_sync` on the final text and keeps the findings that no
statement of the author causes. It does not judge order that the author wrote.
"""

from __future__ import annotations

from tile_checkers.block import check_across
from tile_checkers.memory import check_memory
from tile_checkers.section import check_section
from tile_ir import (
    DEFAULT_TARGET,
    Automatic,
    Diagnostic,
    Effect,
    Func,
    Op,
    Section,
    Target,
    has_generated,
    walk,
)
from tile_ir.analysis import Sharing

_IN_CORE = frozenset({Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER})
_BETWEEN = frozenset({Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG, Effect.SYNC_ALL})
# What was not followed to its end proves nothing, and an id is as its author wrote it.
_NOT_FOLLOWED = frozenset({"flag-id-unknown", "sync-too-many-states"})
_ID = "event-id"


def check_choices(
    traced: Func, final: Func, target: Target = DEFAULT_TARGET
) -> tuple[Diagnostic, ...]:
    """Report errors of the compiler's choices in a SYNCED function, in textual order; `traced` is
    the function as its author wrote it.

    Addresses: values lost where buffers share bytes, unless the author placed both. Order inside a
    core: all of it where it is automatic; else the races of buffers that share bytes and of
    statements that the compiler generated, if the author's flags are right by themselves. Order
    between cores: where it is automatic and the text had none; what each vector core stores is
    the author's, but with `threads=2`.
    """
    placed = {a.buffer.name for a in traced.launch.allocs if a.address is not None}
    sharing = Sharing.of(final.launch.allocs, placed)
    found = [*check_memory(final, target, sharing)] if sharing.pairs else []
    automatic = Automatic.SYNC in final.automatic
    if automatic or sharing or has_generated(final.launch.body):
        found += _inside(final, None if automatic else sharing, _has(traced, _IN_CORE), target)
    if Automatic.CROSS in final.automatic and not _has(traced, _BETWEEN):
        across = check_across(final, target, lanes_apart=traced.launch.threads != 2)
        found += [d for d in across if d.severity == "error"]
    return tuple(sorted(found, key=lambda d: (d.loc or final.loc, d.slug, d.message)))


def _inside(
    final: Func, sharing: Sharing | None, flags_of_author: bool, target: Target
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for stmt in final.launch.body:
        if isinstance(stmt, Section):
            found += check_section(final, stmt, target, sharing)
    if any(d.slug in _NOT_FOLLOWED for d in found):
        return []
    races = [d for d in found if d.slug == "sync-missing"]
    flags = [d for d in found if d.slug not in ("sync-missing", _ID)]
    if flags_of_author:
        # Whoever's flags are wrong, what rests on them is not known to be.
        return [] if flags else races
    return races + flags


def _has(func: Func, effects: frozenset[Effect]) -> bool:
    return any(isinstance(s, Op) and s.opdef.effect in effects for s in walk(func.launch.body))


__all__ = ["check_choices"]
