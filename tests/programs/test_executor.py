"""The executor says what the pages of rules say: each rule by a few lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .executor_buffers import ProgramFault
from .program import Program

HEAD = """import tile_frontend as T

@T.prim_func
def kernel(x: T.Tensor((4, 8, 16), "float32"), y: T.Tensor((4, 16), "float32"), n: T.uint8):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        t = T.alloc_ub((4, 16), "float32")
        if vid == 0:
"""


def ran(*lines: str, n: int = 3) -> tuple[Any, Any, Any]:
    """x, y before and y after."""
    program = Program(HEAD + "".join(f"            {line}\n" for line in lines), {}, {"n": n})
    executor = program.executor()
    arrays = program.arrays(executor.parameters)
    return arrays["x"], arrays["y"], executor.run(arrays, program.numbers).arrays["y"]


def test_a_fixed_index_at_the_end_is_a_stride() -> None:
    x, before, after = ran("T.tile.fill(t, 1.0)", "T.copy(x[:, :, 3], t[:, 0:8])", "T.copy(t, y)")
    assert np.array_equal(after[:, :8], x[:, :, 3])
    assert (after[:, 8:] == 1).all()


def test_what_is_cut_is_padded_inside_the_region_only() -> None:
    lines = (
        "T.tile.fill(t, 1.0)",
        "T.copy(x[0, 6:9, 0:13], t[0:3, 0:13], pad_value=9.0)",
        "T.copy(t, y)",
    )
    x, _, after = ran(*lines)
    assert np.array_equal(after[:2, :13], x[0, 6:8, :13])
    assert (after[2, :13] == 9).all() and (after[3] == 1).all() and (after[:, 13:] == 1).all()


def test_a_start_index_takes_the_extents_of_the_other_side() -> None:
    x, _, after = ran("T.copy(x[1, 5, 0], t)", "T.copy(t, y)")
    assert np.array_equal(after[:3], x[1, 5:]) and (after[3] == 0).all()


def test_only_what_exists_is_stored() -> None:
    _, before, after = ran("T.tile.fill(t, 5.0)", "T.copy(t, y[2, 10])")
    assert (after[2:, 10:] == 5).all() and np.array_equal(after[:2], before[:2])


def test_narrow_integers_do_not_wrap_in_expressions() -> None:
    _, _, after = ran(
        "T.tile.fill(t, 0.0)", "if n * 8 > 300:", "    t[0, 0] = 7", "T.copy(t, y)", n=200
    )
    assert after[0, 0] == 7


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("poisoned-read", "T.copy(t, y)"),
        ("out-of-bounds", "t[0, 16] = 1.0"),
        ("out-of-bounds", "T.copy(y[n + 3, 0:16], t[0, :])"),
        ("shape", "T.copy(x, t)"),
        # Which dimension is cut depends on whether `n - 2` is one.
        ("cut", "u = T.alloc_ub((2, 2, 16), 'float32'); T.copy(x[3, 0, 0], u[0:2, 1:n - 1, 0:16])"),
    ],
)
def test_what_has_no_meaning_is_told(kind: str, line: str) -> None:
    with pytest.raises(ProgramFault) as told:
        ran(line)
    assert told.value.kind == kind


def test_lanes_and_blocks_run_one_after_the_other() -> None:
    text = """import tile_frontend as T

@T.prim_func
def kernel(y: T.Tensor((6, 8), "int32")):
    with T.Kernel(3, is_npu=True) as (cid, vid):
        t = T.alloc_ub((8,), "int32")
        with T.Scope("V"):
            T.tile.fill(t, cid * 10 + vid)
            T.copy(t, y[cid * 2 + vid, :])
"""
    program = Program(text)
    executor = program.executor()
    after = executor.run(program.arrays(executor.parameters), {}).arrays["y"]
    assert after[:, 0].tolist() == [0, 1, 10, 11, 20, 21]


def test_cores_that_write_one_element_have_no_meaning() -> None:
    lines = HEAD.replace("if vid == 0:", "if vid < 2:") + "            T.tile.fill(t, 1.0)\n"
    for last, kind in (("T.copy(t, y)", "race"), ("T.tile.atomic_add(y, t)", "")):
        program = Program(f"{lines}            {last}\n", {}, {"n": 0})
        executor = program.executor()
        try:
            executor.run(program.arrays(executor.parameters), program.numbers)
        except ProgramFault as fault:
            assert fault.kind == kind
        else:
            assert not kind


def test_the_executor_shares_nothing_with_the_compiler() -> None:
    import ast
    from pathlib import Path

    for name in ("executor", "executor_buffers", "executor_operations", "element_types", "program"):
        tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text())
        modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        assert not [m for m in modules if m.startswith("tile_")]
