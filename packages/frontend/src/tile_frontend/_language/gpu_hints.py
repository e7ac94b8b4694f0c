"""Accept hints of scripts for GPUs about threads, registers and layouts.

On a GPU they change time only. Here they have no effect: the compiler divides the work of a block
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn

from tile_frontend._dialects import next_chip_names
from tile_frontend._dialects.gpu_names import GROUP_OF, HINT_OBJECTS, LAYOUTS, NO_EFFECT
from tile_frontend._dialects.name_groups import NameGroup
from tile_frontend._tracing.faults import Fault


class GemmWarpPolicy(IntEnum):
    """How the warps of a GPU divide a product."""

    Square = 0
    FullRow = 1
    FullCol = 2
    Free = 3

    @classmethod
    def from_warp_partition(cls, m_warp: int, n_warp: int) -> GemmWarpPolicy:
        return cls.FullRow if n_warp == 1 else cls.FullCol if m_warp == 1 else cls.Square


class ThreadLayout:
    """An order of elements among threads or banks of a GPU, or another argument of a hint."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.arguments, self.named = arguments, named

    def __call__(self, *arguments: Any, **named: Any) -> ThreadLayout:
        return self

    def __getattr__(self, name: str) -> Callable[..., ThreadLayout]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: self


def _hint(name: str) -> Callable[..., None]:
    def without_effect(*arguments: Any, **named: Any) -> None: ...

    without_effect.__name__ = without_effect.__qualname__ = name
    without_effect.__doc__ = "A hint for another chip, without effect here."
    return without_effect


class GpuName:
    """A name that only kernels for GPUs can use: a Fault wherever it is used."""

    def __init__(self, name: str, group: NameGroup) -> None:
        self.__name__, self._group = name, group
        self.__doc__ = f"Not here: {group.says}."

    def _stop(self) -> NoReturn:
        name, group = self.__name__, self._group
        raise Fault("gpu-name", f"T.{name}: {group.says}", group.write)

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        self._stop()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._stop()

    def __getitem__(self, key: Any) -> NoReturn:
        self._stop()

    def __instancecheck__(self, value: Any) -> NoReturn:
        self._stop()

    def __repr__(self) -> str:
        return f"T.{self.__name__}"


class NextChipName(GpuName):
    """A name that only kernels for the next chip, A5, can use."""

    def _stop(self) -> NoReturn:
        name, group = self.__name__, self._group
        raise Fault("next-chip", f"T.{name}: {group.says}", group.write)


FUNCTIONS: dict[str, Any] = {
    **{name: _hint(name) for name in sorted(NO_EFFECT | next_chip_names.NO_EFFECT)},
    **dict.fromkeys(sorted(HINT_OBJECTS), ThreadLayout()),
    **dict.fromkeys(("Layout", "Fragment", *LAYOUTS), ThreadLayout),
    "GemmWarpPolicy": GemmWarpPolicy,
}
STOPS: dict[str, Any] = {name: GpuName(name, group) for name, group in GROUP_OF.items()}
NEXT_CHIP_STOPS: dict[str, Any] = {
    name: NextChipName(name, group) for name, group in next_chip_names.GROUP_OF.items()
}
