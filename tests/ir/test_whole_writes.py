"""What an operation only writes, it writes completely: planning of memory forgets what was there.

Every operation of the texts of the emitter's tests runs twice on the interpreter, with different
bytes where it writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import golden
import numpy as np
import pytest

import tile_ir
from tile_ir import Buffer, Memory, Op
from tile_ir.interpreter import InterpretError, interpret
from tile_ir.interpreter import run as interpreter_run
from tile_ir.opdef import Access, accesses, element_limit, overwriting

FILES = sorted((Path(__file__).parents[1] / "codegen" / "ops").glob("*.tir"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_nothing_is_left_of_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = interpreter_run.Machine
    run = machine.data

    def twice(self: Any, op: Op, core: Any) -> None:
        run(self, op, core)
        touched = accesses(op)
        only = (Access.WRITE, Access.READ_WRITE) if overwriting(op) else (Access.WRITE,)
        read = {r.buffer for r, access in touched if access.reads and access not in only}
        for region, access in touched:
            if access not in only or region.buffer in read:
                continue
            if region.memory is Memory.GM or element_limit(op) is not None:
                continue
            first = self.read(region, core)
            core.storage[region.buffer].elements.view(np.uint8)[:] ^= 0x5A
            run(self, op, core)
            second = self.read(region, core)
            np.testing.assert_array_equal(first, second, err_msg=op.opdef.name)

    monkeypatch.setattr(machine, "data", twice)
    func = tile_ir.parse(golden.read(path).source, path.name)
    rng = np.random.default_rng(0)
    arguments: list[Any] = []
    for param in func.params:
        if isinstance(param, Buffer):
            shape = [getattr(d, "value", 256) for d in param.shape]
            values = rng.integers(0, 3, size=shape)
            arguments.append(values.astype(param.dtype.storage))
        else:
            arguments.append(3)
    try:
        with np.errstate(all="ignore"):
            interpret(func, arguments)
    except (InterpretError, IndexError) as error:
        pytest.skip(f"the values of the text make no sense to it: {error}")
