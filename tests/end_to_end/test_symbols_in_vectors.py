"""A symbolic size as an operand in vectors: every operator, on either side, alone or in an expression,
with tiles of every type; compared with NumPy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from kept_cases import kept

import tile_frontend as T
from tile_ir import DTYPES, Automatic, Func
from tile_ir.dtypes import from_bytes, to_bytes

from .kernel_batch import KernelBatch

STRICT = 2
BLOCK, SIZE = 64, 150
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
S = T.symbolic("S")
INTEGERS = ("int32", "int16", "int8", "uint8")
FLOATS = ("float32", "float16", "bfloat16")
Formula = Callable[..., Any]


def least(a: Any, b: Any) -> Any:
    return (
        np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else T.min(a, b)
    )


def most(a: Any, b: Any) -> Any:
    return (
        np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else T.max(a, b)
    )


# Of an element, its place, the block, an expression of the symbol, and what chooses.
BOTH: dict[str, Formula] = {
    "x + e": lambda x, i, c, e, where: x + e,
    "e + x": lambda x, i, c, e, where: e + x,
    "x - e": lambda x, i, c, e, where: x - e,
    "e - x": lambda x, i, c, e, where: e - x,
    "x * e": lambda x, i, c, e, where: x * e,
    "e * x": lambda x, i, c, e, where: e * x,
    "max(x, e)": lambda x, i, c, e, where: most(x, e),
    "min(e, x)": lambda x, i, c, e, where: least(e, x),
    "x < e": lambda x, i, c, e, where: where(x < e, 1, 0),
    "e > x": lambda x, i, c, e, where: where(e > x, x, -x),
    "x == e": lambda x, i, c, e, where: where(x == e, e, 0),
    "e != x": lambda x, i, c, e, where: where(e != x, 0, e),
    "x >= e": lambda x, i, c, e, where: where(x >= e, x, e),
    "e <= x": lambda x, i, c, e, where: where(e <= x, x, e),
    "place < e": lambda x, i, c, e, where: where(c * BLOCK + i < e, x, -1),
    "e > place": lambda x, i, c, e, where: where(e > i, x + 1, x),
    "place <= e - start": lambda x, i, c, e, where: where(i + 1 <= e - c * BLOCK, x, 0),
    "x + (i + e)": lambda x, i, c, e, where: x + (i + e),
    "x + i * e": lambda x, i, c, e, where: x + i * e,
    "fill": lambda x, i, c, e, where: e + x * 0,
    "uniform": lambda x, i, c, e, where: where(e > 20, x + e, x - e),
}
WHOLE: dict[str, Formula] = {
    "x // e": lambda x, i, c, e, where: x // most(e, 1),
    "e // x": lambda x, i, c, e, where: e // (x * x + 1),
    "x % e": lambda x, i, c, e, where: x % most(e, 1),
    "e % x": lambda x, i, c, e, where: e % (x * x + 1),
    "x & e": lambda x, i, c, e, where: x & e,
    "e | x": lambda x, i, c, e, where: e | x,
    "x ^ e": lambda x, i, c, e, where: x ^ e,
    "x << e": lambda x, i, c, e, where: x << (e % 4),
    "x >> e": lambda x, i, c, e, where: x >> (e % 4),
}
REAL: dict[str, Formula] = {"x / e": lambda x, i, c, e, where: x / most(e, 1)}
OF_SYMBOL: dict[str, Callable[..., Any]] = {
    "S": lambda s, c: s,
    "S * 2": lambda s, c: s * 2,
    "S - 1": lambda s, c: s - 1,
    "S // 2": lambda s, c: s // 2,
    "c * 64 + S": lambda s, c: c * BLOCK + s,
    "cast": lambda s, c: T.cast(s, "int32") if s is S else s,
    "cast to int64": lambda s, c: T.cast(s, "int64") if s is S else s,
    "min(S - c * 64, 64)": lambda s, c: T.min(s - c * BLOCK, BLOCK) if s is S else min(s - c * BLOCK, BLOCK),
}  # fmt: skip


def kernel(formula: Formula, of_symbol: Callable[..., Any], dtype: str) -> Func:
    @T.prim_func
    def k(X: T.Tensor((S,), dtype), Y: T.Tensor((S,), dtype)):
        with T.Kernel(T.ceildiv(S, BLOCK), threads=1) as cid:
            x = T.alloc_shared((BLOCK,), dtype)
            T.copy(X[cid * BLOCK], x)
            for i in T.Parallel(BLOCK):
                x[i] = formula(x[i], i, cid, of_symbol(S, cid), T.if_then_else)
            T.copy(x, Y[cid * BLOCK])

    return k


def wanted(formula: Formula, of_symbol: Callable[..., Any], x: Any) -> Any:
    """In types that hold everything."""
    parts = []
    for c in range(-(-SIZE // BLOCK)):
        part = x[c * BLOCK : (c + 1) * BLOCK]
        e = np.asarray(of_symbol(SIZE, c))
        found = formula(part, np.arange(len(part)), c, e, np.where)
        parts.append(np.broadcast_to(found, part.shape))
    return np.concatenate(parts)


CASES = [
    (name, of_symbol, dtype)
    for dtype in (*INTEGERS, *FLOATS)
    for name in (*BOTH, *(REAL if dtype in FLOATS else WHOLE))
    for of_symbol in OF_SYMBOL
]
TOLERANCE = {"float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}


def test_operators_on_elements_and_symbols(tmp_path: Path) -> None:
    batch, rng = KernelBatch(tmp_path), np.random.default_rng(5)
    formulas = {**BOTH, **WHOLE, **REAL}
    listed = []
    for name, of_symbol, dtype in kept(CASES):
        func = kernel(formulas[name], OF_SYMBOL[of_symbol], dtype)
        listed.append((batch.add(func, AUTOMATIC), name, of_symbol, dtype))
    batch.build()
    wrong = []
    for number, name, of_symbol, dtype in listed:
        low = 0 if dtype == "uint8" else -8
        values = rng.integers(low, 9, SIZE)
        values[::7] = 75  # half the size
        kind = DTYPES[dtype]
        x = np.asarray(to_bytes(values.astype(kind.compute), kind))
        outcome = batch.run(number, [x, np.zeros_like(x)], checks=STRICT)
        case = f"{name}, e = {of_symbol}, {dtype}"
        if outcome.error is not None:
            wrong.append(f"{case}: {outcome.error.text}")
            continue
        got = from_bytes(outcome.arrays[1], kind)
        exact = values.astype(np.float64) if dtype in FLOATS else values
        want = wanted(formulas[name], OF_SYMBOL[of_symbol], exact)
        if dtype in FLOATS:
            same = np.isclose(got, want, rtol=TOLERANCE[dtype], atol=0.1 * (dtype == "bfloat16"))
        else:
            same = got == want.astype(np.int64).astype(dtype)
        if not np.all(same):
            at = int(np.flatnonzero(~same)[0])
            wrong.append(f"{case}: x = {values[at]} at {at}: {got[at]} for {want[at]}")
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:30])


def tile_operation(name: str, dtype: str) -> Func:
    operate = TILE_OPERATIONS[name]
    other_tile = ((BLOCK,), dtype) if name == "axpy" else ((BLOCK // 8,), "uint8")

    @T.prim_func
    def k(X: T.Tensor((S, BLOCK), dtype), Y: T.Tensor((S, BLOCK), dtype)):
        with T.Kernel(S, threads=1) as cid:
            x = T.alloc_shared((BLOCK,), dtype)
            other = T.alloc_shared(*other_tile)
            T.copy(X[cid, :], x)
            if name == "axpy":
                T.copy(X[cid, :], other)
            operate(x, other)
            T.copy(x, Y[cid, :])

    return k


@T.macro
def compared(x: Any, m: Any) -> None:
    T.tile.compare(m, x, S, "LT")
    T.tile.select(x, m, x, S - 1, "VSEL_TENSOR_SCALAR_MODE")


@T.macro
def equal(x: Any, m: Any) -> None:
    T.tile.compare(m, x, S - 1, "EQ")


TILE_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, m: T.tile.add(x, x, S),
    "sub": lambda x, m: T.tile.sub(x, x, S - 1),
    "mul": lambda x, m: T.tile.mul(x, x, S * 2),
    "max": lambda x, m: T.tile.max(x, x, S // 2),
    "min": lambda x, m: T.tile.min(x, x, S),
    "fill": lambda x, m: T.tile.fill(x, S),
    "div": lambda x, m: T.tile.div(x, x, S),
    "axpy": lambda x, m: T.tile.axpy(x, m, S),
    "leaky": lambda x, m: T.tile.leaky_relu(x, x, S),
    "left": lambda x, m: T.tile.bitwise_lshift(x, x, S),
    "right": lambda x, m: T.tile.bitwise_rshift(x, x, S - 1),
    "and": lambda x, m: T.tile.bitwise_and(x, x, S),
    "compare": compared,
    "equal": equal,
}
MEANINGS: dict[str, Callable[[Any, int], Any]] = {
    "add": lambda x, s: x + s, "sub": lambda x, s: x - (s - 1), "mul": lambda x, s: x * (2 * s),
    "max": lambda x, s: np.maximum(x, s // 2), "min": np.minimum, "fill": lambda x, s: x * 0 + s,
    "div": lambda x, s: x / s, "axpy": lambda x, s: x + s * x,
    "leaky": lambda x, s: np.where(x >= 0, x, x * s), "left": lambda x, s: x << s,
    "right": lambda x, s: x >> (s - 1), "and": lambda x, s: x & s,
    "compare": lambda x, s: np.where(x < s, x, s - 1), "equal": lambda x, s: x,
}  # fmt: skip
ARITHMETIC = ("add", "sub", "mul", "max", "min", "fill")
TYPES_OF = {
    **dict.fromkeys(ARITHMETIC, ("int32", "int16", "float32", "float16")),
    **dict.fromkeys(("div", "axpy", "leaky", "compare"), ("float32", "float16")),
    **dict.fromkeys(("left", "right"), ("int32", "int16")),
    "and": ("int16",),
    "equal": ("int32", "float32"),
}


def test_tile_operations_with_symbols(tmp_path: Path) -> None:
    batch, rng = KernelBatch(tmp_path), np.random.default_rng(5)
    pairs = [(name, dtype) for name, types in TYPES_OF.items() for dtype in types]
    numbers = [batch.add(tile_operation(*pair), AUTOMATIC) for pair in pairs]
    batch.build()
    for number, (name, dtype) in zip(numbers, pairs, strict=True):
        x = rng.integers(-8, 9, (5, BLOCK)).astype(dtype)
        outcome = batch.run(number, [x, np.zeros_like(x)], checks=STRICT)
        assert outcome.error is None, (name, dtype, outcome.error.text)
        want = MEANINGS[name](x, 5)
        close = np.allclose(outcome.arrays[1], want, rtol=2e-3)
        assert close, (name, dtype, x[0, :4], outcome.arrays[1][0, :4], want[0, :4])
