"""The reference interpreter: memories, flags, co-routines, control flow, undefined programs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tile_ir
from tile_ir.interpreter import InterpretError


def kernel(body: str, *, blocks: str = "1", threads: str = "any", allocs: str = "") -> Any:
    return tile_ir.parse(
        f"""file 0 "k.py"
func "f" phase built @0:1:1 {{
  tensor $A: float32 [%M, 64] @0:1:1
  tensor $N: int32 [8] @0:1:1
  scalar %n: int32
  launch blocks({blocks}) %cid %vid threads {threads} @0:1:1 {{
    alloc $u: ub float32 [64] @0:2:1
    alloc $w: ub int32 [8] @0:2:1
    alloc $a: l1 float16 [16, 16] @0:2:1
    alloc $x: var int32 [] @0:2:1
    {allocs}
    {body}
  }}
}}
"""
    )


def run(func: Any, n: int = 3, rows: int = 4) -> tuple[Any, Any, str]:
    a, numbers = np.zeros((rows, 64), np.float32), np.zeros(8, np.int32)
    return a, numbers, tile_ir.interpret(func, [a, numbers, n])


COPY = "{enable_relu=false, transpose=false, pad_value=none}"


def test_fresh_memory_is_nan() -> None:
    a, _, _ = run(
        kernel(f"section vector @0:3:1 {{\n copy($u, $A[%vid:+1, 0:+64]) {COPY} @0:4:1\n}}")
    )
    assert np.isnan(a[:2]).all() and not a[2:].any()


def test_loops_while_break_and_cells() -> None:
    body = """section vector @0:3:1 {
      store $x[] = 0 @0:4:1
      for %i: int32 in serial(0, %n) @0:4:1 {
        if %i == 5 @0:4:1 {
          break @0:4:1
        }
        store $x[] = $x[] + %i @0:4:1
      }
      while $x[] < 100 @0:4:1 {
        store $x[] = $x[] * 2 + 1 @0:4:1
      }
      store $N[%vid] = $x[] @0:4:1
    }"""
    for n, expected in ((0, 127), (1, 127), (3, 127), (9, 175)):
        _, numbers, _ = run(kernel(body), n)
        assert numbers[:2].tolist() == [expected, expected], n


def test_integers_wrap() -> None:
    body = "section vector @0:3:1 {\n store $N[0] = %n * 65536 * 32768 + 5 @0:4:1\n}"
    _, numbers, _ = run(kernel(body), 2)
    assert numbers[0] == 5


def test_symbols_come_from_shapes() -> None:
    body = "section vector @0:3:1 {\n store $N[%cid] = %M * 10 + %cid @0:4:1\n}"
    _, numbers, _ = run(kernel(body, blocks="%M // 2"), rows=7)
    assert numbers.tolist() == [70, 71, 72, 0, 0, 0, 0, 0]


def test_addresses_alias() -> None:
    allocs = "alloc $p: ub float32 [8] address 64 @0:2:1\n alloc $q: ub int32 [8] address 64 @0:2:1"
    body = """section vector @0:3:1 {
      fill($p, 1.0) @0:4:1
      store $N[0] = $q[0] @0:4:1
    }"""
    _, numbers, _ = run(kernel(body, allocs=allocs))
    assert numbers[0] == np.float32(1.0).view(np.int32)


def test_cube_and_vector_take_turns() -> None:
    """The consumer stands before the producer: only the flags order them."""
    body = """section vector @0:3:1 {
      wait_cross_flag(1) {pipe=""} @0:4:1
      store $N[1 + %vid] = $N[0] + 1 @0:5:1
      set_cross_flag(2) {pipe="mte3", mode=2} @0:5:2
    }
    section cube @0:6:1 {
      store $N[0] = 41 @0:7:1
      set_cross_flag(1) {pipe="fix", mode=2} @0:8:1
      wait_cross_flag(2) {pipe=""} @0:9:1
      store $N[3] = $N[1] + $N[2] @0:10:1
    }"""
    _, numbers, _ = run(kernel(body))
    assert numbers[:4].tolist() == [41, 42, 42, 84]


def test_a_cube_wait_needs_both_lanes() -> None:
    body = """section vector @0:3:1 {
      if %vid == 0 @0:4:1 {
        set_cross_flag(0) {pipe="mte3", mode=2} @0:5:1
      }
    }
    section cube @0:6:1 {
      wait_cross_flag(0) {pipe=""} @0:7:1
    }"""
    with pytest.raises(
        InterpretError, match="no core can go on: block 0 aic waits for cross flag 0"
    ):
        run(kernel(body))
    _, _, _ = run(kernel(body, threads="1"))


def test_lanes_signal_each_other_and_all_cores() -> None:
    body = """section vector @0:3:1 {
      if %vid == 1 @0:4:1 {
        store $N[0] = 7 @0:4:1
      }
      set_cross_flag(MODE) {pipe="mte3", mode=MODE} @0:5:1
      wait_cross_flag(MODE) {pipe=""} @0:6:1
      store $N[1 + %cid * 2 + %vid] = $N[0] @0:7:1
    }"""
    _, numbers, _ = run(kernel(body.replace("MODE", "1")))
    assert numbers[:3].tolist() == [7, 7, 7]
    _, numbers, _ = run(kernel(body.replace("MODE", "0"), blocks="3"))
    assert numbers[1:7].tolist() == [7] * 6


def test_in_text_order_the_lanes_go_through_a_section_together() -> None:
    swap = """section vector @0:3:1 {
      copy($A[1 - %vid:+1, 0:+64], $u) COPY @0:4:1
      copy($u, $A[%vid:+1, 0:+64]) COPY @0:5:1
    }
    section cube @0:6:1 {
      copy($A[0:+16, 0:+16], $f) COPY @0:7:1
    }
    """.replace("COPY", COPY)
    func = kernel(
        f"for %i: int32 in serial(0, 3) @0:2:1 {{\n{swap}\n}}",
        allocs="alloc $f: l1 float32 [16, 16] @0:2:1",
    )
    a = np.repeat(np.arange(16, dtype=np.float32), 64).reshape(16, 64)
    tile_ir.interpret(func, [a, np.zeros(8, np.int32), 0], in_text_order=True)
    assert a[:4, 0].tolist() == [1, 0, 2, 3]


def test_sync_all_waits_for_every_block() -> None:
    body = """store $x[] = 0 @0:2:1
    section vector @0:3:1 {
      if %vid == 0 @0:4:1 {
        store $N[%cid] = %cid + 1 @0:4:1
      }
    }
    sync_all() @0:5:1
    section vector @0:6:1 {
      store $A[%cid, %vid] = cast<float32>($N[0] + $N[1] + $N[2]) @0:7:1
    }"""
    a, _, _ = run(kernel(body, blocks="3"))
    assert (a[:3, :2] == 6).all()


@pytest.mark.parametrize(
    ("body", "slug"),
    [
        ('wait_flag(0) {src_pipe="v", dst_pipe="mte3"} @0:4:1', "flag-wait-without-set"),
        ('set_flag(0) {src_pipe="v", dst_pipe="mte3"} @0:4:1', "flag-left-set"),
        ('set_flag(0) {src_pipe="v", dst_pipe="mte3"} @0:4:1\n' * 2, "flag-set-twice"),
        ("store $u[%n * 30] = 1.0 @0:4:1", "out-of-bounds"),
        (f"copy($u, $A[0:+1, %n * 64:+64]) {COPY} @0:4:1\nstore $N[%n * 3] = 1 @0:5:1", "out-of-bounds"),
        ('for %i: int32 in serial(0, 20) @0:4:1 {\n set_cross_flag(0) {pipe="mte3", mode=1} @0:4:1\n}',
         "flag-overflow"),
    ],
)  # fmt: skip
def test_undefined_programs(body: str, slug: str) -> None:
    with pytest.raises(InterpretError) as caught:
        run(kernel(f"section vector @0:3:1 {{\n{body}\n}}"))
    assert caught.value.slug == slug and caught.value.loc is not None


def test_printing() -> None:
    body = """section vector @0:3:1 {
      fill($u, 2.5) @0:4:1
      if %vid == 0 @0:4:1 {
        printf(%n, $u[3]) {fmt="n=%d u=%f\\n"} @0:5:1
        dump_tensor($u, 2) {desc=9} @0:6:1
      }
    }"""
    assert run(kernel(body))[2] == "n=3 u=2.500000\ndump 9: [2.5, 2.5]\n"


def test_statements_without_a_scope_run_where_their_memory_is() -> None:
    body = f"fill($u, 3.0) @0:4:1\nlet %v: float32 = $u[0] @0:4:1\nif %v > 2.0 @0:5:1 {{\n copy($u, $A[%vid:+1, 0:+64]) {COPY} @0:6:1\n}}"
    a, _, _ = run(kernel(body))
    assert (a[:2] == 3).all()


@pytest.mark.parametrize("first", [0.0, -0.0])
@pytest.mark.parametrize(
    ("statement", "less"),
    [
        ("min($r, $s, $r)", True),
        ("max($r, $s, $r)", False),
        ("reduce_min($s, $r, none) {dim=0, clear=false}", True),
        ("reduce_max($s, $r, none) {dim=0, clear=false}", False),
        ("reduce_min($both, $r, none) {dim=0, clear=true}", True),
        ("reduce_max($both, $r, none) {dim=0, clear=true}", False),
    ],
)
def test_negative_zero_is_below_zero(statement: str, less: bool, first: float) -> None:
    """docs/hardware/units.md#edge-values, in whichever order zeros come."""
    func = kernel(
        f"""fill($s, {first}) @0:3:1
    fill($r, {-first}) @0:3:1
    fill($both[0:+1, 0:+8], {first}) @0:3:1
    fill($both[1:+1, 0:+8], {-first}) @0:3:1
    {statement} @0:4:1
    copy_ub_gm($r, $A[0:+1, 0:+8]) @0:5:1""",
        allocs="alloc $s: ub float32 [1, 8] @0:2:1\nalloc $r: ub float32 [8] @0:2:1\n"
        "alloc $both: ub float32 [2, 8] @0:2:1",
    )
    result = run(func)[0][0, :8]
    assert np.all(np.signbit(result)) == less and not np.any(result)


