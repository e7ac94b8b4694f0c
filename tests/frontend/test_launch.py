"""Functions, launches, scopes and explicit branches (docs/language/index.md#launch)."""

import pytest

import tile_frontend as T
import tile_ir
from tile_ir import Func, Phase
from tile_ir.expr import Const, Var


def test_parameters_in_order_tensors_and_scalars():
    n = T.symbolic("n")

    @T.prim_func
    def k(
        X: T.Tensor((n, 128), "float16"),
        count: T.int32,
        eps: T.float32,
        Y: T.Tensor[(n, 64), "float"],
        Z: T.Tensor(16),
        F: T.Buffer([4, n * 2]),
    ):
        with T.Kernel(n, is_npu=True) as (cid, vid):
            T.barrier_all()

    assert isinstance(k, Func) and k.phase is Phase.BUILT and k.name == "k"
    assert [p.name for p in k.params] == ["X", "count", "eps", "Y", "Z", "F"]
    assert [p.dtype.name for p in k.params] == [
        "float16", "int32", "float32", "float32", "float32", "float32",
    ]  # fmt: skip
    assert k.symbols == (Var("n"),)
    assert k.launch.blocks == Var("n")
    assert k.tensors[2].static_shape() == (16,)


def test_private_functions_are_accepted():
    @T.prim_func(private=True)
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            pass

    assert k.name == "k" and k.launch.body == ()


def test_tensor_subscript_spellings():
    m = T.symbolic("m")
    assert T.Tensor[(4, 8), "float16"] == T.Tensor((4, 8), "float16")
    assert T.Tensor[4, 8] == T.Tensor((4, 8))
    assert T.Tensor[4, m] == T.Tensor((4, m))
    assert T.Tensor[(4, 8)] == T.Tensor((4, 8))


def test_two_index_form_with_free_names():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(3, is_npu=True) as (bx, by):
            A[bx] = by

    launch = k.launch
    assert (launch.block.name, launch.lane.name, launch.threads) == ("bx", "by", None)
    assert launch.blocks == Const(3)


def test_underscore_takes_no_name():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(3, is_npu=True) as (cid, _):
            for _ in range(2):
                A[cid] = 1

    assert (k.launch.block.name, k.launch.lane.name) == ("cid", "vid")
    assert k.launch.body[0].var.name == "i"


@pytest.mark.parametrize("threads", [1, 2, [2], (1,)])
def test_threads_form_yields_one_index(threads):
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(3, threads=threads, is_npu=True) as (cid):
            A[cid] = 1

    expected = threads if isinstance(threads, int) else threads[0]
    assert k.launch.threads == expected
    assert k.launch.block.name == "cid"


def test_threads_by_position_and_a_target_of_one():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(3, 2) as (cid,):
            A[cid] = 1

    assert k.launch.threads == 2


def test_values_before_the_launch_size_it(show):
    m = T.symbolic("m")

    @T.prim_func
    def k(A: T.Tensor((m,), "int32")):
        T.func_attr({"enable_auto_sync": True})
        blocks = T.ceildiv(m, 32)
        half = blocks // 2
        with T.Kernel(half, is_npu=True) as (cid, vid):
            A[cid] = half

    assert "launch blocks((%m + 31) // 32 // 2)" in tile_ir.print_func(k)


def test_scopes_are_sections(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            with T.Scope("C"):
                T.set_cross_flag("FIX", 0)
            with T.Scope("V"):
                T.wait_cross_flag(0)
                T.tile.clear(a)

    assert show(k) == [
        "section cube {",
        '  set_cross_flag(0) {pipe="fix", mode=2}',
        "}",
        "section vector {",
        '  wait_cross_flag(0) {pipe=""}',
        "  clear($a)",
        "}",
    ]


def test_a_bare_frame_lasts_until_its_block_ends(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.Scope("V")
            T.tile.clear(a)
            T.tile.exp(a, a)

    assert show(k) == ["section vector {", "  clear($a)", "  exp($a, $a)", "}"]


def test_explicit_branches_are_always_runtime(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.If(cid > 2), T.Then():
                A[0] = 1
            with T.If(vid == 0):
                with T.Then():
                    A[1] = 1
                with T.Else():
                    with T.If(True), T.Then():
                        A[2] = 1

    assert show(k) == [
        "if %cid > 2 {",
        "  $A[0] = 1",
        "}",
        "if %vid == 0 {",
        "  $A[1] = 1",
        "} else {",
        "  if true {",
        "    $A[2] = 1",
        "  }",
        "}",
    ]


def test_allocators_and_their_memories():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub(16, "float32")
            b = T.alloc_L1([2, 16, 16], "float16")
            c = T.alloc_L0A(shape=(16, 16), dtype="float16")
            d = T.alloc_L0B((16, 16), "float16")
            e = T.alloc_L0C((16, 16), "float")
            f = T.alloc_shared((16, 16), "float16")
            g = T.alloc_shared((16,), "bool")
            h = T.alloc_fragment((16, 16), "float32")
            T.copy(A, a)

    found = {
        a.buffer.name: (a.buffer.memory.value, a.buffer.static_shape()) for a in k.launch.allocs
    }
    assert found == {
        "a": ("ub", (16,)),
        "b": ("l1", (2, 16, 16)),
        "c": ("l0a", (16, 16)),
        "d": ("l0b", (16, 16)),
        "e": ("l0c", (16, 16)),
        "f": ("shared", (16, 16)),
        "g": ("ub", (16,)),
        "h": ("fragment", (16, 16)),
    }


def test_addresses_and_layouts_are_recorded():
    from tile_frontend import make_nz_layout, make_zn_layout

    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            b = T.alloc_ub((16,), "float32")
            x = T.alloc_L1((16, 16), "float16")
            y = T.alloc_shared((16, 16), "float16")
            T.annotate_address({a: 0, b: 64})
            T.annotate_layout({x: make_nz_layout(x), y: make_zn_layout(y)})

    found = [(a.buffer.name, a.address, a.layout and a.layout.value) for a in k.launch.allocs]
    assert found == [("a", 0, None), ("b", 64, None), ("x", None, "nz"), ("y", None, "zn")]


def test_the_kernel_carries_its_source_and_round_trips():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = 1

    (text,) = k.sources.values()
    with open(__file__) as file:
        assert text == file.read()
    printed = tile_ir.print_func(k)
    assert tile_ir.print_func(tile_ir.parse(printed)) == printed
    tile_ir.verify(k)
