"""Every invariant of the verifier has a function that breaks it, with the slug and the line."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields
from itertools import pairwise

import pytest

import tile_ir
from tile_ir import IRError
from tile_ir.verification.phases import PHASES, PhaseRule

TEXT = """file 0 "k.py"
func "f" phase PHASE @0:1:1 {{
  tensor $A: float32 [%M, 64] @0:1:1
  scalar %n: int32
  launch blocks(2) %cid %vid threads any @0:1:1 {{
    alloc $u: ub float32 [4, 64] @0:2:1
    alloc $h: ub float16 [4, 64] @0:2:1
    alloc $a: l1 float16 [32, 32] @0:2:1
    alloc $c: l0c float32 [32, 32] @0:2:1
    alloc $q: ub int4 [4, 64] @0:2:1
    alloc $x: var int32 [] @0:2:1
    {}
  }}
}}
"""
WHOLE = "{enable_relu=false, transpose=false, pad_value=none}"

BROKEN = [
    ("built", "let %v: int32 = 1 @0:5:1\n let %v: int32 = 2 @0:6:1", "name-twice", "`v` is defined twice", 6),
    ("built", "for %cid: int32 in serial(0, 2) @0:5:1 {\n}", "name-twice", "`cid` is defined twice", 5),
    ("built", "if %n > 0 @0:5:1 {\n let %v: int32 = 1 @0:6:1\n}\nstore $x[] = %v @0:7:1", "name-unknown",
     "scalar `v` is not defined here", 7),
    ("built", "add($u, $u, $h) @0:5:1", "dtype-mismatch", "src1 `h` is float16, but dst `u` is float32", 5),
    ("built", "add($u, $u, $u[0:+2, 0:+64]) @0:5:1", "shape-mismatch", "[2, 64] = 128 elements", 5),
    ("built", "exp($u, $c) @0:5:1", "operand-memory", "src `c` is in l0c, expected ub", 5),
    ("built", "exp($A, $u) @0:5:1", "operand-memory", "dst `A` is in gm, expected ub", 5),
    ("built", "exp($u, 1.0) @0:5:1", "operand-kind", "src is a scalar", 5),
    ("built", "set_flag($u) {src_pipe=\"v\", dst_pipe=\"s\"} @0:5:1", "operand-kind", "expected a scalar", 5),
    ("built", "exp($u) @0:5:1", "arity", "exp has 2 operands, found 1", 5),
    ("built", "bitwise_not($u, $u) @0:5:1", "operand-dtype", "expected one of int8, uint8, int16, uint16, int32, uint32", 5),
    ("built", 'cast($u, $h, none) {mode="cast_rint"} @0:5:1', "cast-mode", "does not take CAST_RINT", 5),
    ("built", 'cast($h, $h, none) {mode="cast_rint"} @0:5:1', "cast-pair", "no instruction converts", 5),
    ("built", 'cast($u, $h, none) {mode="rint"} @0:5:1', "attribute-value", "mode is 'rint'", 5),
    ("built", "copy($u, $h) {enable_relu=1, transpose=false, pad_value=none} @0:5:1", "attribute-type",
     "enable_relu is 1, expected a Python bool", 5),
    ("built", f"copy($A[0:+4, 0:+64], $c) {WHOLE} @0:5:1", "copy-direction", "no path from gm (`A`) to l0c", 5),
    ("built", f"copy($A[0:+4, 0:+64], $q) {WHOLE} @0:5:1", "dtype-mismatch", "src `A` is float32", 5),
    ("built", f"copy($A[0:+8, 0:+64], $u) {WHOLE} @0:5:1", "shape-mismatch", "but dst `u` has [4, 64]", 5),
    ("built", 'set_flag(16) {src_pipe="v", dst_pipe="mte3"} @0:5:1', "flag-id", "event_id is 16", 5),
    ("built", 'set_flag(0) {src_pipe="v", dst_pipe="v"} @0:5:1', "flag-pair", "v to v is one pipe", 5),
    ("built", 'set_flag(0) {src_pipe="v", dst_pipe="mte1"} @0:5:1', "flag-pair", "no core has a flag", 5),
    ("built", 'wait_cross_flag(16) {pipe=""} @0:5:1', "flag-id", "flag is 16, expected 0 to 15", 5),
    ("built", 'set_cross_flag(0) {pipe="v", mode=4} @0:5:1', "attribute-value", "mode is 4", 5),
    ("built", "reduce_max($u, $u, none) {dim=-1, clear=true} @0:5:1", "shape-mismatch", "gives 4", 5),
    ("built", "reduce_max($u, $u[0:+1, 0:+4], none) {dim=3, clear=true} @0:5:1", "reduce-axis", "dim is 3", 5),
    ("built", 'printf(%n) {fmt="%d %d"} @0:5:1', "printf-format", "has 2 directives, found 1", 5),
    ("built", "store $u[0] = 1.0 @0:5:1", "rank-mismatch", "has 2 dimensions, found 1 indices", 5),
    ("built", "store $u[4, 0] = 1.0 @0:5:1", "index-range", "index 4 is outside dimension 0", 5),
    ("built", "store $c[0, 0] = 1.0 @0:5:1", "scalar-access", "cannot write `c` in l0c", 5),
    ("built", "store $x[] = cast<int32>($c[0, 0]) @0:5:1", "scalar-access", "cannot read `c`", 5),
    ("built", "exp($u[0:+5, 0:+64], $u) @0:5:1", "slice-range", "has 4 elements, but the slice ends at 5", 5),
    ("built", "exp($u[-1:+4, 0:+64], $u) @0:5:1", "slice-range", "starts below zero", 5),
    ("built", "dump_tensor($q, 8) {desc=1} @0:5:1", "operand-dtype", "`q` is int4, expected a type of whole bytes", 5),
    ("built", f"copy($q, $q) {WHOLE} @0:5:1", "operand-dtype", "copies within ub move whole bytes", 5),
    ("built", 'cast($h[0:+4, 0:+33], $q[0:+4, 0:+33], none) {mode="cast_none"} @0:5:1', "odd-elements",
     "33 elements in a row of src `q`", 5),
    ("built", 'cast($q, $h, 7) {mode="cast_rint"} @0:5:1', "odd-elements", "7 elements to convert in dst `q`", 5),
    ("built", "store $q[0, 0] = 1 @0:5:1", "packed-scalar", "elements of `q` have no address", 5),
    ("built", "store $x[] = cast<int32>($q[0, 0]) @0:5:1", "packed-scalar", "no scalars of type int4", 5),
    ("built", "let %v: int32 = cast<int32>(cast<int4>(%n)) @0:5:1", "packed-scalar", "no scalars of type int4", 5),
    ("built", "break @0:5:1", "break-outside", "outside a loop", 5),
    ("built", "section cube @0:4:1 {\n exp($u, $u) @0:5:1\n}", "section-core", "runs on the vector core", 5),
    ("built", "section cube @0:4:1 {\n section cube @0:5:1 {\n }\n}", "section-nested", "inside a scope", 5),
    ("lowered", f"copy($A[0:+4, 0:+64], $u) {WHOLE} @0:5:1", "phase-composite", "copy is not lowered", 5),
    ("lowered", "for %i: int32 in parallel(0, 2) @0:5:1 {\n}", "phase-loop", "a parallel loop is still here", 5),
    ("lowered", 'cast($q[0:+4, 0:+32], $h[0:+4, 0:+32], none) {mode="cast_rint"} @0:5:1', "strided-operand",
     "is not contiguous", 5),
    ("lowered", "exp($u[0:+1, 3:+8], $u[1:+1, 0:+8]) @0:5:1", "operand-alignment", "from byte 12", 5),
    ("lowered", 'cast($q[1:+1, 32:+32], $h[1:+1, 0:+32], none) {mode="cast_rint"} @0:5:1', "operand-alignment",
     "from byte 48", 5),
    ("split", "exp($u, $u) @0:5:1", "phase-section", "exp stands in no section", 5),
    ("planned", "section vector @0:4:1 {\n}", "phase-address", "`u` has no address", 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("phase", "body", "slug", "message", "line"), BROKEN, ids=[f"{b[2]}-{i}" for i, b in enumerate(BROKEN)]
)  # fmt: skip
def test_broken(phase: str, body: str, slug: str, message: str, line: int) -> None:
    func = tile_ir.parse(TEXT.format(body).replace("PHASE", phase))
    with pytest.raises(IRError) as caught:
        tile_ir.verify(func)
    assert caught.value.slug == slug
    assert message in caught.value.message
    assert caught.value.loc is not None and caught.value.loc.line == line


@pytest.mark.parametrize("size", ["nan", "1e400", "64.0:float32"])
def test_sizes_of_tensors_are_integers(size: str) -> None:
    text = TEXT.format("").replace("PHASE", "built").replace("[%M, 64]", f"[%M, {size}]")
    (found,) = tile_ir.verification.verifier.problems(tile_ir.parse(text))
    assert found.slug == "tensor-shape" and found.loc is not None


def test_a_correct_function_passes() -> None:
    tile_ir.verify(tile_ir.parse(TEXT.format("exp($u, $u) @0:5:1").replace("PHASE", "built")))


@pytest.mark.parametrize(
    ("placement", "slug"),
    [("address 8", "address-alignment"), ("address 196608", "address-range"), ("address 64", "")],
)
def test_addresses(placement: str, slug: str) -> None:
    text = TEXT.format("exp($u, $u) @0:5:1").replace("PHASE", "built")
    func = tile_ir.parse(text.replace("[4, 64] @0:2:1", f"[4, 64] {placement} @0:2:1", 1))
    found = [d.slug for d in tile_ir.verification.verifier.problems(func)]
    assert found == ([slug] if slug else [])


@pytest.mark.parametrize(
    ("old", "new", "slug"),
    [
        ("$A: float32 [%M, 64]", "$A: int4 [%M, 64]", ""),
        ("$A: float32 [%M, 64]", "$A: int4 [%M, 63]", "odd-elements"),
        ("l1 float16 [32, 32]", "l1 int4 [32, 32]", ""),
        ("l0c float32 [32, 32]", "l0c int4 [32, 32]", "packed-memory"),
        ("l0c float32 [32, 32]", "bt int4 [32, 32]", "packed-memory"),
        ("var int32 []", "var int4 []", "packed-memory"),
        ("ub int4 [4, 64]", "ub int4 [4, 63]", "odd-elements"),
        ("ub int4 [4, 64]", "ub int4 [4, 64] address 196480", ""),
        ("ub int4 [4, 64]", "ub int4 [4, 64] address 196512", "address-range"),
        ("ub int4 [4, 64]", "ub int4 [4, 512] alias $u", ""),
        ("ub int4 [4, 64]", "ub int4 [4, 514] alias $u", "alias"),
    ],
)
def test_packed_elements(old: str, new: str, slug: str) -> None:
    """Where four-bit elements may lie, and the bytes they take there."""
    text = TEXT.format("exp($u, $u) @0:5:1").replace("PHASE", "built").replace(old, new)
    found = [d.slug for d in tile_ir.verification.verifier.problems(tile_ir.parse(text))]
    assert found == ([slug] if slug else [])


def test_every_field_of_the_phase_table_is_enforced() -> None:
    """Each is read where functions are verified: what nobody asks for guarantees nothing."""
    tree = ast.parse(inspect.getsource(tile_ir.verification.verifier))
    read = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    assert {f.name for f in fields(PhaseRule)} <= read


def test_a_phase_keeps_what_the_ones_before_it_forbid() -> None:
    for before, after in pairwise(PHASES.values()):
        assert after.loop_kinds <= before.loop_kinds
        assert after.addresses_required >= before.addresses_required
        for name in ("composites", "open_memories", "compiler_lanes", "unsectioned"):
            assert getattr(after, name) <= getattr(before, name)
