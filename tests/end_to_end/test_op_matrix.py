"""The generated matrix. A fixed tenth runs here; `make matrix` runs all of it.

Every case is written as a script would write it, compiled, run on the simulator and compared with
NumPy, every byte of every operand; a case the compiler refuses must be one it may refuse, at the
line of the operation.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_cases import examples

from tile_ir import OPS, DType
from tile_ir.dtypes import FLOAT16, FLOAT32, INT16

from .matrix.cases import Case, elementwise_cases, elementwise_ops, visible
from .matrix.checking import run_cases
from .matrix.forms import Form, form
from .matrix.references import REFERENCES

WHOLE = os.environ.get("TILE_TEST_MATRIX") == "whole"
CHUNK = 400


def chosen() -> list[Case]:
    """All cases, or every tenth."""
    return list(elementwise_cases())[:: 1 if WHOLE else 10]


CASES = chosen()
CHUNKS = [CASES[i : i + CHUNK] for i in range(0, len(CASES), CHUNK)]


def test_every_operation_has_a_reference() -> None:
    assert {o.name for o in elementwise_ops()} <= set(REFERENCES)


@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda c: c[0].name.replace(" ", "-"))
@pytest.mark.exhaustive
def test_matrix(chunk: list[Case], tmp_path: Path) -> None:
    tally = run_cases(chunk, tmp_path)
    assert not tally.wrong, f"{len(tally.wrong)} of {len(chunk)}:\n" + "\n".join(tally.wrong[:40])
    assert tally.computed + sum(tally.refused.values()) == len(chunk)


@st.composite
def random_forms(draw: st.DrawFn, dtype: DType) -> Form:
    """Any slice of a buffer of one to three dimensions; most start at whole blocks."""
    block = 32 // dtype.size
    rank = draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 4)) for _ in range(rank - 1)]
    shape.append(draw(st.sampled_from([block, 2 * block, 4 * block, block + 1, 3])))
    parts = []
    for i, size in enumerate(shape):
        step = block if i == rank - 1 and draw(st.integers(0, 3)) else 1
        start = draw(st.integers(0, (size - 1) // step)) * step
        stop = draw(st.integers(start + 1, size))
        parts.append(f"{start}:{stop}")
    return form("random", tuple(shape), ", ".join(parts))


def starts_inside_a_block(f: Form, dtype: DType) -> bool:
    """Whether some run of consecutive elements begins off a block of 32 bytes: then the compiler
    may refuse the operand."""
    places = f.flat_index()
    starts = [places[0], *(places[1:][np.diff(places) != 1])]
    rows = places.reshape(-1, f.extents[-1])[:, 0]
    return any(p * dtype.size % 32 for p in (*starts, *rows))


@settings(max_examples=examples(4), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_slices(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever slice is drawn: the result is NumPy's, or the operand starts inside a block."""
    cases = []
    for name, dtype in (("add", FLOAT32), ("exp", FLOAT16), ("bitwise_and", INT16)) * 8:
        f = data.draw(random_forms(dtype))
        if starts_inside_a_block(f, dtype):
            f = replace(f, refused=("operand-alignment", "row-alignment"))
        op = OPS[name]
        cases.append(Case(op, dtype, (f,) * len(visible(op))))
    tally = run_cases(cases, tmp_path_factory.mktemp("slices"))
    assert not tally.wrong, "\n".join(tally.wrong)