def test_a_loop_counted_by_a_vector_core_is_not_the_cube_cores() -> None:
    body = f"""section vector @0:3:1 {{
      copy($N, $w) {COPY} @0:3:1
    }}
    for %i: int32 in serial(0, $w[0] + 1) @0:4:1 {{
      section vector @0:5:1 {{
        store $u[%i] = 2.0 @0:5:1
        copy($u[%i:+1], $A[0:+1, %i:+1]) {COPY} @0:5:1
      }}
    }}"""
    a, _, _ = run(kernel(body))
    assert a[0, 0] == 2


def test_a_product_is_added_with_one_rounding() -> None:
    """Sums close to the middle of two float32 numbers, held against fractions."""
    rng = np.random.default_rng(0)
    small = np.float32(2.0**-15) * rng.integers(1, 9, 64).astype(np.float32)
    old = 1 + np.float32(2.0**-23) * rng.integers(0, 8, 64).astype(np.float32)
    x, y = np.float32(2.0**-12) * (1 + small), np.float32(2.0**-12) * (1 - small)
    y[32:] = np.float32(2.0**-12) / (1 - small[32:])
    func = tile_ir.parse(
        """file 0 "k.py"
func "f" phase built @0:1:1 {
  tensor $A: float32 [3, 64] @0:1:1
  launch blocks(1) %cid %vid threads 1 @0:1:1 {
    alloc $x: ub float32 [64] @0:2:1
    alloc $y: ub float32 [64] @0:2:1
    alloc $u: ub float32 [64] @0:2:1
    section vector @0:3:1 {
      copy_gm_ub($A[0:+1, 0:+64], $x) {pad_value=none} @0:4:1
      copy_gm_ub($A[1:+1, 0:+64], $y) {pad_value=none} @0:4:1
      copy_gm_ub($A[2:+1, 0:+64], $u) {pad_value=none} @0:4:1
      mul_add_dst($u, $x, $y) @0:5:1
      copy_ub_gm($u, $A[2:+1, 0:+64]) @0:6:1
    }
  }
}
"""
    )
    a = np.stack([x, y, old])
    tile_ir.interpret(func, [a])
    for p, q, before, found in zip(x, y, old, a[2], strict=True):
        exact = Fraction(float(p)) * Fraction(float(q)) + Fraction(float(before))
        beside = [np.nextafter(found, np.float32(end)) for end in (-9, 9)]
        distance = abs(Fraction(float(found)) - exact)
        assert all(distance < abs(Fraction(float(n)) - exact) for n in beside)
