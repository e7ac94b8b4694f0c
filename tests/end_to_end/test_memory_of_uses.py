"""Uses of open buffers, and the memory they lead to: tables of little kernels."""

from __future__ import annotations

import linecache
from itertools import count
from pathlib import Path

import pytest

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Func
from tile_passes import apply_passes

_NUMBER = count()
HEAD = """
@T.prim_func
def k(
    X: T.Tensor((64, 64), "float16"), Y: T.Tensor((64, 64), "float16"),
    F: T.Tensor((64, 64), "float32"), n: T.int32,
):
    with T.Kernel(2, is_npu=True) as (cid, vid):
"""
ALLOCATE = {
    "s": 's = T.alloc_shared((64, 64), "float16")',
    "t": 't = T.alloc_shared((64, 64), "float16")',
    "w": 'w = T.alloc_shared((64, 64), "float32")',
    "v": 'v = T.alloc_shared((64, 64), "float32")',
    "row": 'row = T.alloc_shared((64,), "float32")',
    "index": 'index = T.alloc_shared((64,), "int32")',
    "mask": 'mask = T.alloc_shared((64, 8), "uint8")',
    "hit": 'hit = T.alloc_shared((64, 64), "bool")',
    "bytes": 'bytes = T.alloc_shared((64, 128), "uint8")',
    "f": 'f = T.alloc_fragment((64, 64), "float16")',
    "g": 'g = T.alloc_fragment((64, 64), "float16")',
    "c": 'c = T.alloc_fragment((64, 64), "float32")',
    "d": 'd = T.alloc_fragment((64, 64), "float32")',
    "U": 'U = T.alloc_ub((64, 64), "float16")',
    "L": 'L = T.alloc_L1((64, 64), "float16")',
    "A": 'A = T.alloc_L0A((64, 64), "float16")',
    "B": 'B = T.alloc_L0B((64, 64), "float16")',
    "C": 'C = T.alloc_L0C((64, 64), "float32")',
    "slots": 'slots = T.alloc_shared((2, 64, 64), "float16")',
}


def traced(allocated: str, lines: str, folder: Path) -> Func:
    """A kernel with some of the buffers, and these lines after them."""
    names = allocated.split()
    body = [ALLOCATE[n] for n in names] + lines.strip("\n").split("\n")
    text = HEAD + "".join(f"        {line}\n" for line in body)
    file = folder / f"kernel_{next(_NUMBER)}.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    module: dict[str, object] = {"T": T, "__file__": str(file)}
    exec(compile(text, str(file), "exec"), module)
    func = module["k"]
    assert isinstance(func, Func)
    return func


