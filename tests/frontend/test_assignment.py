"""Names, lets, scalar variables and stores (docs/language/index.md#statements)."""

import pytest

import tile_frontend as T
import tile_ir
from tile_ir import KernelError, Memory


def test_a_number_becomes_a_let_and_is_no_compile_time_value(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            n = 5
            x = 2.5
            flag = True
            if flag:
                A[n] = x

    assert show(k) == [
        "let %n: int32 = 5",
        "let %x: float32 = 2.5",
        "let %flag: bool = true",
        "if %flag {",
        "  $A[%n] = %x",
        "}",
    ]


def test_assigning_again_makes_a_new_let_for_what_follows(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            i = cid * 2
            A[i] = i
            i = i + 1
            A[i] = i

    assert show(k) == [
        "let %i: int32 = %cid * 2",
        "$A[%i] = %i",
        "let %i_1: int32 = %i + 1",
        "$A[%i_1] = %i_1",
    ]


def test_a_let_inside_a_block_ends_with_it(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = cid + 1
            A[9] = x
            for i in T.serial(4):
                x = cid + i
                A[i] = x
                if i > 2:
                    x = x + 1
                    A[i + 4] = x
                else:
                    A[8] = x
            x = cid + 2
            A[10] = x

    assert show(k) == [
        "let %x: int32 = %cid + 1",
        "$A[9] = %x",
        "for %i: int32 in serial(0, 4) {",
        "  let %x_1: int32 = %cid + %i",
        "  $A[%i] = %x_1",
        "  if %i > 2 {",
        "    let %x_2: int32 = %x_1 + 1",
        "    $A[%i + 4] = %x_2",
        "  } else {",
        "    $A[8] = %x_1",
        "  }",
        "}",
        "let %x_3: int32 = %cid + 2",
        "$A[10] = %x_3",
    ]


def lost(kernel) -> KernelError:
    with pytest.raises(KernelError) as caught:
        T.prim_func(kernel)
    assert caught.value.slug == "lost-assignment"
    return caught.value


def test_an_assignment_that_a_reader_after_the_block_misses_is_refused():
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = cid + 1
            for i in T.serial(4):
                if i > 2:
                    x = cid + i
            A[9] = x

    error = lost(k)
    first = k.__code__.co_firstlineno
    assert (error.loc.line, error.loc.column) == (first + 5, 21)
    assert [n.loc.line for n in error.notes] == [first + 6]


def test_the_other_branch_does_not_miss_an_assignment_but_what_follows_both_does():
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = cid + 1
            with T.If(cid > 0):
                with T.Then():
                    x = cid + 2
                with T.Else():
                    A[0] = x
            if cid > 1:
                A[1] = x

    error = lost(k)
    first = k.__code__.co_firstlineno
    assert error.loc.line == first + 5
    assert [n.loc.line for n in error.notes] == [first + 9]


def test_a_condition_of_while_reads_in_every_iteration():
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            n = cid + 1
            while n < 5:
                n = A[0]

    assert lost(k).loc.line == k.__code__.co_firstlineno + 4


REP = 2


def test_names_bound_in_a_compile_time_branch_end_with_it(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            h = cid + 1
            if REP != 1:
                h = cid + 7
                A[1] = h
            A[0] = h

    assert show(k) == [
        "let %h: int32 = %cid + 1",
        "let %h_1: int32 = %cid + 7",
        "$A[1] = %h_1",
        "$A[0] = %h",
    ]


def test_a_value_that_ends_with_a_compile_time_branch_is_remarked_on():
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            h = cid + 1
            if REP != 1:
                h = cid + 7
            A[0] = h
            A[1] = h

    (remark,) = {r.message for r in k.remarks}
    assert "`h` is assigned in a block" in remark
    assert {(r.slug, r.severity) for r in k.remarks} == {("lost-assignment", "warning")}


def test_an_index_of_the_launch_that_a_loop_renames_is_remarked_on(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.serial(4):
                cid = i * 4 + cid
                A[cid] = 1

    assert show(k) == [
        "for %i: int32 in serial(0, 4) {",
        "  let %cid_1: int32 = %i * 4 + %cid",
        "  $A[%cid_1] = 1",
        "}",
    ]
    assert [(r.slug, r.severity) for r in k.remarks] == [("lost-assignment", "warning")]


def test_a_loop_variable_shadows_an_outer_name_inside_the_loop_only(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            h = cid
            for h in range(4):
                A[h] = h
            A[5] = h

    assert show(k) == [
        "let %h: int32 = %cid",
        "for %h_1: int32 in serial(0, 4) {",
        "  $A[%h_1] = %h_1",
        "}",
        "$A[5] = %h",
    ]


def test_a_scalar_variable_is_stored_and_loaded_also_in_blocks(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            total = T.alloc_var("int32")
            start = T.alloc_var("int32", init=cid + 1)
            for i in T.serial(4):
                total += i
                if i == 2:
                    total = total * start
            A[0] = total

    assert show(k) == [
        "$total = 0",
        "$start = %cid + 1",
        "for %i: int32 in serial(0, 4) {",
        "  $total = $total + %i",
        "  if %i == 2 {",
        "    $total = $total * $start",
        "  }",
        "}",
        "$A[0] = $total",
    ]
    assert [a.buffer.memory for a in k.launch.allocs] == [Memory.VAR, Memory.VAR]


def test_a_scalar_variable_is_its_only_element(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            v = T.alloc_var("int32", init=3)
            v[0] = v[0] * 2
            v[0] += 1
            before = v[0]
            v[0], A[1] = A[2], v[0,]
            A[0] = before

    assert show(k) == [
        "$v = 3",
        "$v = $v * 2",
        "$v = $v + 1",
        "let %before: int32 = $v",
        "let %value: int32 = $A[2]",
        "let %value_1: int32 = $v",
        "$v = %value",
        "$A[1] = %value_1",
        "$A[0] = %before",
    ]


@pytest.mark.parametrize("style", ["value", "scope", "both"])
def test_alloc_var_arguments(style, show):
    args = {"value": (7,), "scope": ("local.var",), "both": (7, "local.var")}[style]

    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            v = T.alloc_var("float32", *args)
            A[0] = v

    first = "$v = 0.0" if style == "scope" else "$v = 7.0"
    assert show(k) == [first, "$A[0] = $v"]


def test_an_element_read_by_assignment_is_a_snapshot(show):
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = A[0]
            A[0] = 5
            A[1] = x

    assert show(k) == ["let %x: int32 = $A[0]", "$A[0] = 5", "$A[1] = %x"]


def test_elements_are_stored_with_the_type_of_the_buffer(show):
    @T.prim_func
    def k(A: T.Tensor((8, 8), "float16"), B: T.Tensor((8,), "int32"), s: T.float32):
        with T.Kernel(1) as (cid, vid):
            A[0, cid] = 1
            A[1, 0] += s
            B[0] = 3.0
            B[1] -= 1

    assert show(k) == [
        "$A[0, %cid] = 1.0:float16",
        "$A[1, 0] = cast<float16>($A[1, 0] + %s)",
        "$B[0] = 3",
        "$B[1] = $B[1] - 1",
    ]


def test_chained_targets_get_one_value(show):
    @T.prim_func
    def k(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = b = cid + 1
            A[0] = c = A[0] + 1
            A[1] = a + b + c

    assert show(k) == [
        "let %a: int32 = %cid + 1",
        "let %b: int32 = %cid + 1",
        "let %value: int32 = $A[0] + 1",
        "$A[0] = %value",
        "let %c: int32 = %value",
        "$A[1] = %a + %b + %c",
    ]


def test_tuples_are_unpacked_and_swapped(show):
    def both(x):
        return x + 1, x + 2

    @T.prim_func
    def k(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a, b = both(cid)
            (c, d), e = (a, b), 5
            u = T.alloc_var("int32", 1)
            v = T.alloc_var("int32", 2)
            u, v = v, u
            A[0] = c + d + e

    assert show(k) == [
        "let %a: int32 = %cid + 1",
        "let %b: int32 = %cid + 2",
        "let %c: int32 = %a",
        "let %d: int32 = %b",
        "let %e: int32 = 5",
        "$u = 1",
        "$v = 2",
        "let %value: int32 = $v",
        "let %value_1: int32 = $u",
        "$u = %value",
        "$v = %value_1",
        "$A[0] = %c + %d + %e",
    ]


def test_whatever_python_iterates_over_is_unpacked(show):
    @T.prim_func
    def k(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a, b = (T.alloc_ub((8,), "int32") for _ in range(2))
            (c, d), e = zip((cid, 2), (3, 4)), 5
            T.copy(A, a)
            T.copy(A, b)
            A[0] = c[0] + d[1] + e

    assert show(k) == [
        "let %e: int32 = 5",
        "copy($A, $a)",
        "copy($A, $b)",
        "$A[0] = %cid + 4 + %e",
    ]


def test_containers_stay_python_values(show):
    @T.prim_func
    def k(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as (cid, vid):
            shape = (16, 32)
            buf = T.alloc_ub(shape, "float32")
            pair = (A[0], 4)
            A[0] = 1
            A[pair[1]] = pair[0]
            T.tile.fill(buf, 0.0)

    assert k.launch.allocs[0].buffer.static_shape() == (16, 32)
    assert show(k)[:3] == ["let %pair_0: int32 = $A[0]", "$A[0] = 1", "$A[4] = %pair_0"]


def test_a_named_slice_can_be_used_later(show):
    @T.prim_func
    def k(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1) as (cid, vid):
            row = T.alloc_ub((4, 16), "float32")
            part = row[cid, :]
            T.copy(A[0, :], part)
            T.tile.clear(part)

    assert show(k) == ["copy($A[0:+1, 0:+16], $row[%cid:+1, 0:+16])", "clear($row[%cid:+1, 0:+16])"]


def test_buffers_are_named_by_their_first_assignment():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            first = T.alloc_ub((16,), "float32")
            second = first
            T.copy(A, second)

    assert [a.buffer.name for a in k.launch.allocs] == ["first"]


def test_annotated_assignment_converts(show):
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x: T.float32 = cid
            A[0] = x

    assert show(k)[0] == "let %x: float32 = cast<float32>(%cid)"


def test_names_of_variables_are_unique_in_the_function():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in range(2):
                A[i] = i
            for i in range(3):
                for j in range(2):
                    A[i] = j
            i = T.alloc_ub((16,), "int32")
            T.tile.fill(i, 0)

    text = tile_ir.print_func(k)
    assert "for %i: int32 in serial(0, 2)" in text
    assert "for %i_1: int32 in serial(0, 3)" in text
    assert k.launch.allocs[0].buffer.name == "i_2"


@pytest.mark.parametrize("value", ["float32", None])
def test_strings_and_none_stay_pythons(value):
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            name = value
            a = T.alloc_ub((16,), name or "float32")
            T.copy(A, a)
            T.copy(a, A)

    assert k.launch.allocs[0].buffer.dtype.name == "float32"


def test_nothing_is_lost_in_what_never_runs():
    """Branches and loops that the ranges of launch indices, loop variables and names rule out."""

    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(4) as (cid, vid):
            wanted = False
            x = 1
            if wanted:
                x = 2
            if cid < 0 or vid < 0:
                x = 3
            for i in T.serial(0):
                if vid == 0:
                    x = x + 1
            for i in T.serial(4):
                if i - cid > 3:
                    x = 4
                A[i] = x

    assert not k.remarks


def test_a_branch_that_may_run_still_loses():
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(4) as (cid, vid):
            x = 1
            if cid > 2:
                x = 3
            A[0] = x

    assert "`x` is assigned in a block" in lost(k).message
