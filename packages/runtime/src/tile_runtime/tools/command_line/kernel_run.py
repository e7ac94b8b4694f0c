"""Running a kernel of a script from the command line: its inputs are given, or made up."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from tile_ir import CallError, Diagnostic, KernelError, TileError
from tile_ir.switches import override
from tile_runtime.simulator.simulation_error import SimulationError
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
        help="array the kernel of a script reads (default: random; indices stay in range)",
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
    """Return the arguments of a call, in order. KernelError or CallError for a name it does not
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


def _made_up(kernel: JITKernel, given: Collection[str]) -> list[Diagnostic]:
    """Return the note for a fault with generated integers, which the kernel may use as indices."""
    from tile_runtime.launcher.signature import TensorParam

    made = {*kernel.out_idx, *kernel.workspace_idx}
    declared = kernel.parameters[: len(kernel.prim_func.params)]
    inputs = [p for i, p in enumerate(declared) if i not in made and isinstance(p, TensorParam)]
    names = [p.name for p in inputs if p.dtype.is_integer and p.name not in given]
    if not names:
        return []
    listed = ", ".join(f"`{name}`" for name in names)
    note = f"random numbers stand in {listed}: --in gives nothing there"
    hint = f"give what is an index: --in {names[0]}=i32[64]:arange, or --in {names[0]}=file.npy"
    return [Diagnostic("", note, None, hint, "note")]


def call(kernel: JITKernel, arguments: list[Any], options: argparse.Namespace) -> Any:
    """Call the kernel. A SimulationError lists its generated inputs."""
    try:
        return kernel(*arguments)
    except SimulationError as error:
        given = {text.partition("=")[0] for text in options.in_}
        raise error.with_notes(_made_up(kernel, given)) from None


def timed_call(
    kernel: JITKernel, arguments: list[Any], options: argparse.Namespace
) -> tuple[TimedRun, Any]:
    """One call with the clock of the simulator on, and what it returned.

    Raises KernelError where there is no such clock.
    """
    from tile_runtime.tools.report.timed_run import watch_timed_runs

    seen: list[TimedRun] = []
    with override(time=True), watch_timed_runs(seen.append):
        result = call(kernel, arguments, options)
    if not seen:
        raise KernelError(
            "no-timed-run",
            f"`{kernel.prim_func.name}` did not run on the simulator",
            hint="set TILE_TARGET=sim, and pass tensors that are not empty",
        )
    return seen[-1], result
