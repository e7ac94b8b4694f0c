"""`kernel.adapter`: where scripts look for the files of a kernel
(docs/language/index.md#kernel-objects)."""

from __future__ import annotations

import ctypes

from tile_ir.quick_dataclasses import dataclass


@dataclass
class LibraryGenerator:
    """The files of one kernel. Scripts replace `load_lib` to learn where the library is."""

    libpath: str
    srcpath: str

    def compile_lib(self, timeout: float | None = None) -> None:
        """Nothing: a kernel object comes with its library."""

    def get_lib_path(self) -> str:
        return self.libpath

    def get_source_path(self) -> str:
        return self.srcpath

    def load_lib(self, lib_path: str | None = None) -> ctypes.CDLL:
        """Load the library, for scripts that call it without a kernel object."""
        return ctypes.CDLL(lib_path or self.libpath)


@dataclass(frozen=True)
class CythonKernelAdapter:
    """The source of a kernel and the place of its library."""

    lib_generator: LibraryGenerator
    kernel_source: str

    @property
    def libpath(self) -> str:
        return self.lib_generator.libpath

    @property
    def srcpath(self) -> str:
        return self.lib_generator.srcpath

    def get_kernel_source(self) -> str:
        return self.kernel_source
