"""Touched bytes against all elements counted out, for random regions, loops, slots and aliases."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tile_ir import OPS, Buffer, For, Let, Loc, LoopKind, Memory, Op, Region, Slice, Store
from tile_ir.analysis.accesses import touches
from tile_ir.analysis.intervals import Interval
from tile_ir.analysis.regions import apart, ever_meet
from tile_ir.dtypes import FLOAT16, FLOAT32, INT8, INT32, DType
from tile_ir.expr import Const, Expr, Load, Var, select
from tile_ir.interpreter.scalars import evaluate

HERE = Loc("k.py", 1, 1)
K, J, T = Var("k"), Var("j"), Var("t")


def value_of(expr: Expr, values: Mapping[Var, int]) -> int:
    def no_load(load: Load) -> Any:
        raise AssertionError("no loads here")

    return int(evaluate(expr, dict(values), no_load))


def elements(region: Region, values: Mapping[Var, int]) -> Iterator[tuple[int, ...]]:
    along = []
    for s in region.dims:
        start, count = value_of(s.offset, values), value_of(s.extent, values)
        along.append(range(start, start + count * s.stride, s.stride))
    return itertools.product(*along)


def address(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
    found = 0
    for i, size in zip(place, shape, strict=True):
        found = found * size + i
    return found


def region_of(rng: random.Random, memory: Memory, variables: dict[Var, int]) -> Region:
    """A region inside a buffer for every value of the variables below their limits."""
    shape = tuple(rng.choice((1, 2, 3, 8, 16)) for _ in range(rng.randint(1, 3)))
    dims = []
    for size in shape:
        var, limit = rng.choice(list(variables.items()))
        form = rng.randrange(4)
        if form == 0 and limit <= size:
            dims.append(Slice(var, Const(rng.randint(1, size - limit + 1))))
        elif form == 1:
            dims.append(Slice(var % size, Const(1)))
        elif form == 2:
            stride = rng.randint(1, 3)
            start = rng.randrange(size)
            dims.append(Slice(Const(start), Const((size - 1 - start) // stride + 1), stride))
        else:
            start = rng.randrange(size)
            dims.append(Slice(Const(start), Const(rng.randint(1, size - start))))
    buffer = Buffer("b", memory, rng.choice((FLOAT32, FLOAT16)), tuple(map(Const, shape)), HERE)
    return Region(buffer, tuple(dims))


@pytest.mark.parametrize("memory", [Memory.UB, Memory.GM])
def test_hull_holds_every_element(memory: Memory) -> None:
    rng = random.Random(3)
    variables = {K: 3, J: 2}
    known = {v: Interval(0, n - 1) for v, n in variables.items()}
    for _ in range(800):
        region = region_of(rng, memory, variables)
        buffer = region.buffer
        shape = buffer.static_shape()
        assert shape is not None
        start = 0 if memory is Memory.GM else 32 * rng.randrange(9)
        stmt = Op(OPS["fill"], (region, Const(0.0, buffer.dtype)), (), HERE)
        (touch,) = touches(stmt, {buffer: start}, known)
        size, seen = buffer.dtype.size, []
        for values in itertools.product(*map(range, variables.values())):
            for place in elements(region, dict(zip(variables, values, strict=True))):
                seen.append(start + address(place, shape) * size)
        assert touch.low <= min(seen) and max(seen) + size <= touch.high
        if all(isinstance(s.offset, Const) for s in region.dims):
            assert (touch.low, touch.high) == (min(seen), max(seen) + size)


def matrix(memory: Memory, shape: tuple[int, ...], dtype: DType = FLOAT16) -> Buffer:
    return Buffer("m", memory, dtype, tuple(map(Const, shape)), HERE)


def span(region: Region, known: dict[Var, Interval], values: dict[Var, Expr]) -> tuple[Any, Any]:
    opdef = OPS["zero_l0" if region.memory in (Memory.L0A, Memory.L0B) else "clear_l1"]
    (touch,) = touches(Op(opdef, (region,), (), HERE), {region.buffer: 512}, known, values)
    return touch.low - 512, touch.high - 512


def test_slots_are_whole_matrices() -> None:
    b = matrix(Memory.L0A, (2, 3, 20, 16))  # 32 x 16 as stored
    rest = (Slice(Const(0), Const(20)), Slice(Const(0), Const(16)))
    one = Slice(Const(1), Const(1))
    assert span(Region(b, (one, Slice(Const(2), Const(1)), *rest)), {}, {}) == (5 * 1024, 6 * 1024)
    both = Region(b, (Slice(K, Const(1)), one, *rest))
    assert span(both, {K: Interval(0, 1)}, {}) == (1024, 5 * 1024)
    assert span(Region(b, (Slice(K % 2, Const(1)), one, *rest)), {}, {K: T * 2 + 1}) == (4096, 5120)


def test_columns_of_an_l1_matrix_lie_apart() -> None:
    b = matrix(Memory.L1, (40, 64))  # 48 rows as stored
    rows = Slice(Const(3), Const(1))
    assert span(Region(b, (rows, Slice(Const(16), Const(32)))), {}, {}) == (48 * 32, 3 * 48 * 32)
    assert span(Region(b, (rows, Slice(Const(8), Const(1)))), {}, {}) == (0, 48 * 32)
    wide = matrix(Memory.L1, (40, 64), INT8)  # squares of 32
    assert span(Region(wide, (rows, Slice(Const(40), Const(1)))), {}, {}) == (64 * 32, 64 * 64)


def test_definitions_make_slots_constant() -> None:
    b = Buffer("u", Memory.UB, FLOAT32, (Const(2), Const(64)), HERE)
    s = Var("s")
    stmt = Op(
        OPS["fill"],
        (Region(b, (Slice(s, Const(1)), Slice(Const(0), Const(64)))), Const(0.0)),
        (),
        HERE,
    )
    (touch,) = touches(stmt, {b: 0}, {}, {s: K % 2, K: T * 2 + 1})
    assert (touch.low, touch.high) == (256, 512)
    (touch,) = touches(stmt, {b: 0}, {})
    assert (touch.low, touch.high) == (0, 512)


def test_aliases_touch_the_same_bytes() -> None:
    b = Buffer("u", Memory.UB, FLOAT32, (Const(64),), HERE)
    h = Buffer("h", Memory.UB, FLOAT16, (Const(128),), HERE)
    addresses = {b: 64, h: 64}
    one = touches(Op(OPS["fill"], (Region.whole(b), Const(0.0)), (), HERE), addresses, {})
    two = touches(Store(h, (Const(127),), Const(0.0, FLOAT16), HERE), addresses, {})
    assert (two[0].low, two[0].high) == (64 + 254, 64 + 256)
    assert one[0].overlaps(two[0]) and two[0].writes


def test_transfers_move_whole_blocks() -> None:
    b = Buffer("u", Memory.UB, FLOAT16, (Const(4), Const(32)), HERE)
    g = Buffer("g", Memory.GM, FLOAT16, (Const(4), Const(20)), HERE)
    local = Region(b, (Slice(Const(0), Const(4)), Slice(Const(0), Const(20))))
    load = Op(OPS["copy_gm_ub"], (Region.whole(g), local), (0.0,), HERE)
    store = Op(OPS["copy_ub_gm"], (local, Region.whole(g)), (), HERE)
    for op in (load, store):
        found = {t.place: (t.low, t.high, t.writes) for t in touches(op, {b: 0}, {})}
        assert found[Memory.UB] == (0, 3 * 64 + 64, op is load)
        assert found[g] == (0, 4 * 40, op is store)


def test_only_scalar_variables_are_left_out() -> None:
    x = Buffer("x", Memory.VAR, FLOAT32, (), HERE)
    b = Buffer("u", Memory.UB, FLOAT32, (Const(64),), HERE)
    let = Let(Var("v", FLOAT32), Load(x, ()) + Load(b, (Const(3),)), HERE)
    (touch,) = touches(let, {b: 0}, {})
    assert (touch.low, touch.high, touch.writes) == (12, 16, False)
    assert touches(Store(x, (), Const(0.0), HERE), {}, {}) == ()


def test_atomic_is_a_fact_of_the_record() -> None:
    b = Buffer("u", Memory.UB, FLOAT32, (Const(64),), HERE)
    g = Buffer("g", Memory.GM, FLOAT32, (Const(64),), HERE)
    found = touches(
        Op(OPS["atomic_ub_gm"], (Region.whole(b), Region.whole(g)), (), HERE), {b: 0}, {}
    )
    assert [(t.unordered, t.writes) for t in found] == [(False, False), (True, True)]


def offset_of(rng: random.Random, size: int, variables: dict[Var, int]) -> Expr:
    """An offset as kernels compute them."""
    i, j = rng.choice(list(variables)), rng.choice(list(variables))
    a, c = rng.choice((1, 2, 4)), rng.choice((2, 3))
    return rng.choice(
        [Const(rng.randrange(size)), i * a, i * a + j, (i + 1) % c, i % c * a, i // c * a,
         select(i > 0, i * a, j), i // c % 2 * a, i * a + rng.randrange(3), (i * 3 + j) // c * a,
         (i * 3 + j) % c * a]
    )  # fmt: skip


def test_never_apart_where_elements_are_shared() -> None:
    """Two statements in two nested loops, one of which they may share only."""
    rng = random.Random(5)
    outer = For(K, Const(0), Const(3), LoopKind.SERIAL, (), HERE)
    inner = For(J, Const(0), Const(3), LoopKind.SERIAL, (), HERE)
    other = For(T, Const(0), Const(3), LoopKind.SERIAL, (), HERE)
    decided = 0
    for _ in range(2500):
        buffer = Buffer("g", Memory.GM, FLOAT32, (Const(32), Const(32)), HERE)
        shared = rng.random() < 0.6
        second = J if shared else T

        def region(vars_: dict[Var, int], buffer: Buffer = buffer) -> Region:
            return Region(
                buffer,
                tuple(
                    Slice(
                        offset_of(rng, 8, vars_),
                        Const(rng.choice((1, 2, 4))),
                        rng.choice((1, 1, 2)),
                    )
                    for _ in range(2)
                ),
            )

        a = region({K: 3, J: 3})
        b = a if rng.random() < 0.4 and shared else region({K: 3, second: 3})
        path_b = (outer, inner if shared else other)
        once = a is b
        if ever_meet(a, (outer, inner), b, path_b, {}, once):
            continue
        decided += 1
        for i, j, k, m in itertools.product(range(3), repeat=4):
            if once and (i, j) == (k, m):
                continue
            first = set(elements(a, {K: i, J: j}))
            found = first & set(elements(b, {K: k, second: m}))
            assert not found, (a, b, (i, j), (k, m))
    assert decided > 100


def test_tiles_numbered_row_by_row_are_apart() -> None:
    """`t // c` and `t % c`, with tiles no larger than their steps; also of more than two digits."""
    buffer = Buffer("g", Memory.GM, FLOAT32, (Const(512), Const(512), Const(512)), HERE)
    loop = For(K, Const(0), Const(8), LoopKind.SERIAL, (), HERE)
    cid = Var("cid")
    known = {cid: Interval(0, 3)}
    t = Var("tile")
    let = Let(t, K * 4 + cid, HERE)

    def tile(extent: int) -> Region:
        return Region(
            buffer,
            (
                Slice(t % 3 * 16, Const(16)),
                Slice(t // 3 % 5 * 32, Const(extent)),
                Slice(t // 3 // 5 * 64, Const(64)),
            ),
        )

    path = (loop, let)
    assert not ever_meet(tile(32), path, tile(32), path, known, once=True)
    assert ever_meet(tile(33), path, tile(33), path, known, once=True)
    assert apart(tile(32), tile(32), {cid}, {**known, K: Interval(0, 7)}, K, {t: K * 4 + cid})


def test_places_between_the_steps_of_others_are_apart() -> None:
    """Whatever tells the two tiles, lanes take turns within one."""
    buffer = Buffer("g", Memory.GM, FLOAT32, (Const(512),), HERE)
    tile = select(K < J, 7 - K, K) % 4 * 32

    def rows(first: int, extent: int) -> Region:
        return Region(buffer, (Slice(tile + first, Const(extent)),))

    assert apart(rows(0, 16), rows(16, 16), set(), {})
    assert apart(rows(16, 16), rows(0, 16), set(), {})
    assert not apart(rows(0, 17), rows(16, 16), set(), {})
    assert not apart(rows(0, 16), rows(16, 17), set(), {})


def test_what_is_loaded_may_change() -> None:
    rows = Buffer("rows", Memory.GM, INT32, (Const(8),), HERE)
    buffer = Buffer("g", Memory.GM, FLOAT32, (Const(512),), HERE)
    at = Load(rows, (Const(0),))
    first = Region(buffer, (Slice(at, Const(8)),))
    after = Region(buffer, (Slice(at + 8, Const(8)),))
    loop = For(K, Const(0), Const(8), LoopKind.SERIAL, (), HERE)
    assert ever_meet(first, (loop,), after, (loop,), {})
    let = Let(Var("n"), at, HERE)
    first = Region(buffer, (Slice(let.var * 8, Const(8)),))
    after = Region(buffer, (Slice(let.var * 8 + 8, Const(8)),))
    assert not ever_meet(first, (let, loop), after, (let, loop), {})
    assert ever_meet(first, (loop, let), after, (loop, let), {})


@pytest.mark.times
def test_two_thousand_operations_take_little_time() -> None:
    b = Buffer("u", Memory.UB, FLOAT32, (Const(64), Const(64)), HERE)
    ops = []
    for i in range(2000):
        row = Region(b, (Slice(Const(i % 64), Const(1)), Slice(Const(0), Const(64))))
        ops.append(Op(OPS["add"], (row, Region.whole(b), row), (), HERE))
    started = time.process_time()
    for op in ops:
        touches(op, {b: 0}, {})
    again = time.process_time()
    for op in ops:
        touches(op, {b: 0}, {})
    ended = time.process_time()
    assert again - started < 0.2 and ended - again < 0.04  # 35 and 12 ms on an idle machine
