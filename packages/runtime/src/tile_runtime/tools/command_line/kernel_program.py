"""A kernel named on the command line as a program that can be changed and tried."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tile_ir import TileError
from tile_runtime.options.pass_configs import TRIED_CONFIGS
from tile_runtime.tools.command_line.kernel_argument import NamedKernel, read_kernel
from tile_runtime.tuning.advice.placeless_text import placeless_text
from tile_runtime.tuning.advice.possible_changes import possible_changes
from tile_runtime.tuning.advice.program import Change, Program, apply_change

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel


_T = TypeVar("_T")
# What lines of parameters begin with in the text of a function.
_PARAMETERS = ("  tensor ", "  scalar ")


def kernel_program(name: str, arguments: Mapping[str, Any]) -> Program:
    """The program of `script.py:name`."""
    script, _, kernel = name.rpartition(":")
    return Program(script, Path(script).read_text(), kernel, tuple(arguments.items()))


def program_kernel(program: Program) -> JITKernel:
    """The kernel object of a program. Raises what its script raises."""
    return _read(program, lambda named: named.make())


def changes_of(program: Program, likely: Sequence[str]) -> list[Change]:
    """The changes of a program that leave its parameters as they are and make another kernel, those
    of likely kinds first."""
    own = _traced(program)
    if own is None:
        return []
    seen, found = {own[1]}, []
    for change in possible_changes(program, TRIED_CONFIGS):
        traced = _traced(apply_change(program, change))
        if traced is None or traced[0] != own[0] or traced[1] in seen:
            continue
        seen.add(traced[1])
        found.append(change)
    order = {kind: place for place, kind in enumerate(likely)}
    return sorted(found, key=lambda change: order.get(change.kind, len(order)))


@cache
def _traced(program: Program) -> tuple[str, str] | None:
    """The parameters of the kernel, and all that it is made of; None where it is refused."""
    try:
        return _read(program, _described)
    except (TileError, AssertionError, ValueError, TypeError, ArithmeticError, LookupError):
        return None


def _described(named: NamedKernel) -> tuple[str, str]:
    lines = placeless_text(named.func)
    parameters = [line for line in lines if line.startswith(_PARAMETERS)]
    return "\n".join(parameters), "\n".join([*lines, named.told])


def _read(program: Program, use: Callable[[NamedKernel], _T]) -> _T:
    """Apply `use` to the kernel of a program, while the program's text is a file."""
    with tempfile.TemporaryDirectory(prefix="tile-ascend-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / Path(program.script).name
        path.write_text(program.text)
        name = f"{path}:{program.kernel}"
        return use(read_kernel(name, program.given, stands_for=Path(program.script)))