# What is allocated, what is done, and the memory of each buffer in the order of allocation.
USES = [
    # Vector operations.
    ("s", "T.copy(X, s)\nT.tile.exp(s, s)", "ub"),
    ("s t", "T.tile.add(t, s, s)", "ub ub"),
    ("w row", "T.reduce_sum(w, row, dim=-1)", "ub ub"),
    ("w s", "T.tile.cast(w, s, 'CAST_NONE', 4096)", "ub ub"),
    ("mask w", "T.tile.compare(mask, w, 0.0, 'GT')", "ub ub"),
    ("c", "T.copy(F, c)\nT.tile.exp(c, c)\nT.copy(c, F)", "ub"),
    ("f s", "T.tile.mul(f, s, 2.0)", "ub ub"),
    ("hit", "T.barrier_all()", "ub"),
    ("s", "T.tile.fill(s, 0)", "ub"),
    # Products.
    ("s t c", "T.gemm_v0(s, t, c, init=True)", "l1 l1 l0c"),
    ("s c", "T.gemm_v0(s, s, c, transpose_B=True, init=True)", "l1 l0c"),
    ("f g c", "T.mma(f, g, c, init=True)", "l0a l0b l0c"),
    ("g f c", "T.mma(f, g, c, init=True)", "l0b l0a l0c"),
    ("slots c", "T.gemm_v0(slots[0, :, :], slots[1, :, :], c, init=True)", "l1 l0c"),
    ("L s C", "T.gemm_v0(L, s, C, init=True)", "l1"),
    # Copies to and from tensors.
    ("s", "T.copy(X, s)\nT.copy(s, Y)", "ub"),
    ("s", "T.copy(X, s)", "ub"),
    ("s", "T.copy(s, X)", "ub"),
    ("s", "T.copy(X[0, 0], s, pad_value=1.0)", "ub"),
    ("c", "T.copy(F, c)", "ub"),
    ("c", "T.copy(c, F)", "l0c"),
    ("c", "T.copy(c, Y)", "l0c"),
    ("c", "T.copy(c, F, enable_relu=True)", "l0c"),
    ("c", "T.tile.atomic_add(F, c)", "l0c"),
    ("w", "T.tile.atomic_add(F, w)", "ub"),
    ("c", "for i, j in T.Parallel(64, 64):\n    c[i, j] = 0.0\nT.tile.atomic_add(F, c)", "ub"),
    # Copies between buffers.
    ("s f g c", "T.copy(X, s)\nT.copy(s, f)\nT.copy(s, g)\nT.mma(f, g, c, init=True)", "l1 l0a l0b l0c"),
    ("s A", "T.copy(X, s)\nT.copy(s, A)", "l1"),
    ("s B", "T.copy(s, B, transpose=True)\nT.copy(X, s)", "l1"),
    ("s t", "T.copy(X, s)\nT.copy(s, t)\nT.copy(t, Y)", "ub ub"),
    ("s w", "T.copy(X, s)\nT.copy(s, w)\nT.copy(w, F)", "ub ub"),
    ("s U", "T.copy(U, s)", "ub"),
    ("s U", "T.copy(s, U)", "ub"),
    ("s t c", "T.copy(X, s)\nT.copy(s, t)\nT.gemm_v0(t, t, c, init=True)", "ub l1 l0c"),
    ("t s c", "T.copy(X, s)\nT.copy(s, t)\nT.gemm_v0(t, t, c, init=True)", "l1 ub l0c"),
    ("s t c", "T.tile.exp(s, s)\nT.copy(s, t)\nT.gemm_v0(t, t, c, init=True)", "ub l1 l0c"),
    ("s c w", "T.gemm_v0(s, s, c, init=True)\nT.copy(c, w)", "l1 l0c ub"),
    ("s c t", "T.gemm_v0(s, s, c, init=True)\nT.copy(c, t)\nT.copy(t, Y)", "l1 l0c ub"),
    ("s c d", "T.gemm_v0(s, s, c, init=True)\nT.copy(c, d)\nT.tile.exp(d, d)", "l1 l0c ub"),
    ("s c w v", "T.gemm_v0(s, s, c, init=True)\nT.copy(c, w)\nT.copy(w, v)", "l1 l0c ub ub"),
    # Another name for the bytes.
    ("w bytes", "T.reinterpretcast(bytes, w, 'uint8')\nT.copy(F, w)", "ub ub"),
    ("s", "T.annotate_layout({s: T.make_zn_layout(s)})\nT.copy(X, s)", "l1"),
    # Elements.
    ("s", "T.copy(X, s)\ns[0, 0] = 1.0", "ub"),
    ("index s", "T.copy(X[index[0], :], s[0, :])", "ub ub"),
    ("index", "if index[cid] > 0:\n    T.barrier_all()", "ub"),
    ("index", "for i in T.serial(index[0]):\n    T.barrier_all()", "ub"),
    # T.Parallel.
    ("s", "for i, j in T.Parallel(64, 64):\n    s[i, j] = s[i, j] * 2.0", "ub"),
    ("c", "for i, j in T.Parallel(64, 64):\n    c[i, j] = F[i, j]", "ub"),
    ("c", "for i, j in T.Parallel(64, 64):\n    c[i, j] = 0.0\nT.copy(c, F)", "ub"),
    ("s c", "for i, j in T.Parallel(64, 64):\n    c[i, j] = 0.0\nT.gemm_v0(s, s, c)", "l1 l0c"),
    ("s c", "for i, j in T.Parallel(64, 64):\n    s[i, j] = X[i, j]\nT.gemm_v0(s, s, c, init=True)", "l1 l0c"),
    ("s c", "T.gemm_v0(s, s, c, init=True)\nfor i, j in T.Parallel(64, 64):\n    Y[i, j] = T.cast(c[i, j], 'float16')", "l1 l0c"),
    ("s", "for i, j in T.Parallel(64, 64):\n    s[i, j] = X[i, j]", "ub"),
    ("s", "for i, j in T.Parallel(64, 64):\n    Y[i, j] = s[i, j]", "ub"),
    ("s index", "for i, j in T.Parallel(64, 64):\n    Y[i, j] = s[index[i], j]", "ub ub"),
    ("c d", "for i, j in T.Parallel(64, 64):\n    c[i, j] = d[i, j] + 1.0", "ub ub"),
    ("w row", "for i, j in T.Parallel(64, 64):\n    w[i, j] = w[i, j] - row[i]", "ub ub"),
    # Sections say which core moves a tile.
    ("s", "with T.Scope('C'):\n    T.copy(X, s)", "l1"),
    ("s", "with T.Scope('V'):\n    T.copy(X, s)", "ub"),
    ("c", "with T.Scope('V'):\n    T.copy(c, F)", "ub"),
    ("c", "with T.Scope('C'):\n    T.copy(c, F)", "l0c"),
    # Control flow.
    ("s c", "for k in T.serial(4):\n    T.copy(X, s)\n    if k > 2:\n        T.gemm_v0(s, s, c, init=True)", "l1 l0c"),
    ("s", "while n > 0:\n    T.tile.exp(s, s)", "ub"),
]  # fmt: skip


@pytest.mark.parametrize("case", USES, ids=lambda c: f"{c[0]}-{c[1]}")
def test_memory_of_uses(case: tuple[str, str, str], tmp_path: Path) -> None:
    allocated, lines, memories = case
    func = traced(allocated, lines, tmp_path)
    inferred = apply_passes(func, ["infer_memory"], DEFAULT_TARGET)
    decided = [
        new.buffer.memory.value
        for old, new in zip(func.launch.allocs, inferred.launch.allocs, strict=True)
        if old.buffer.name.islower()
    ]
    assert decided == memories.split()


@pytest.mark.parametrize("case", USES, ids=lambda c: f"{c[0]}-{c[1]}")
def test_the_order_of_statements_does_not_matter(
    case: tuple[str, str, str], tmp_path: Path
) -> None:
    """A fixpoint over all uses knows no first one: the same memories with the text turned round,
    where its lines stand for themselves."""
    allocated, lines, _ = case
    if "    " in lines or " = " in lines or "reinterpretcast" in lines:
        pytest.skip("its lines depend on each other")
    turned = "\n".join(reversed(lines.split("\n")))
    memories = [
        {a.buffer.name: a.buffer.memory for a in result.launch.allocs}
        for text in (lines, turned)
        for result in [
            apply_passes(traced(allocated, text, tmp_path), ["infer_memory"], DEFAULT_TARGET)
        ]
    ]
    assert memories[0] == memories[1]
