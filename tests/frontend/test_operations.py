"""Operations from the op table (docs/language/rules.md#operands)."""

import pytest

import tile_frontend as T
import tile_ir
from tile_ir import OPS, KernelError
from tile_ir.diagnostics.errors import KernelWarning
from tile_ir.expr import constant_value
from tile_ir.layout.geometry import element_count
from tile_ir.switches import override
from tile_ir.traversal import walk_ops


def test_every_operation_of_the_table_is_a_name_of_the_language():
    for name, opdef in OPS.items():
        if opdef.namespace == "tile":
            assert callable(getattr(T.tile, name)), name
        elif opdef.namespace == "":
            assert callable(getattr(T, name)), name
        else:
            assert not hasattr(T, name) and not hasattr(T.tile, name), name


def test_arguments_by_position_and_by_keyword(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32"), s: T.float32):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            b = T.alloc_ub((64,), "float32")
            T.tile.add(a, a, b)
            T.tile.add(src1=b, dst=a, src0=a)
            T.tile.mul(a, a, 2)
            T.tile.mul(a, a, s * 2.0)
            T.tile.max(a, a, -T.infinity("float32"))
            T.tile.axpy(a, b, scalar=0.5)
            T.tile.broadcast(a, b)
            getattr(T.tile, "sub")(a, a, b)

    assert show(k) == [
        "add($a, $a, $b)",
        "add($a, $a, $b)",
        "mul($a, $a, 2)",
        "mul($a, $a, %s * 2.0)",
        "max($a, $a, -inf:float32)",
        "axpy($a, $b, 0.5)",
        "broadcast($a, $b, none) {axis=none}",
        "sub($a, $a, $b)",
    ]


def test_synchronisation_words_in_any_case(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.set_flag("MTE2", "V", cid % 8)
            T.wait_flag("mte2", "v", cid % 8)
            T.pipe_barrier("ALL")
            T.barrier_all()
            T.set_cross_flag("FIX", 3, mode=2)
            T.wait_cross_flag(3)
            T.sync_all()

    assert show(k) == [
        'set_flag(%cid % 8) {src_pipe="mte2", dst_pipe="v"}',
        'wait_flag(%cid % 8) {src_pipe="mte2", dst_pipe="v"}',
        'pipe_barrier() {pipe="all"}',
        "barrier_all()",
        'set_cross_flag(3) {pipe="fix", mode=2}',
        'wait_cross_flag(3) {pipe=""}',
        "sync_all()",
    ]


def test_init_of_a_multiplication(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((2, 16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            x = T.alloc_L0A((16, 16), "float16")
            y = T.alloc_L0B((16, 16), "float16")
            for i in range(2):
                T.gemm_v0(a[i, :, :], a[0, :, :], c, init=(i == 0))
            T.gemm_v0(a[0, :, :], a[1, :, :], c, False, True)
            T.gemm_v0(a[0, :, :], a[1, :, :], c, init=True)
            T.mma(x, y, c)
            T.mma(x, y, c, init=True)

    inits = [line.split("$c, ")[1].split(")")[0] for line in show(k) if "$c" in line]
    assert inits == ["%i == 0", "false", "true", "false", "true"]


def test_cast_counts_become_shapes(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1) as (cid, vid):
            f = T.alloc_ub((4, 64), "float32")
            h = T.alloc_ub((4, 64), "float16")
            w = T.alloc_ub((256,), "float32")
            T.tile.cast(f, h, "CAST_NONE", 256)
            T.tile.cast(f, h, mode="CAST_NONE", count=128)
            T.tile.cast(f[1, :], h[2, :], "CAST_NONE", 64)
            T.tile.cast(f, h, "CAST_NONE", 32)
            T.tile.cast(w, h[1, :], "CAST_NONE", 64)
            T.tile.cast(h, f, "CAST_RINT")
            T.tile.cast(h, f, "CAST_RINT", n)

    assert [line.split(" {")[0] for line in show(k)] == [
        "cast($f, $h, none)",
        "cast($f[0:+2, 0:+64], $h[0:+2, 0:+64], none)",
        "cast($f[1:+1, 0:+64], $h[2:+1, 0:+64], none)",
        "cast($f[0:+1, 0:+32], $h[0:+1, 0:+32], none)",
        "cast($w[0:+64], $h[1:+1, 0:+64], none)",
        "cast($h, $f, none)",
        "cast($h, $f, %n)",
    ]


def test_a_count_that_is_no_box_stays_an_operand(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            f = T.alloc_ub((4, 64), "float32")
            h = T.alloc_ub((4, 64), "float16")
            T.tile.cast(f, h, "CAST_NONE", 100)

    assert show(k) == ['cast($f, $h, 100) {mode="cast_none"}']


def test_printing(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            T.printf("Block %d of %d\n", cid, 8)
            T.dump_tensor(a, 3, 16)
            T.dump_tensor(a, desc=3, size=16, shape=(4, 4))

    assert show(k) == [
        'printf(%cid, 8) {fmt="Block %d of %d\\n"}',
        "dump_tensor($a, 16) {desc=3}",
        "dump_tensor($a, 16) {desc=3}",
    ]


def test_reductions(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((8, 64), "float32")
            rows = T.alloc_ub((8,), "float32")
            columns = T.alloc_ub((1, 64), "float32")
            slots = T.alloc_ub((2, 8, 64), "float32")
            T.reduce_sum(x, rows)
            T.reduce_max(x, columns, dim=0)
            T.reduce_min(x, rows, 1, False)
            T.reduce_sum(x, rows, dim=-1, clear=False)
            T.reduce(x, rows, "reduce_max", -1)
            T.reduce_sum(slots, rows, dim=1)
            T.reduce_sum(slots[1, :, :], rows)

    shown = [line.replace(", none)", ")") for line in show(k)]
    assert shown == [
        "reduce_sum($x, $rows) {dim=-1, clear=true}",
        "reduce_max($x, $columns) {dim=0, clear=true}",
        "reduce_min($x, $rows) {dim=1, clear=false}",
        "reduce_sum($x, $rows) {dim=-1, clear=false}",
        "reduce_max($x, $rows) {dim=-1, clear=true}",
        "reduce_sum($slots[0:+1, 0:+8, 0:+64], $rows) {dim=1, clear=true}",
        "reduce_sum($slots[1:+1, 0:+8, 0:+64], $rows) {dim=-1, clear=true}",
    ]


def test_real_shapes_narrow_at_the_physical_pitch(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((8, 64), "float32")
            r = T.alloc_ub((8,), "float32")
            c = T.alloc_ub((64,), "float32")
            T.reduce_sum(x, r, dim=-1, real_shape=[0, 40])
            T.reduce_sum(x, r[0:4], -1, [4, 40])
            T.reduce_sum(x, r, -1, False, (4, 40))
            T.reduce_max(x, c, dim=0, real_shape=[4, 40])
            T.reduce(x, c[:40], "reduce_max", 0, [4, 40], False)

    shown = [line.replace(", none)", ")").split(" {")[0] for line in show(k)]
    assert shown == [
        "reduce_sum($x[0:+8, 0:+40], $r)",
        "reduce_sum($x[0:+4, 0:+40], $r[0:+4])",
        "reduce_sum($x[0:+4, 0:+40], $r[0:+4])",
        "reduce_max($x[0:+4, 0:+40], $c[0:+40])",
        "reduce_max($x[0:+4, 0:+40], $c[0:+40])",
    ]
    assert [op.attr("clear") for op in k.launch.body] == [True, True, False, True, False]


@pytest.mark.parametrize("name", ["add", "exp", "fill"])
def test_operations_describe_themselves(name):
    function = getattr(T.tile, name)
    assert function.__doc__.startswith(f"{OPS[name].doc}.\n\ndst: a buffer in ub, written")
    assert repr(function).startswith(f"<T.tile.{name}(dst")


def test_debug_output_around_the_launch_is_part_of_it(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        T.printf("A\n")
        T.dump_tensor(A, 1, 64, (64,))
        with T.Kernel(1) as (cid, vid):
            T.barrier_all()
        T.printf("B\n")

    shown = [line.split("(")[0] for line in show(k)]
    assert shown == ["printf", "dump_tensor", "barrier_all", "printf"]


def test_a_real_shape_with_a_result_as_long_as_the_physical_rows(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((4, 8), "float32")
            r = T.alloc_ub((8,), "float32")
            w = T.alloc_ub((1, 8), "float32")
            T.reduce_max(x, r, dim=-1, real_shape=[4, 4])
            T.reduce_max(x, w, dim=-1, real_shape=[4, 4])

    shown = [line.split(", none)")[0] for line in show(k)]
    assert shown == [
        "reduce_max($x[0:+4, 0:+4], $r[0:+4]",
        "reduce_max($x[0:+4, 0:+4], $w[0:+1, 0:+4]",
    ]


def test_whole_floats_are_integers_for_integer_tiles(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "int32")
            T.tile.fill(a, 10.0)
            T.tile.add(a, a, 2.0)

    assert show(k) == ["fill($a, 10)", "add($a, $a, 2)"]


def test_a_count_beyond_the_buffers_means_all_of_them_where_calls_are_lax():
    def made():
        @T.prim_func
        def k(A: T.Tensor((16,), "float32")):
            with T.Kernel(1) as (cid, vid):
                a = T.alloc_ub((4, 16), "float32")
                b = T.alloc_ub((8, 16), "float16")
                T.tile.cast(a, b, "CAST_NONE", 4096)

        return k

    with override(lax_calls=True), pytest.warns(KernelWarning, match="only 64 elements") as seen:
        (cast,) = walk_ops(made().launch.body)
    assert __file__.endswith(seen[0].filename)
    counts = [constant_value(element_count(r)) for r in (cast.region("dst"), cast.region("src"))]
    assert counts == [64, 64] and cast.operand("count") is None
    with pytest.raises(KernelError, match="count is 4096"):
        made()


def test_a_count_from_an_element_reaches_as_far_as_it_says() -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 128), "float16"), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((4, 128), "float16")
            b = T.alloc_ub((4, 128), "float32")
            T.copy(X, a)
            T.tile.cast(b[1, 64], a[2, 64], "CAST_NONE", 64)
            T.tile.cast(b[1, 64], a[2, 0], "CAST_NONE", n)

    text = tile_ir.print_func(k)
    assert "cast($b[1:+1, 64:+64], $a[2:+1, 64:+64], none)" in text
    assert "cast($b[1:+1, 64:+64], $a[2:+1, 0:+64], %n)" in text


def test_lists_of_buffers_have_no_working_memory_behind_them(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            out = T.alloc_ub((128,), "float32")
            one = T.alloc_ub((64,), "float32")
            two = T.alloc_ub((64,), "float32")
            T.tile.merge_sort(out, one, two)

    assert show(k) == ["merge_sort($out, $one, $two)"]
