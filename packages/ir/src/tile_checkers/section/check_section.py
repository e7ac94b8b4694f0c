"""Prove the order inside one core.

An alarm may come from rounds that the abstract interpreter does not
tell apart, and is confirmed with those of short loops apart. Either run alone is a proof."""

from __future__ import annotations

from tile_checkers.section.abstract_interpreter import AbstractInterpreter
from tile_ir import Diagnostic, Func, Section, Target
from tile_ir.analysis import Sharing


def check_section(
    func: Func, section: Section, target: Target, sharing: Sharing | None = None
) -> list[Diagnostic]:
    """What is left to chance inside one core; with `sharing`, by the compiler's choices only."""

    def found(confirming: bool) -> list[Diagnostic]:
        return AbstractInterpreter(func, target, sharing, confirming).section(section)

    alarms = found(confirming=False)
    return min(alarms, found(confirming=True), key=len) if alarms else alarms


__all__ = ["check_section"]
