"""Compare the modelled times of kernels with those of the base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tile_ir import Diagnostic
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.jit_kernels.kernel_name import function_of
from tile_runtime.tools.command_line.finding_formats import Found
from tile_runtime.tools.continuous_integration.file_result import KernelTime


@dataclass(frozen=True, slots=True)
class TimeChange:
    """The times of a kernel in the base and now; None where it is not there."""

    before: KernelTime | None
    after: KernelTime | None

    @property
    def shown(self) -> KernelTime:
        """The kernel as it is now, or as it was."""
        found = self.after or self.before
        assert found is not None, "it is in one of them"
        return found

    @property
    def part(self) -> float | None:
        """By what part of its former time the kernel is slower; None without both times."""
        if self.before is None or self.after is None or not self.before.microseconds:
            return None
        return self.after.microseconds / self.before.microseconds - 1

    @property
    def text(self) -> str:
        """The change of the time, in words."""
        part = self.part
        if part is None:
            return "new" if self.before is None else "gone"
        if self.before and self.after and self.before.source == self.after.source:
            return "same source"
        return f"{part:+.1%}" if abs(part) >= 5e-4 else "same time"


def time_changes(before: Iterable[KernelTime], after: Iterable[KernelTime]) -> list[TimeChange]:
    """Pair kernels of one file by name and sizes. Where the arguments of a factory are others, its
    only kernel that has no partner is paired with the only one of the base."""
    old = {(time.kernel, time.sizes): time for time in before}
    pairs = [TimeChange(old.pop((new.kernel, new.sizes), None), new) for new in after]
    lonely = Counter(_function(pair.shown) for pair in pairs if pair.before is None)
    left = {
        function: times[0]
        for function, times in _by_function(old.values()).items()
        if len(times) == 1 and lonely[function] == 1
    }
    paired = [
        TimeChange(left[_function(p.shown)], p.after)
        if p.before is None and _function(p.shown) in left
        else p
        for p in pairs
    ]
    gone = [TimeChange(time, None) for time in old.values() if time not in left.values()]
    return [*paired, *gone]


def slower(changes: Iterable[TimeChange], limit: float) -> list[Found]:
    """A finding at each kernel that became slower by more than a part of its time."""
    return [
        Found(_slower(change, limit))
        for change in changes
        if change.part is not None and change.part > limit
    ]


def _slower(change: TimeChange, limit: float) -> Diagnostic:
    assert change.before and change.after and change.part is not None, "it has both times"
    new, old = change.after.microseconds, change.before.microseconds
    sizes = f" with {change.after.sizes}" if change.after.sizes else ""
    said = (
        f"{change.after.kernel}{sizes} takes {new:.2f} us by the time model, {change.part:.1%} "
        f"more than the {old:.2f} us of the base; the limit is {limit:.1%}"
    )
    hint = "`tile-ascend report --diff OLD NEW` shows where the time went; --slower sets the limit"
    return Diagnostic("slower", said, change.after.loc, hint)


def _function(time: KernelTime) -> tuple[str, str]:
    return function_of(time.kernel), time.sizes


def _by_function(times: Iterable[KernelTime]) -> dict[tuple[str, str], Sequence[KernelTime]]:
    found: dict[tuple[str, str], list[KernelTime]] = {}
    for time in times:
        found.setdefault(_function(time), []).append(time)
    return dict(found)
