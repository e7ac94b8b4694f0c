"""`parse(print(f)) == f`, on generated functions and on every golden file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept_number
from structural_equality import structurally_equal

import tile_ir
from tile_ir import (
    DTYPES,
    OPS,
    Alloc,
    Break,
    Buffer,
    Core,
    For,
    Func,
    If,
    IRError,
    Launch,
    Layout,
    Let,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
    Store,
    While,
)
from tile_ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, Var, as_expr, binary, unary
from tile_ir.nodes import Body

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "path", sorted(TESTS.glob("**/*.tir")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_golden_files(path: Path) -> None:
    if "verify" in path.parts:
        pytest.skip("files that must be rejected have their own test")
    source, _, expected = path.read_text().partition("# ---- expected\n")
    for text in [source, *([expected] if expected.startswith("file ") else [])]:
        func = tile_ir.parse(text, str(path))
        again = tile_ir.print_func(func)
        assert structurally_equal(func, tile_ir.parse(again))
        assert tile_ir.print_func(tile_ir.parse(again)) == again


LOCS = st.builds(Loc, st.sampled_from(["a.py", 'odd "name".py']), st.integers(1, 99), st.just(3))
HERE = Loc("a.py", 1, 1)
UB = Buffer("u", Memory.UB, DTYPES["float16"], (as_expr(4), as_expr(64)), HERE)
GM = Buffer("g", Memory.GM, DTYPES["float16"], (Var("M"), as_expr(64)), HERE)
CELL = Buffer("cell", Memory.VAR, DTYPES["int32"], (), HERE)
CID, VID, EPS = Var("cid"), Var("vid"), Var("eps", DTYPES["float32"])


def _of_integers(parts: tuple[str, Expr, Expr]) -> Expr:
    """`left op right`, where bitwise operators get integers."""
    op, a, b = parts
    if op in ("<<", ">>", "&", "^", "|"):
        return Binary(op, Cast(a, DTYPES["int32"]), Cast(b, DTYPES["int32"]), DTYPES["int32"])
    return binary(op, a, b)


def scalars(names: tuple[Var, ...]) -> st.SearchStrategy[Expr]:
    numbers = st.one_of(
        st.integers(-(1 << 31), (1 << 31) - 1).map(as_expr),
        st.floats(allow_nan=False, width=32).map(lambda x: Const(x, DTYPES["float32"])),
        st.sampled_from([Const(7, DTYPES["int64"]), Const(True, DTYPES["bool"])]),
        st.sampled_from([Const(1.5, DTYPES["float16"]), Const(float("-inf"), DTYPES["bfloat16"])]),
    )
    leaves = st.one_of(
        st.sampled_from([*names, CID, VID, EPS]),
        numbers,
        st.just(Load(CELL, ())),
    )

    def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        arithmetic = st.sampled_from(
            ["+", "-", "*", "min", "max", "<", ">=", "==", "and", "or", "<<", ">>", "&", "^", "|"]
        )
        return st.one_of(
            st.tuples(arithmetic, inner, inner).map(_of_integers),
            inner.map(lambda e: Unary("-", e, e.dtype) if not isinstance(e, Const) else e),
            inner.map(lambda e: unary("not", e)),
            inner.map(lambda e: Cast(e, DTYPES["int32"], False)),
            st.tuples(inner, inner).map(lambda t: Select(t[0], t[1], t[1], t[1].dtype)),
            inner.map(lambda e: Load(UB, (as_expr(0), Cast(e, DTYPES["int32"])))),
        )

    return st.recursive(leaves, extend, max_leaves=6)


@st.composite
def bodies(draw: st.DrawFn, names: tuple[Var, ...], depth: int) -> Body:
    result: list[object] = []
    for number in range(draw(st.integers(0, 3))):
        loc = draw(LOCS)
        value = draw(scalars(names))
        fresh = Var(f"v{len(names)}_{number}_{depth}", value.dtype)
        kind = draw(st.integers(0, 7 if depth else 3))
        if kind == 0:
            result.append(Let(fresh, value, loc))
            names = (*names, fresh)
        elif kind == 1:
            result.append(Store(CELL, (), value, loc))
        elif kind == 2:
            whole = Region.whole(UB)
            result.append(Op(OPS["add"], (whole, whole, value), (), loc))
        elif kind == 3:
            part = Region(UB, (Slice(CID, as_expr(1)), Slice(as_expr(0), as_expr(16), 2)))
            gm = Region(GM, (Slice(CID, as_expr(1)), Slice(as_expr(0), as_expr(32))))
            result.append(Op(OPS["copy"], (gm, part), (False, False, -1.5), loc))
        elif kind == 4:
            loop = draw(st.sampled_from(list(LoopKind)))
            counter = Var(fresh.name)
            inner = draw(bodies((*names, counter), depth - 1))
            result.append(
                For(counter, as_expr(0), VID + 3, loop, inner, loc, draw(st.integers(0, 2)))
            )
        elif kind == 5:
            inner = draw(bodies(names, depth - 1))
            result.append(While(value, (*inner, Break(loc)), loc))
        elif kind == 6:
            then, orelse = draw(bodies(names, depth - 1)), draw(bodies(names, depth - 1))
            result.append(If(value, then, orelse, loc, draw(st.booleans())))
        else:
            core = draw(st.sampled_from([Core.CUBE, Core.VECTOR]))
            result.append(Section(core, draw(bodies(names, depth - 1)), loc))
    return tuple(result)  # type: ignore[arg-type]


@settings(max_examples=examples(kept_number(150)))
@given(st.data())
@pytest.mark.exhaustive
def test_generated_functions(data: st.DataObject) -> None:
    body = data.draw(bodies((), 2))
    allocs = (Alloc(UB, HERE, 64, Layout.NZ, True), Alloc(CELL, HERE))
    launch = Launch(as_expr(4), CID, VID, None, allocs, body, HERE)
    func = Func("f", (GM, EPS), launch, Phase.BUILT, HERE)
    text = tile_ir.print_func(func)
    again = tile_ir.parse(text)
    assert tile_ir.print_func(again) == text
    assert structurally_equal(func, again), text


GOOD = """file 0 "k.py"
func "f" phase built @0:1:1 {
  launch blocks(1) %cid %vid threads any @0:1:1 {
    alloc $u: ub float32 [64] @0:2:1
    exp($u, $u) @0:3:1
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "slug", "message", "line", "column"),
    [
        ("exp(", "exq(", "unknown-op", "unknown operation `exq`", 5, 5),
        ("$u, $u", "$u, $w", "ir-name", "unknown buffer `w`", 5, 13),
        ("float32", "floot32", "ir-word", "unknown type `floot32`", 4, 18),
        (" ub ", " ux ", "ir-word", "unknown memory `ux`", 4, 15),
        ("@0:3:1", "@1:3:1", "ir-file", "file 1 is not declared", 5, 17),
        ("built", "bilt", "ir-word", "unknown phase `bilt`", 2, 16),
        ("exp($u, $u)", "exp($u $u)", "ir-syntax", "cannot read the ir here", 5, 12),
        ("exp($u, $u)", "exp($u, %n)", "ir-name", "unknown scalar `n`", 5, 13),
        ("exp($u, $u)", "exp($u, $u) {a=1}", "unknown-attribute", "has no attribute `a`", 5, 18),
        ("exp($u, $u)", "exp($u, $u[0:+1, 0:+1])", "ir-rank", "`u` has rank 1", 5, 13),
        ("alloc $u", "alloc $u: ub float32 [64] @0:2:1\n    alloc $u", "ir-name",
         "buffer `u` is declared twice", 5, 11),
    ],
)  # fmt: skip
def test_unreadable_text(
    old: str, new: str, slug: str, message: str, line: int, column: int
) -> None:
    with pytest.raises(IRError) as caught:
        tile_ir.parse(GOOD.replace(old, new, 1), "k.tir")
    error = caught.value
    assert (error.slug, error.loc) == (slug, Loc("k.tir", line, column))
    assert message in error.message


def test_near_misses_are_named() -> None:
    with pytest.raises(IRError) as caught:
        tile_ir.parse(GOOD.replace("exp(", "exq("))
    assert caught.value.hint == "did you mean `exp`?"
