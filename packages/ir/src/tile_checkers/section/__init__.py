"""Prove the order between the pipes of one core, by an abstract interpreter of its section."""

from __future__ import annotations

from tile_checkers.section.abstract_interpreter import AbstractInterpreter
from tile_ir import Diagnostic, Func, Section, Target
from tile_ir.analysis import Sharing


def check_section(
    func: Func, section: Section, target: Target, sharing: Sharing | None = None
) -> list[Diagnostic]:
    """Return the races inside one core; with `sharing`, only those of the compiler's choices.

    An alarm may come from iterations that the interpreter merges. A second run, which separates the
    iterations of short loops, confirms it; either run alone is a proof.
    """
    alarms = AbstractInterpreter(func, target, sharing, confirming=False).section(section)
    if not alarms:
        return []
    confirmed = AbstractInterpreter(func, target, sharing, confirming=True).section(section)
    return min(alarms, confirmed, key=len)


__all__ = ["check_section"]
