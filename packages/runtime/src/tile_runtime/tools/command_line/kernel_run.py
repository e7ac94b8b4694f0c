"""Running a kernel of a script from the command line: its inputs are given, or made up."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tile_ir import CallError, KernelError, TileError
from tile_ir.switches import override
from tile_runtime.tools.command_line.kernel_argument import (
    add_kernel_arguments,
    parse_arguments,
    read_kernel,
    tell,
)

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel
    from tile_runtime.tools.report.timed_run import TimedRun


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Options for `run_arguments`, and those of a factory."""
    add_kernel_arguments(parser)
    parser.add_argument(
        "--in", action="append", default=[], metavar="NAME=VALUE", dest="in_",
        help="array the kernel of a script reads (default: small random numbers)",
    )  # fmt: skip
    parser.add_argument(
        "--scalar", action="append", default=[], metavar="NAME=VALUE", dest="scalar_",
        help="scalar parameter or symbolic size of the kernel of a script",
    )  # fmt: skip


def made_kernel(name: str, options: argparse.Namespace) -> JITKernel:
    """The kernel object of `script.py:name`, compiled as its script does it; says with which
    options."""
    named = read_kernel(name, parse_arguments(options.arg))
    try:
        kernel = named.make()
    except TileError:
        tell(named)
        raise
    tell(named, kernel.get_kernel_source())
    return kernel


def run_arguments(kernel: JITKernel, options: argparse.Namespace) -> list[Any]:
    """What the kernel is called with, in order. KernelError or CallError for a name it does not
    have and for a value that is missing."""
    from tile_runtime.jit_kernels.tensor_supply import supply_arguments
    from tile_runtime.tools.command_line.array_argument import (
        input_array,
        number_argument,
        split_argument,
    )

    arrays: dict[str, Any] = {}
    for number, text in enumerate(options.in_):
        name, value = split_argument(text)
        array = input_array(name, value, seed=number)
        if isinstance(array, bytes):
            raise CallError("kernel-arguments", f"{name}={value}: a tensor is no file of bytes")
        arrays[name] = array
    numbers = {
        name: number_argument(name, value) for name, value in map(split_argument, options.scalar_)
    }
    return supply_arguments(kernel, arrays, numbers)


def timed_call(kernel: JITKernel, arguments: list[Any]) -> tuple[TimedRun, Any]:
    """One call with the clock of the simulator on, and what it returned.

    Raises KernelError where there is no such clock.
    """
    from tile_runtime.tools.report.timed_run import watch_timed_runs

    seen: list[TimedRun] = []
    with override(time=True), watch_timed_runs(seen.append):
        result = kernel(*arguments)
    if not seen:
        raise KernelError(
            "no-timed-run",
            f"`{kernel.prim_func.name}` did not run on the simulator",
            hint="set TILE_TARGET=sim, and pass tensors that are not empty",
        )
    return seen[-1], result
