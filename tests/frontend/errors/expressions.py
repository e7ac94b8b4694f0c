# ruff: noqa
# fmt: off
"""Indices, slices and operators that do not fit."""

import tile_frontend as T

TABLE = [1, 2, 3]
SIZE = 5


def too_few_indices():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = 1
          # ^ rank-mismatch: `A` has 2 dimensions, found 1 index | give one index or slice per dimension; `:` takes a whole one


def too_many_indices():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4,), "int32")
            T.copy(A, a[0:2, 0])
            #         ^ rank-mismatch: `a` has 1 dimension, found 2 indices | give one index or slice per dimension; `:` takes a whole one


def second_element_of_a_variable():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as (cid, vid):
            v = T.alloc_var("int32")
            v[1] = 2
            # ^ index-range: `v` is a T.alloc_var, which has one element, but the index is 1 | write `v` or `v[0]`


def negative_index():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0, -1] = 1
            #    ^ index-range: index 1 of `A` is -1 | indices do not count from the end here: write 15; a tile that begins before its tensor is filled first, and what exists is copied behind that: T.tile.fill(tile, 0), T.copy(x[0:n], tile[1:n + 1])


def index_past_the_end():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4, 16), "int32")
            a[4, 0] = 1
            # ^ index-range: index 0 of `a` is 4, but the dimension has 4 elements | indices begin at 0: the last one is 3


def element_of_a_tensor_past_the_end():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            x = A[0, 16] + 1
            #   ^ index-range: index 1 of `A` is 16, but the dimension has 16 elements | indices begin at 0: the last one is 15


def slice_past_the_end():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4, 16), "int32")
            T.tile.fill(a[2, 0:17], 0)
            #                ^ index-range: slice 1 of `a` ends at 17, but the dimension has 16 elements | a slice stops at 16 at most


def negative_slice():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4, 16), "int32")
            T.tile.fill(a[2, :-1], 0)
            #                ^ index-range: index 1 of `a` is -1 | indices do not count from the end here: write 15


def empty_slice():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4, 16), "int32")
            T.tile.fill(a[2, 8:8], 0)
            #                ^ empty-slice: slice 1 of `a` has 0 elements | the stop of a slice is after its start


def slice_with_a_step():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4, 16), "int32")
            T.tile.fill(a[0, ::2], 0)
            #                ^ slice-step: a slice of `a` has a step | a slice takes every element; to pick some, assign them to a tile in T.Parallel: y[r, i] = a[r, 2 * i]


def float_index():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), x: T.float32):
        with T.Kernel(1) as (cid, vid):
            A[x] = 1
            # ^ index-type: index 0 of `A` is float32, expected an integer | convert it with T.cast(x, "int32")


def string_index():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A["x"] = 1
            # ^ index-type: index 0 of `A` is the string 'x', expected an integer


def slice_of_a_slice():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            row = A[0, :]
            A[0, 0] = row[0]
            #         ^ operand-kind: a slice of `A` is sliced again | slice the buffer itself


def slice_assigned():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0, :] = 0
          # ^ slice-store: a slice of `A` is assigned | write T.tile.fill(dst, value); only single elements are assigned


def buffer_stored():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4,), "int32")
            A[0] = a
            #      ^ operand-kind: the buffer `a` is stored in one element | copy tiles with T.copy


def fraction_stored():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = 0.5
            #      ^ dtype-mismatch: 0.5 is stored in an element of type int32 | write an integer, or T.cast(value, ...) to say how it rounds


def division_of_integers():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = 1 + cid / 2
            #          ^ operand-type: `/` on two integers is ambiguous | use `//`, or cast one to float


def bits_of_a_float():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), x: T.float32):
        with T.Kernel(1) as (cid, vid):
            A[0] = cid + (x & 1)
            #             ^ operand-type: `&` needs integers, found float32 and float32 | convert a float first: T.cast(x, "int32")


def arithmetic_on_buffers():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "int32")
            a = a + 1
            #   ^ operand-type: `+` does not take the buffer `a` | write T.tile.add(dst, src0, src1), or compute on elements in T.Parallel


