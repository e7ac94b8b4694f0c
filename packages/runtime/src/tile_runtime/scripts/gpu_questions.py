"""Answer the questions of scripts about a GPU by the chip of the run: its cores are the
multiprocessors, and its capability is that of the plainest path."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tile_ir import KernelError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.jit_kernels.compile_options import CompileOptions, resolve_target


def get_num_sms(*device: Any) -> int:
    """How many blocks run at once: the cube cores of the chip."""
    return resolve_target(CompileOptions()).cube_cores


def get_target_compute_version(target: Any = None) -> str:
    """The capability of the plainest path, as `torch.cuda.get_device_capability` has it."""
    return "8.0"


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """The two numbers of a capability."""
    major, _, minor = compute_version.partition(".")
    return int(major), int(minor or 0)


driver = SimpleNamespace(get_num_sms=get_num_sms)
nvcc = SimpleNamespace(
    get_target_compute_version=get_target_compute_version,
    parse_compute_version=parse_compute_version,
)


@dataclass(frozen=True)
class CUDA:
    """The device that tile sizes are recommended for, whatever GPU a script names."""

    target: Any = "cuda"

    @property
    def compute_max_core(self) -> int:
        return get_num_sms()


CDNA = CUDA


class NoRasterization:
    """An order of blocks that a script may choose; the compiler has its own."""


def set_log_level(level: Any) -> None:
    """Accepted; nothing is logged below errors."""


def register_cuda_postproc_callback(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is never called: there is no CUDA source here."""
    return function


def _absent(what: str, hint: str) -> Callable[..., Any]:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise KernelError(
            "no-counterpart", f"{what} has no counterpart on this hardware", hint=hint
        )

    return fail


_FP8 = "8-bit floats need A5; on A2/A3 quantise to int8"
determine_fp8_type = _absent("an 8-bit float", _FP8)
determine_torch_fp8_type = _absent("an 8-bit float", _FP8)


class Analyzer:
    """Counts the work of a kernel for a GPU, which `tile-ascend report` does here."""

    analysis = staticmethod(_absent("tilelang.tools.Analyzer", "tile-ascend report has roofline"))
