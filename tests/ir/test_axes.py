"""The labels of `OpDef.axes`: on a part of a label an operation computes that part of its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import golden
import numpy as np
import pytest

import tile_ir
from tile_ir import OPS, Buffer, Op, Region, Slice
from tile_ir.expr import Const, constant_value
from tile_ir.interpreter import InterpretError, interpret
from tile_ir.interpreter import run as interpreter_run
from tile_ir.opdef import Effect, accesses

FILES = sorted((Path(__file__).parents[1] / "codegen" / "ops").glob("*.tir"))


@pytest.mark.parametrize("name", OPS)
def test_every_operation_declares_its_axes(name: str) -> None:
    assert OPS[name].axes is not None, "say `axes=whole` where parts make no sense"


def parts(op: Op, label: int) -> list[Op] | None:
    """The operation on the first half of a label, and on the rest; None where it has one place."""
    assert op.opdef.axes is not None
    axes = op.opdef.axes(op)
    sizes = {
        constant_value(s.extent)
        for operand, own in zip(op.operands, axes, strict=True)
        if isinstance(operand, Region) and own is not None
        for s, found in zip(operand.dims, own, strict=True)
        if found == label
    }
    size = sizes.pop()
    if sizes or size is None or size < 2:
        return None
    return [_part(op, axes, label, a, b - a) for a, b in ((0, size // 2), (size // 2, size))]


def _part(op: Op, axes: Any, label: int, first: int, count: int) -> Op:
    operands = [
        Region(
            operand.buffer,
            tuple(
                Slice(s.offset + first * s.stride, Const(count), s.stride) if found == label else s
                for s, found in zip(operand.dims, own, strict=True)
            ),
        )
        if isinstance(operand, Region)
        else operand
        for operand, own in zip(op.operands, axes, strict=True)
    ]
    return Op(op.opdef, tuple(operands), op.attrs, op.loc)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_an_operation_is_its_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operation of the texts of the emitter's tests, whole and in two parts by each label."""
    machine = interpreter_run.Machine
    run = machine.data

    def divided(self: Any, op: Op, core: Any) -> None:
        assert op.opdef.axes is not None
        before = {r.buffer: _bytes(self, r.buffer, core).copy() for r, _ in accesses(op)}
        run(self, op, core)
        # What a load writes besides its destination, to whole blocks, is not looked at.
        after = [(r, self.read(r, core)) for r, access in accesses(op) if access.writes]
        labels = {n for own in op.opdef.axes(op) if own for n in own if n is not None}
        for label in labels if op.opdef.effect is Effect.DATA else ():
            made = parts(op, label)
            if made is None or any(op.opdef.axes(m) != op.opdef.axes(op) for m in made):
                continue
            for buffer, values in before.items():
                _bytes(self, buffer, core)[:] = values
            for part in made:
                run(self, part, core)
            for region, values in after:
                found = self.read(region, core)
                np.testing.assert_array_equal(found, values, err_msg=f"{op.opdef.name}: {label}")

    monkeypatch.setattr(machine, "data", divided)
    func = tile_ir.parse(golden.read(path).source, path.name)
    rng = np.random.default_rng(0)
    arguments: list[Any] = []
    for param in func.params:
        if isinstance(param, Buffer):
            shape = [getattr(d, "value", 256) for d in param.shape]
            arguments.append(rng.integers(0, 3, size=shape).astype(param.dtype.storage))
        else:
            arguments.append(3)
    try:
        with np.errstate(all="ignore"):
            interpret(func, arguments)
    except (InterpretError, IndexError) as error:
        pytest.skip(f"the values of the text make no sense to it: {error}")


def _bytes(machine: Any, buffer: Buffer, core: Any) -> Any:
    return core.storage[buffer].elements.view(np.uint8)
