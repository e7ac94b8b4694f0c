"""Kernels that never ask which core they are on: equal stores are waste, unequal ones a race."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import Func, KernelWarning
from tile_ir.switches import override
from tile_runtime import SimulationError, compile

F = "float32"


@T.prim_func
def no_vid(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), F)
        with T.Scope("V"):
            T.copy(A, a)
            T.barrier_all()
            T.copy(a, B)  # here


@T.prim_func
def no_cid(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(3, is_npu=True) as (cid, vid):
        a = T.alloc_ub((32,), F)
        with T.Scope("V"):
            T.copy(A[vid * 32], a)
            T.barrier_all()
            T.copy(a, B[vid * 32])  # here


@T.prim_func
def halves_overlap(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((40,), F)
        with T.Scope("V"):
            T.copy(A[vid * 24], a)
            T.barrier_all()
            T.copy(a, B[vid * 24])  # here


@T.prim_func
def in_place(B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), F)
        with T.Scope("V"):
            T.copy(B, a)  # here
            T.barrier_all()
            T.tile.add(a, a, 1.0)
            T.barrier_all()
            T.copy(a, B)


@T.prim_func
def other_values(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), F)
        with T.Scope("V"):
            T.copy(A, a)
            T.barrier_all()
            if vid == 1:
                T.tile.add(a, a, 1.0)
            T.barrier_all()
            T.copy(a, B)  # here


@T.prim_func
def summed(A: T.Tensor((64,), F), B: T.Tensor((64,), F)):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        a = T.alloc_ub((64,), F)
        with T.Scope("V"):
            T.copy(A, a)
            T.barrier_all()
            T.tile.atomic_add(B, a)


LANES = (
    "both vector cores do the same work and store it twice; index by `vid` or write `threads=2`: "
    "twice as fast"
)
BLOCKS = "blocks 0 and 1 do the same work and store it twice; give each block its own part by `cid`"
OWN_PART = "index by `vid`, or guard with `if vid == 0`, or write `threads=2`"
SAME = {
    "no_vid": (no_vid, f"{LANES} (bytes [0, 256) of GM buffer 'B')"),
    "no_cid": (no_cid, f"{BLOCKS} (bytes [0, 128) of GM buffer 'B')"),
    "halves_overlap": (halves_overlap, f"{LANES} (bytes [96, 160) of GM buffer 'B')"),
}


def run(func: Func, check: str, calls: int = 1) -> tuple[Any, list[warnings.WarningMessage]]:
    """The output and the warnings of a run."""
    with override(check=check), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel = compile(func)
        x, y = torch.arange(64, dtype=torch.float32), torch.zeros(64)
        for _ in range(calls):
            kernel(*((x, y) if len(func.params) == 2 else (y,)))
    return y, [w for w in caught if issubclass(w.category, KernelWarning)]


def line_of(path: str, number: int) -> str:
    return Path(path).read_text().splitlines()[number - 1]


@pytest.mark.parametrize("name", SAME)
def test_equal_stores(name: str) -> None:
    func, words = SAME[name]
    y, (warning,) = run(func, "device", calls=3)
    assert torch.equal(y, torch.arange(64, dtype=torch.float32))
    assert str(warning.message) == f"{words} [redundant-store]"
    assert "# here" in line_of(warning.filename, warning.lineno)
    assert not run(func, "off")[1]
    with pytest.raises(SimulationError) as caught:
        run(func, "strict")
    error = caught.value
    assert error.slug == "redundant-store" and error.message.startswith(f"{words} (")
    assert error.loc is not None and "# here" in line_of(error.loc.file, error.loc.line)


@pytest.mark.parametrize("check", ["device", "strict"])
@pytest.mark.parametrize("func", [in_place, other_values])
def test_what_is_wrong_stays_a_race(func: Func, check: str) -> None:
    with pytest.raises(SimulationError) as caught:
        run(func, check)
    error = caught.value
    assert error.slug == "race" and error.hint == OWN_PART
    assert error.loc is not None and "# here" in line_of(error.loc.file, error.loc.line)


@pytest.mark.parametrize("check", ["device", "strict"])
def test_atomic_updates_are_no_redundant_stores(check: str) -> None:
    y, told = run(summed, check)
    assert torch.equal(y, 2 * torch.arange(64, dtype=torch.float32)) and not told
