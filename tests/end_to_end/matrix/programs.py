"""Cases as a person would write them: the text of one kernel per case, traced from a file."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tile_ir import DType
from tile_ir.dtypes import from_bytes, to_bytes

from ..op_kernels import samples
from .cases import Case, visible
from .forms import RUN_TIME, Form
from .references import REFERENCES

# The buffer that scalar operands are read from, and the element of the first of them.
SCALAR_SHAPE, SCALAR_PLACE = (2, 16), (1, 5)


def _tensors(case: Case) -> list[tuple[str, Form]]:
    """Region operands with the number of their buffer; in place, all share the first."""
    shown = [f for f in case.forms if f is not None]
    return [(f"u{0 if case.in_place else i}", f) for i, f in enumerate(shown)]


def _scalar_text(case: Case, name: str) -> str:
    """How a scalar operand is written."""
    if name == "count":
        return "n" if case.short else str(case.count)
    if case.kind == "parameter":
        return f"s_{name}"
    if case.kind == "element":
        place = list(case.scalars).index(name)
        return f"w[{SCALAR_PLACE[0]}, {SCALAR_PLACE[1] + place}]"
    return repr(case.scalars[name])


def kernel_text(case: Case, name: str) -> str:
    """The kernel: load every operand, fence, operate, fence, store every operand."""
    operands = _tensors(case)
    buffers = {u: f.shape for u, f in operands}
    if case.kind == "element" and case.scalars:
        buffers["w"] = SCALAR_SHAPE
    dtype = f'"{case.dtype}"'
    parameters = [f"X_{u}: T.Tensor({shape}, {dtype})" for u, shape in buffers.items()]
    parameters += [f"{n}: T.int32" for n in RUN_TIME]
    if case.kind == "parameter":
        scalar_type = f"T.{case.dtype}" if case.dtype.is_float else "T.int32"
        parameters += [f"s_{name}: {scalar_type}" for name in case.scalars]
    remaining = iter(operands)
    arguments = []
    for definition, form in zip(visible(case.op), case.forms, strict=True):
        if form is None:
            arguments.append(_scalar_text(case, definition.name))
        else:
            u, f = next(remaining)
            arguments.append(f"{u}{f.subscript}")
    call = f"T.tile.{case.op.name}({', '.join(arguments)})"
    lines = [
        f"def {name}({', '.join(parameters)}):",
        "    with T.Kernel(1, threads=1, is_npu=True) as cid:",
        *(f"        {u} = T.alloc_ub({shape}, {dtype})" for u, shape in buffers.items()),
        '        with T.Scope("V"):',
        *(f"            T.copy(X_{u}, {u})" for u in buffers),
        "            T.barrier_all()",
        f"            {call}",
        "            T.barrier_all()",
        *(f"            T.copy({u}, X_{u})" for u in buffers),
        "",
    ]
    return "\n".join(lines)


def call_line(case: Case) -> int:
    """Lines between `def` and the operation."""
    buffers = len({u for u, _ in _tensors(case)}) + (case.kind == "element" and bool(case.scalars))
    return 4 + 2 * buffers


def load_module(folder: Path, name: str, texts: Sequence[str]) -> Any:
    """A module with these kernels, not yet traced."""
    path = folder / f"{name}.py"
    path.write_text("import tile_frontend as T\n\n" + "\n".join(texts))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(case: Case, seed: int) -> list[Any]:
    """Stored arrays in the order of the parameters, then the scalars."""
    rng = np.random.default_rng(seed)
    shapes = {u: f.shape for u, f in _tensors(case)}
    domain = REFERENCES[case.op.name].domain or (lambda _operand, values: values)
    arrays = [
        to_bytes(domain(i, samples(rng, shape, case.dtype)), case.dtype)
        for i, shape in enumerate(shapes.values())
    ]
    scalars: list[Any] = list(RUN_TIME.values())
    if case.scalars and case.kind == "element":
        w = np.zeros(SCALAR_SHAPE, case.dtype.compute)
        row, column = SCALAR_PLACE
        w[row, column : column + len(case.scalars)] = list(case.scalars.values())
        arrays.append(to_bytes(w, case.dtype))
    elif case.kind == "parameter":
        scalars += case.scalars.values()
    return [*arrays, *scalars]


def operand_values(case: Case, given: Sequence[Any]) -> list[Any]:
    """The values of the operands in the order of the call, flattened, for a reference."""
    numbers = {u: i for i, u in enumerate(dict.fromkeys(u for u, _ in _tensors(case)))}
    remaining = iter(_tensors(case))
    values = []
    for definition, form in zip(visible(case.op), case.forms, strict=True):
        if form is None:
            value = case.scalars.get(definition.name, case.count)
            values.append(_exact(np.asarray(value), case.dtype))
        else:
            u, f = next(remaining)
            stored = given[numbers[u]].reshape(-1)[f.flat_index()[: case.count]]
            values.append(_exact(from_bytes(stored, case.dtype), case.dtype))
    return values


def _exact(values: Any, dtype: DType) -> Any:
    """float64 for floating point, the type itself otherwise."""
    return values.astype(np.float64 if dtype.is_float else dtype.compute)
