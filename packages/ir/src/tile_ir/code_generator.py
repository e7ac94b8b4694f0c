"""Define the interface of a code generator.

It is the one seam between a kernel that went through all passes and the text that a device's
compiler reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tile_ir.nodes import Func
from tile_ir.target import Target


class CodeGenerator(Protocol):
    """Sources in one language. A package that has one keeps it as its `CODE_GENERATOR`."""

    @property
    def language(self) -> str:
        """The name of the language in messages, such as "Ascend C"."""

    @property
    def suffix(self) -> str:
        """The end of its files' names, with the dot."""

    @property
    def ai_cores(self) -> frozenset[str]:
        """The AI cores (`Target.ai_core`) it emits for."""

    @property
    def headers(self) -> Path:
        """The folder of the headers that emitted sources include besides the vendor's own."""

    def emit(self, func: Func, target: Target) -> str:
        """The source of a kernel, with the host function that launches it.

        Raises IRError unless the function is SYNCED, KernelError for a chip whose AI cores it does
        not emit for, and for constructs that the language lacks.
        """

    def entry(self, func: Func) -> str:
        """A second source in the same language, for the same library: the function `tile_entry` by
        which a host process starts the kernel with an array of argument addresses."""
