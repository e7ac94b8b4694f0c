"""Loops and conditions (docs/language/index.md#loops)."""

import pytest

import tile_frontend as T
from tile_ir import For, LoopKind
from tile_ir.expr import Const, Var

FLAG = True
NONE = None


def test_compile_time_branches_are_chosen_while_tracing(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            if FLAG:
                A[0] = 1
            else:
                A[0] = nothing_of_that_name
            if NONE:
                A[1] = 1
            elif FLAG and 3 > 2:
                A[1] = 2
            else:
                A[1] = 3
            if NONE is None and not FLAG:
                A[2] = 1

    assert show(k) == ["$A[0] = 1", "$A[1] = 2"]


def test_runtime_branches(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(1) as (cid, vid):
            if cid == 0:
                A[0] = 1
            elif n:
                A[0] = 2
            else:
                A[0] = 3
            if (FLAG and cid < n) or not vid == 1:
                A[1] = 1
            if 0 <= cid < n:
                A[2] = 1

    assert show(k) == [
        "if %cid == 0 {",
        "  $A[0] = 1",
        "} else {",
        "  if %n != 0 {",
        "    $A[0] = 2",
        "  } else {",
        "    $A[0] = 3",
        "  }",
        "}",
        "if %cid < %n or not %vid == 1 {",
        "  $A[1] = 1",
        "}",
        "if %cid >= 0 and %cid < %n {",
        "  $A[2] = 1",
        "}",
    ]


def test_loops_of_every_kind(show):
    n = T.symbolic("n")

    @T.prim_func
    def k(A: T.Tensor((n, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in range(4):
                A[i, 0] = 1
            for i in range(1, n):
                A[i, 0] = 1
            for i in T.serial(n):
                A[i, 0] = 1
            for i in T.serial(1, 4, dtype="int32"):
                A[i, 0] = 1
            for i in T.unroll(4):
                A[i, 0] = 1
            for i in T.Pipelined(8, num_stages=2, cross_interval=1):
                A[i, 0] = 1
            for i in T.Pipelined(2, 8, num_stages=3):
                A[i, 0] = 1
            for i in T.Pipelined(8):
                A[i, 0] = 1
            for i, j in T.Parallel(8, 16):
                A[i, j] = 1
            for j in T.Parallel(16):
                A[0, j] = 1
            for i, j in T.grid(2, 3):
                A[i, j] = 1

    assert [line for line in show(k) if line.lstrip().startswith("for")] == [
        "for %i: int32 in serial(0, 4) {",
        "for %i_1: int32 in serial(1, %n) {",
        "for %i_2: int32 in serial(0, %n) {",
        "for %i_3: int32 in serial(1, 4) {",
        "for %i_4: int32 in unroll(0, 4) {",
        "for %i_5: int32 in pipelined(0, 8) stages 2 {",
        "for %i_6: int32 in pipelined(2, 8) stages 3 {",
        "for %i_7: int32 in serial(0, 8) {",
        "for %i_8: int32 in parallel(0, 8) {",
        "  for %j: int32 in parallel(0, 16) {",
        "for %j_1: int32 in parallel(0, 16) {",
        "for %i_9: int32 in serial(0, 2) {",
        "  for %j_2: int32 in serial(0, 3) {",
    ]


def test_the_second_position_of_pipelined_is_the_stop():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.Pipelined(2, 8, num_stages=3):
                A[i] = 1

    (loop,) = k.launch.body
    assert isinstance(loop, For)
    assert (loop.start, loop.stop, loop.kind, loop.stages) == (
        Const(2), Const(8), LoopKind.PIPELINED, 3,
    )  # fmt: skip


def test_order_and_stage_of_each_statement_but_names():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.Pipelined(0, 8, 2, [1, 0], [0, 1]):
                j = i + 1
                A[j] = 1
                A[i] = 2
            for i in T.Pipelined(8, num_stages=1, stage=[2]):
                A[i] = 1
            for i in T.Pipelined(8, num_stages="auto"):
                A[i] = 1

    first, second, third = k.launch.body
    assert isinstance(first, For) and isinstance(second, For) and isinstance(third, For)
    assert [(g.loc.line - first.loc.line, g.order, g.stage) for g in first.given] == [
        (2, 1, 0), (3, 0, 1),
    ]  # fmt: skip
    assert (second.stages, [g.stage for g in second.given]) == (3, [2])
    assert (third.kind, third.stages, third.given) == (LoopKind.PIPELINED, 0, ())


def test_loop_variables_are_as_wide_as_their_bounds():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), n: T.int64):
        with T.Kernel(1) as (cid, vid):
            for i in range(n):
                A[i] = 1

    (loop,) = k.launch.body
    assert loop.var == Var("i", n_type := loop.stop.dtype)
    assert n_type.name == "int64" and loop.start == Const(0, n_type)


@pytest.mark.parametrize("bound", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("start", ["int8", "int32", "uint32"])
def test_loop_variables_hold_their_bounds_and_all_differences(bound, start):
    number, first = (getattr(T, dtype) for dtype in (bound, start))

    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), n: number, m: first):
        with T.Kernel(1) as (cid, vid):
            for i in T.serial(m, n):
                A[i] = 1

    (loop,) = k.launch.body
    wide = {"uint32", "int64"} & {bound, start}
    assert loop.var.dtype.name == ("int64" if wide else "int32")
    assert loop.start.dtype is loop.stop.dtype is loop.var.dtype


def test_while_and_leaving_a_loop(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            n = T.alloc_var("int32")
            while n < 10 and A[0] == 0:
                n += 1
                if n == 5:
                    T.loop_break()
            for i in T.serial(4):
                T.loop_break()

    assert show(k) == [
        "$n = 0",
        "while $n < 10 and $A[0] == 0 {",
        "  $n = $n + 1",
        "  if $n == 5 {",
        "    break",
        "  }",
        "}",
        "for %i: int32 in serial(0, 4) {",
        "  break",
        "}",
    ]


def test_docstrings_passes_and_bare_values_do_nothing(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        """A kernel."""
        with T.Kernel(1) as (cid, vid):
            "text"
            3
            cid + 1
            pass
            assert FLAG, "never"

    assert show(k) == []


def test_conditional_expressions_choose_while_tracing(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = 1 if FLAG else missing
            A[1] = T.if_then_else(cid > 1, cid, 7)

    assert show(k) == ["$A[0] = 1", "$A[1] = select(%cid > 1, %cid, 7)"]


def test_a_return_ends_a_block(show):
    """The rest of the launch moves to the paths without it."""

    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(4) as (cid, vid):
            if FLAG and cid >= n:
                A[0] = 1
                return
            A[1] = 2
            if not FLAG:
                return
            A[2] = 3
            return
            A[3] = 4

    assert show(k) == [
        "if %cid >= %n {",
        "  $A[0] = 1",
        "} else {",
        "  $A[1] = 2",
        "  $A[2] = 3",
        "}",
    ]
