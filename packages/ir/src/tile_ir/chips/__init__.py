"""Describe every chip: each file lists its descriptions as `CHIPS`.

Add a chip as a file, or as a row of the file that has its cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from tile_ir.switches import switch
from tile_ir.target import Target


def _described() -> Iterator[Target]:
    for file in iter_modules(__path__, f"{__name__}."):
        yield from import_module(file.name).CHIPS


# By family, in the order of their files.
TARGETS: dict[str, Target] = {
    chip.name: chip for chip in sorted(_described(), key=lambda chip: chip.architecture)
}

DEFAULT_TARGET = TARGETS["Ascend910B2"]


def chosen_target() -> Target:
    """The chip of the switch `soc`. A name without a chip gives the default one; the compiler
    reports it."""
    return TARGETS.get(switch("soc"), DEFAULT_TARGET)
