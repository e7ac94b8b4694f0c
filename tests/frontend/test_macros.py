"""Macros and native helpers (docs/language/index.md#macros)."""

import importlib.util
from pathlib import Path

import pytest

import tile_frontend as T
from tile_ir import KernelError

spec = importlib.util.spec_from_file_location(
    "shared_macros", Path(__file__).with_name("shared_macros.py")
)
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)


def test_arguments_are_substituted(show):
    @T.macro
    def step(src, dst, offset, scale, name: "anything"):
        T.copy(src, dst)
        T.tile.mul(dst, dst, scale)
        dst[0, 0] = offset

    @T.prim_func
    def k(A: T.Tensor((8, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((4, 64), "float32")
            step(A[0:4, :], u, cid + 1, 2.0, name="x")

    assert show(k) == [
        "copy($A[0:+4, 0:+64], $u)",
        "mul($u, $u, 2.0)",
        "$u[0, 0] = cast<float32>(%cid + 1)",
    ]


def test_macros_are_hygienic(show):
    x = 7

    @T.macro
    def step(buffer):
        y = x + 1
        buffer[y] = x
        t = T.alloc_ub((16,), "float32")
        T.tile.clear(t)

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = cid + 100
            y = 1
            step(A)
            step(A)
            A[0] = x + y

    assert show(k) == [
        "let %x: int32 = %cid + 100",
        "let %y: int32 = 1",
        "let %y_1: int32 = 8",
        "$A[%y_1] = 7",
        "clear($t)",
        "let %y_2: int32 = 8",
        "$A[%y_2] = 7",
        "clear($t_1)",
        "$A[0] = %x + %y",
    ]


def test_a_macro_that_is_not_hygienic_sees_its_caller(show):
    @T.macro(hygienic=False)
    def step(buffer):
        buffer[0] = x
        x = x + 1
        buffer[1] = x

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = cid + 100
            step(A)
            A[2] = x

    assert show(k) == [
        "let %x: int32 = %cid + 100",
        "$A[0] = %x",
        "let %x_1: int32 = %x + 1",
        "$A[1] = %x_1",
        "$A[2] = %x",
    ]


def test_macros_of_another_file_defaults_and_later_definitions(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((4, 64), "float32")
            shared.scale(u)
            shared.outer(u)

    assert show(k) == [
        "for %i: int32 in serial(0, 2) {",
        "  mul($u[%i:+1, 0:+64], $u[%i:+1, 0:+64], 3.0)",
        "}",
        "for %i_1: int32 in serial(0, 2) {",
        "  mul($u[%i_1:+1, 0:+64], $u[%i_1:+1, 0:+64], 2.0)",
        "}",
        "exp($u, $u)",
    ]
    assert sorted(Path(f).name for f in k.sources) == ["shared_macros.py", "test_macros.py"]
    assert {Path(s.loc.file).name for s in k.launch.body} == {"shared_macros.py"}
    assert k.launch.body[0].loc.line == 14


def test_an_error_in_a_macro_of_another_file_shows_that_file():
    with pytest.raises(KernelError) as error:

        @T.prim_func
        def k(A: T.Tensor((64,), "int32")):
            with T.Kernel(1) as (cid, vid):
                shared.inner_defined_below(A)

    assert error.value.loc.line == 26
    assert "shared_macros.py:26:16: error[operand-memory]" in str(error.value)
    assert "    T.tile.exp(buffer, buffer)\n               ^" in str(error.value)


def test_scalar_variables_can_be_changed_by_a_macro(show):
    @T.macro
    def count(n, by):
        n += by

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            n = T.alloc_var("int32")
            count(n, 2)
            A[0] = n

    assert show(k) == ["$n = 0", "$n = $n + 2", "$A[0] = $n"]


def test_macros_in_containers_and_as_values(show):
    @T.macro
    def one(A):
        A[0] = 1

    @T.macro
    def two(A):
        A[0] = 2

    table = {"one": one, "two": two}

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            table["two"](A)

    assert show(k) == ["$A[0] = 2"]


def test_a_helper_returns_the_operation_to_emit(show):
    def cast_or_copy(dst, src, mode, n):
        if dst.dtype != src.dtype:
            return T.tile.cast(dst, src, mode, n)
        return T.copy(src, dst)

    def nothing():
        return None

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            f = T.alloc_ub((64,), "float32")
            g = T.alloc_ub((64,), "float32")
            h = T.alloc_ub((64,), "float16")
            cast_or_copy(f, h, "CAST_NONE", 64)
            cast_or_copy(f, g, "CAST_NONE", 64)
            nothing()

    assert show(k) == ['cast($f, $h, none) {mode="cast_none"}', "copy($g, $f)"]
    assert [s.loc.column for s in k.launch.body] == [13, 13]


def test_a_helper_that_hands_back_no_operation_does_them_in_order(show):
    def square(x):
        T.tile.mul(x, x, x)

    def filled(value):
        tile = T.alloc_ub((64,), "float32")
        T.tile.fill(tile, value)
        square(tile)
        return tile

    def first(x):
        T.tile.abs(x, x)
        return x[0]

    class Body:
        def run(self, x):
            square(x)

    body = Body()

    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            f = filled(2.0)
            if first(f) > 1.0:
                body.run(f)
            T.tile.add(f, filled(3.0), f)
            square(f), T.tile.exp(f, f)

    assert show(k) == [
        "fill($ub, 2.0)",
        "mul($ub, $ub, $ub)",
        "abs($ub, $ub)",
        "if $ub[0] > 1.0 {",
        "  mul($ub, $ub, $ub)",
        "}",
        "fill($ub_1, 3.0)",
        "mul($ub_1, $ub_1, $ub_1)",
        "add($ub, $ub_1, $ub)",
        "mul($ub, $ub, $ub)",
        "exp($ub, $ub)",
    ]


def test_helpers_build_expressions_and_allocate(show):
    def bounds(i, n):
        start = i * n
        return start, T.min(start + n, 100)

    def temporary(rows):
        return T.alloc_ub((rows, 64), "float32")

    @T.prim_func
    def k(A: T.Tensor((100, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            start, stop = bounds(cid, 16)
            tmp = temporary(16)
            T.copy(A[start, 0], tmp)
            A[0, 0] = stop - start == 16

    assert k.launch.allocs[0].buffer.name == "tmp"
    assert show(k) == [
        "let %start: int32 = %cid * 16",
        "let %stop: int32 = min(%cid * 16 + 16, 100)",
        "copy($A[%start:+16, 0:+64], $tmp)",
        "$A[0, 0] = cast<float32>(%stop - %start == 16)",
    ]


def test_equality_in_a_helper_is_a_runtime_condition(show):
    def is_first(i):
        return i == 0

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            if is_first(cid):
                A[0] = 1

    assert show(k)[0] == "if %cid == 0 {"


def test_functions_as_values_in_parallel_loops(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            u = T.alloc_ub((8, 64), "float32")
            v = T.alloc_ub((8,), "float32")
            for i, j in T.Parallel(8, 64):
                u[i, j] = op_func(u[i, j]) * v[i]

    assert show(k)[2] == "    $u[%i, %j] = exp($u[%i, %j]) * $v[%i]"


op_func = lambda a: T.exp(a)  # noqa: E731


def test_unnamed_buffers_of_helpers_get_a_name(show):
    def filled(value):
        buffer = T.alloc_ub((64,), "float32")
        return T.tile.fill(buffer, value)

    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            filled(1.0)
            filled(2.0)

    assert show(k) == ["fill($ub, 1.0)", "fill($ub_1, 2.0)"]


def test_an_exception_in_a_helper_names_its_line():
    def helper():
        return {}["missing"]

    with pytest.raises(KernelError) as error:

        @T.prim_func
        def k(A: T.Tensor((64,), "float32")):
            with T.Kernel(1) as (cid, vid):
                helper()

    line = helper.__code__.co_firstlineno + 1
    assert error.value.message == "`helper` raised KeyError: 'missing'"
    assert error.value.hint.endswith(f"test_macros.py:{line}")
    assert isinstance(error.value.__cause__, KeyError)


@T.macro
def inner(buffer):
    T.tile.exp(buffer, buffer, 3)


@T.macro
def outer(buffer):
    T.tile.clear(buffer)
    inner(buffer)


def test_an_error_in_a_macro_names_every_call():
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((64,), "float32")):
            with T.Kernel(1) as (cid, vid):
                u = T.alloc_ub((64,), "float32")
                outer(u)

    lines = [line for line in str(caught.value).splitlines() if __file__[-14:] in line]
    start = inner.fn.__code__.co_firstlineno
    assert [line.split(": ", 1)[1] for line in lines] == [
        "error[arity]: T.tile.exp takes 2 arguments (dst, src), found 3",
        "note: macro `inner` is called here",
        "note: macro `outer` is called here",
    ]
    numbers = [int(line.split(":")[1]) for line in lines]
    assert numbers[:2] == [start + 2, start + 8]
    assert [n.loc.line for n in caught.value.notes] == numbers[1:]
    assert "    outer(u)\n    ^" in str(caught.value)


def test_an_error_of_a_pass_names_the_calls():
    from tile_ir import DEFAULT_TARGET
    from tile_passes import run_pipeline

    @T.macro
    def large(rows):
        x = T.alloc_ub((rows, 1024), "float32")
        T.tile.clear(x)

    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            large(8)
            large(100)

    with pytest.raises(KernelError) as caught:
        run_pipeline(k, DEFAULT_TARGET)
    notes = [n for n in caught.value.notes if "macro" in n.message]
    first = k.launch.loc.line
    assert [n.message for n in notes] == ["macro `large` is called here"] * 2
    assert [n.loc.line for n in notes] == [first + 1, first + 2]
