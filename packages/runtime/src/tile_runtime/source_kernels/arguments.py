"""Convert a caller's arguments of a hand-written kernel to cells and memory of the runner."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tile_ir import CallError, did_you_mean
from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.source_kernels.declaration import KernelDeclaration, KernelParameter

# Element types by their code in tile_simulator::DataType; what has none is memory of any type.
_CODES = {
    "int8": 0, "uint8": 1, "bool": 1, "int16": 2, "uint16": 3, "int32": 4, "uint32": 5, "int64": 6,
    "uint64": 7, "float16": 8, "bfloat16": 9, "float32": 10, "float64": 13,
}  # fmt: skip
OTHER = 12

NULL, BUFFER, INTEGER, REAL = range(4)


@dataclass(frozen=True, slots=True)
class ArgumentCell:
    """One argument. `memory` is a flat uint8 array; `target` what is written back after the run;
    `shares` the argument whose memory this is too. `points` is the number of words at the end of
    the memory that are numbers of cells: the run puts their addresses there. A cell that is
    `listed` is no argument of the kernel but one of a list. `fresh` is the bytes of an element of
    an array that holds nothing yet, and 0 of others."""

    name: str
    kind: int
    type: int = OTHER
    number: float = 0
    memory: Any = None
    target: Any = None
    shares: int | None = None
    points: int = 0
    listed: bool = False
    fresh: int = 0


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor; a caller that has one has imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def bind(
    kernel: KernelDeclaration,
    args: Mapping[str, Any] | Sequence[Any],
    unwritten: Collection[str] = (),
) -> list[ArgumentCell]:
    """Cells for the parameters up to the last one given; those behind it take their default.
    `unwritten` names the arrays that hold nothing yet.

    Raises CallError at the parameter that does not fit.
    """
    values = _by_name(kernel, args) if isinstance(args, Mapping) else _in_order(kernel, args)
    given = max((i + 1 for i, p in enumerate(kernel.parameters) if p.name in values), default=0)
    for i, parameter in enumerate(kernel.parameters):
        if parameter.name not in values and (i < given or parameter.default is None):
            behind = " (one behind it is given)" if parameter.default is not None else ""
            raise CallError(
                "kernel-arguments",
                f"{kernel.name}: no argument for `{parameter.type} {parameter.name}`{behind}",
                parameter.loc,
            )
    cells: list[ArgumentCell] = []
    listed: list[ArgumentCell] = []
    for parameter in kernel.parameters[:given]:
        value = values[parameter.name]
        if isinstance(value, (list, tuple)):
            tensors = [_tensor(parameter, i, v) for i, v in enumerate(value)]
            cells.append(_list_cell(parameter, value, given + len(listed)))
            listed += tensors
        else:
            cells.append(_cell(parameter, value))
    cells += listed
    _share(cells, kernel)
    return _with_fresh(cells, unwritten, kernel)


def _with_fresh(
    cells: Sequence[ArgumentCell], unwritten: Collection[str], kernel: KernelDeclaration
) -> list[ArgumentCell]:
    """The cells, those that `unwritten` names as memory that holds nothing. A name may be that of
    a list: all its arrays. A string is one name."""
    fresh: dict[int, int] = {}
    for name in (unwritten,) if isinstance(unwritten, str) else unwritten:
        named = [i for i, c in enumerate(cells) if _is_named(c, name)]
        if not named:
            arrays = [c.name for c in cells if c.target is not None]
            raise CallError(
                "kernel-arguments",
                f"{kernel.name}: `{name}` is said to be unwritten, but no array has this name",
                kernel.loc,
                did_you_mean(name, arrays),
            )
        for i in named:
            owner = cells[i].shares
            fresh[i if owner is None else owner] = _element_bytes(cells[i])
    return [replace(c, fresh=fresh[i]) if i in fresh else c for i, c in enumerate(cells)]


def _is_named(cell: ArgumentCell, name: str) -> bool:
    return cell.target is not None and name in (cell.name, cell.name.partition("[")[0])


def _element_bytes(cell: ArgumentCell) -> int:
    target = cell.target
    return int(target.element_size() if is_tensor(target) else target.dtype.itemsize)


def _tensor(parameter: KernelParameter, index: int, value: Any) -> ArgumentCell:
    """An array of a list, as an argument behind those of the kernel."""
    cell = _cell(parameter, value)
    if cell.kind != BUFFER:
        raise _unfit(parameter, f"a list with a {type(value).__name__}; give arrays")
    return replace(cell, name=f"{parameter.name}[{index}]", listed=True)


def _list_cell(parameter: KernelParameter, tensors: Sequence[Any], first: int) -> ArgumentCell:
    """Arrays as ListTensorDesc reads them: where the pointers begin, a word of rank and index and
    the shape of every tensor, and the pointers; for these the numbers of the cells."""
    shapes = [tuple(getattr(t, "shape", (len(memoryview(t).cast("B")),))) for t in tensors]
    ranks = sorted({len(s) for s in shapes})
    if len(ranks) != 1 or ranks[0] == 0:
        raise _unfit(parameter, f"a list of arrays of {len(ranks)} ranks {ranks}; they need one")
    words: list[int] = []
    for i, shape in enumerate(shapes):
        words += [len(shape) | i << 32, *shape]
    pointers = [first + i for i in range(len(shapes))]
    memory = np.array([8 * (1 + len(words)), *words, *pointers], np.uint64).view(np.uint8)
    return ArgumentCell(parameter.name, BUFFER, memory=memory, points=len(shapes))


def _by_name(kernel: KernelDeclaration, args: Mapping[str, Any]) -> dict[str, Any]:
    names = [p.name for p in kernel.parameters]
    for name in args:
        if name not in names:
            raise CallError(
                "kernel-arguments",
                f"{kernel.name} has no parameter `{name}`: it takes {', '.join(names) or 'none'}",
                kernel.loc,
                did_you_mean(str(name), names),
            )
    return dict(args)


def _in_order(kernel: KernelDeclaration, args: Sequence[Any]) -> dict[str, Any]:
    least = sum(p.default is None for p in kernel.parameters)
    most = len(kernel.parameters)
    if not least <= len(args) <= most:
        expected = str(most) if least == most else f"{least} to {most}"
        raise CallError(
            "kernel-arguments",
            f"{kernel.name} takes {expected} arguments "
            f"({', '.join(p.name for p in kernel.parameters) or 'none'}), but got {len(args)}",
            kernel.loc,
        )
    return dict(zip((p.name for p in kernel.parameters), args, strict=False))


def _cell(parameter: KernelParameter, value: Any) -> ArgumentCell:
    name = parameter.name
    if value is None:
        return ArgumentCell(name, NULL)
    if is_tensor(value):
        import torch

        if value.device.type != "cpu":
            raise _unfit(parameter, f"a tensor on {value.device}; the simulator needs it on cpu")
        type_ = _type(parameter, str(value.dtype).removeprefix("torch."))
        memory = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
        return ArgumentCell(name, BUFFER, type_, memory=memory, target=value)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise _unfit(parameter, "an array of Python objects")
        type_ = OTHER if value.dtype.names or value.dtype.kind == "V" else _type(
            parameter, value.dtype.newbyteorder("=").name
        )  # fmt: skip
        memory = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        return ArgumentCell(name, BUFFER, type_, memory=memory, target=value)
    if isinstance(value, np.void):
        return ArgumentCell(name, BUFFER, memory=np.frombuffer(value.tobytes(), np.uint8))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise _unfit(parameter, f"{value}, which has over 64 bits")
        return ArgumentCell(name, INTEGER, number=int(value))
    if isinstance(value, float):
        return ArgumentCell(name, REAL, number=value)
    try:
        flat = memoryview(value).cast("B")
    except TypeError:
        raise _unfit(
            parameter,
            f"a {type(value).__name__}; give an array, a CPU tensor, a number, bytes or None",
        ) from None
    return ArgumentCell(name, BUFFER, memory=np.frombuffer(bytes(flat), np.uint8))


def _type(parameter: KernelParameter, name: str) -> int:
    if name not in _CODES:
        raise _unfit(parameter, f"an array of {name}, which no kernel can read")
    return _CODES[name]


def _unfit(parameter: KernelParameter, what: str) -> CallError:
    return CallError(
        "kernel-arguments",
        f"`{parameter.type} {parameter.name}` was given {what}",
        parameter.loc,
    )


def _share(cells: list[ArgumentCell], kernel: KernelDeclaration) -> None:
    """Two arguments with the same memory share a buffer, as on a device."""
    arrays = [(i, c) for i, c in enumerate(cells) if c.target is not None]
    for at, (i, cell) in enumerate(arrays):
        for j, other in arrays[:at]:
            if other.shares is not None or not cell.memory.nbytes or not other.memory.nbytes:
                continue
            # Contiguous memory is the caller's own; a copy never overlaps.
            if not np.may_share_memory(cell.memory, other.memory):
                continue
            same = cell.memory.ctypes.data == other.memory.ctypes.data
            if not same or cell.memory.nbytes != other.memory.nbytes:
                raise CallError(
                    "kernel-arguments",
                    f"the memories of `{cell.name}` and `{other.name}` overlap in part",
                    kernel.parameters[min(i, len(kernel.parameters) - 1)].loc,
                    "pass the same array for both, or copies",
                )
            cells[i] = replace(cell, shares=j)
            break