def power_of_a_runtime_value():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = cid**None
            #      ^ operand-type: `**` does not take a runtime int32 and None | convert one of them first


def python_division_by_zero():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = cid + SIZE // (SIZE - 5)
            #            ^ division-by-zero: `//`: the divisor is 0 | divide by a number other than 0


def runtime_index_into_a_list():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = TABLE[cid]
            #            ^ runtime-value: `TABLE` is a Python list, whose elements are picked while the kernel is traced, but the index is a runtime int32 | loop with `for i in T.unroll(n)`, or over `TABLE` itself; or pass the numbers in a tensor


def python_index_error():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = TABLE[7]
            #      ^ python-error: IndexError: list index out of range


def python_order_of_runtime_values():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = sorted((cid, 3))[0]
            #      ^ runtime-condition: a runtime value has no truth value while the kernel is traced | choose with T.if_then_else, T.max, T.min, T.And or T.Or


def python_float_of_a_runtime_value():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = float(cid)
            #      ^ host-function: `float` runs on the host while the kernel is traced: it does not take a runtime int32 | write T.cast(x, "float32")


def wrong_count_unpacked():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a, b = TABLE
          # ^ unpacking: 3 values for 2 names | write as many values as names


def number_unpacked():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a, b = cid
          # ^ unpacking: a runtime int32 is not a tuple | write as many values as names, separated by commas


def reinterpret_of_another_width():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = T.reinterpret("float16", cid)
            #                               ^ operand-type: int32 has 32 bits, float16 has 16 | reinterpret keeps the width: T.cast converts


def infinity_of_an_integer():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = T.infinity("int32")
            #                 ^ operand-type: int32 has no infinity | write float16, bfloat16 or float32


def column_counts_characters_not_bytes():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = SIZE + len("größe") + nothing_like_it
            #                            ^ unknown-name: `nothing_like_it` is not defined | bind it above this line


def remainder_of_a_float():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = A[1] % 2.0
            #      ^ operand-type: `%` needs integers, found float32 and float32 | convert a float first: T.cast(x, "int32")


def shift_beyond_the_type():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = cid << 32
            #      ^ operand-type: `<<` by 32: int32 is shifted by 0 to 31 bits | write 0 to 31


def loop_given_to_enumerate():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32"), n: T.int32):
        with T.Kernel(1) as (cid, vid):
            for j, i in enumerate(range(n)):
                #                 ^ host-function: `enumerate` runs on the host while the kernel is traced: it does not take a loop of the kernel | loop with `for i in ...:` alone, and compute from `i` what is needed beside it; a range of known size may be given
                A[j] = i


def sizes_one_after_the_other():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32"), n: T.int32):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_shared(4, SIZE, "int32")
            #                     ^ shape: T.alloc_shared takes its sizes as one tuple, found 2 numbers one after the other | write T.alloc_shared((4, 5), dtype)


def assertion_of_an_element():
    @T.prim_func
    def k(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as (cid, vid):
            assert A[0] > 0, "not positive"
          # ^ unsupported-syntax: `assert` of a runtime condition is not supported | write T.device_assert(A[0] > 0, 'not positive'), which is checked where the kernel runs


def axis_and_dim():
    @T.prim_func
    def k(A: T.Tensor((4,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 8), "float32")
            r = T.alloc_ub((8,), "float32")
            T.reduce_sum(a, r, dim=1, axis=1)
            #                         ^ arity: T.reduce_sum got `dim` twice, as dim and as axis | leave one of them out


def kept_dimension_that_is_not_there():
    @T.prim_func
    def k(A: T.Tensor((4,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 8), "float32")
            r = T.alloc_ub((8,), "float32")
            T.reduce_sum(a, r, dim=1, keepdim=True)
            #                                 ^ reduce-shape: reduce_sum: keepdim is True, but out has shape (8,) | leave keepdim out: the shape of `out` says it, such as (rows, 1) or (rows,)
