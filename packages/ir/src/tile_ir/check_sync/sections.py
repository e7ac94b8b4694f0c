"""The proof of one section: an alarm may come from rounds that the abstract interpreter does not
tell apart, and is confirmed with those of short loops apart. Either run alone is a proof."""

from __future__ import annotations

from tile_ir.analysis.shared_bytes import Sharing
from tile_ir.check_sync.abstract_interpreter import AbstractInterpreter
from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.nodes import Func, Section
from tile_ir.target import Target


def check_section(
    func: Func, section: Section, target: Target, sharing: Sharing | None = None
) -> list[Diagnostic]:
    """What is left to chance inside one core; with `sharing`, by the compiler's choices only."""

    def found(confirming: bool) -> list[Diagnostic]:
        return AbstractInterpreter(func, target, sharing, confirming).section(section)

    alarms = found(confirming=False)
    return min(alarms, found(confirming=True), key=len) if alarms else alarms


__all__ = ["check_section"]
