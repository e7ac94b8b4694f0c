"""Build kernels before a program runs, and link them into C++ by a manifest.

Names and formats are those engines know (docs/use/devices.md). Not here: kernels compiled when
they are called, which is the business of `jit_kernels`.
"""

from tile_runtime.ahead_of_time.kernel_spec import (
    DispatchField,
    KernelSpec,
    TileKernel,
    TilelangKernel,
    register_kernel,
)
from tile_runtime.jit_kernels.kernel_artifact import lower

__all__ = [
    "DispatchField",
    "KernelSpec",
    "TileKernel",
    "TilelangKernel",
    "lower",
    "register_kernel",
]
