"""Proof of the order and the addresses that the compiler chose; whose mistake a finding is."""

from __future__ import annotations

from collections.abc import Iterable

from tile_ir import Diagnostic, Func, IRError, Phase, Target
from tile_ir.quick_dataclasses import replace
from tile_ir.switches import switch


def wants_proof() -> bool:
    """Whether a kernel that is built or run now has to be proven."""
    return bool(switch("prove")) or switch("check") == "strict"


def prove(traced: Func, lowered: Func, target: Target) -> None:
    """Raises IRError where addresses or an order that the compiler chose are wrong. A function
    that went through passes of its own, or not through all, is run as it is."""
    if traced.phase is lowered.phase or lowered.phase is not Phase.SYNCED:
        return
    from tile_checkers import check_choices

    for finding in check_choices(traced, lowered, target):
        ours = _as_ours(finding)
        raise IRError(ours.slug, ours.message, ours.loc, ours.hint, sources=traced.sources)


def tell_ours(
    findings: Iterable[Diagnostic], traced: Func, lowered: Func, target: Target
) -> list[Diagnostic]:
    """Mark the compiler's own errors among the findings of the checkers, in their order. Add errors
    of its choices that no other checker found."""
    from tile_checkers import check_choices

    chosen = {_key(d): d for d in check_choices(traced, lowered, target)}
    told = [_as_ours(d) if chosen.pop(_key(d), None) else d for d in findings]
    return told + [_as_ours(d) for d in chosen.values()]


def _key(finding: Diagnostic) -> tuple[object, ...]:
    return finding.slug, finding.message, finding.loc


def _as_ours(finding: Diagnostic) -> Diagnostic:
    return replace(
        finding,
        message=f"by the compiler's own choice, {finding.message}",
        hint="this is a bug of the compiler, not of the kernel",
    )
