# ruff: noqa
# fmt: off
"""Operations whose arguments do not fit."""

import tile_frontend as T


def wrong_memory():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.add(a, A, a)
            #             ^ operand-memory: add: src0 `A` is in gm, expected ub | copy it to ub with T.copy first


def wrong_memory_by_keyword():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.add(dst=a, src0=a, src1=A)
            #                              ^ operand-memory: add: src1 `A` is in gm, expected ub | copy it to ub with T.copy first


def wrong_dtype():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "int32")
            T.tile.exp(a, a)
            #          ^ operand-dtype: exp: dst `a` is int32, expected one of float16, float32 | cast it with T.tile.cast first


def different_dtypes():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            b = T.alloc_ub((16,), "float16")
            T.tile.add(
                a,
                a,
                b,
              # ^ dtype-mismatch: add: src1 `b` is float16, but dst `a` is float32 | cast one of them with T.tile.cast
            )


def different_sizes():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            b = T.alloc_ub((2, 16), "float32")
            T.tile.add(a, a, b)
            #                ^ shape-mismatch: add: src1 `b` has [2, 16] = 32 elements, but dst `a` has [16] = 16 elements | give both operands the same number of elements


def fraction_to_integers():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "int32")
            T.tile.add(a, a, 0.5)
            #                ^ dtype-mismatch: add: src1 is a float, but dst `a` is int32 | write an integer, or T.cast(value, ...) to say how it rounds


def too_few_arguments():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.add(a, a)
          # ^ arity: T.tile.add misses `src1` | it takes dst, src0, src1, and stores its result in dst


def too_many_arguments():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.exp(a, a, a)
            #                ^ arity: T.tile.exp takes 2 arguments (dst, src), found 3 | leave out the arguments behind these


def unknown_keyword():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.fill(a, valu=1.0)
            #              ^ unknown-argument: T.tile.fill has no argument `valu` | did you mean `value`?


def unknown_keyword_of_copy():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.copy(A, a, relu=True)
            #            ^ unknown-argument: T.copy has no argument `relu` | did you mean `enable_relu`?


def argument_twice():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.exp(a, a, dst=a)
            #                    ^ arity: T.tile.exp got `dst` twice | leave one of them out


def string_as_operand():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.add(a, "a", a)
            #             ^ operand-kind: add: src0 is the string 'a', expected a buffer | pass a tile or a slice such as x[0:1]


def number_as_destination():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.exp(1.0, a)
            #          ^ operand-kind: exp: dst is a scalar, expected a buffer in ub | pass a tile or a slice such as x[0:1] for dst


def buffer_as_scalar():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.tile.fill(a, a)
            #              ^ operand-kind: fill: value is the buffer `a`, expected a scalar | pass a number, or one element: a[0]


def unknown_pipe():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.set_flag("mte9", "v", 0)
            #          ^ attribute-value: set_flag: src_pipe is 'mte9', expected one of 's', 'v', 'm', 'mte1', 'mte2', 'mte3', 'fix'


def event_out_of_range():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.set_flag("MTE2", "V", 16)
            #                       ^ flag-id: set_flag: event_id is 16, expected 0 to 15


def runtime_pipe():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.pipe_barrier(cid)
            #              ^ attribute-type: pipe_barrier: pipe is a runtime int32, expected a Python str | it is chosen while compiling: use a value from outside the kernel


def cast_without_an_instruction():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float16")
            b = T.alloc_ub((16,), "bfloat16")
            T.tile.cast(a, b, "CAST_NONE", 16)
            #           ^ cast-pair: cast: no instruction converts bfloat16 to float16 | cast to float32 first


def cast_mode():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            b = T.alloc_ub((16,), "float16")
            T.tile.cast(a, b, "CAST_RINT", 16)
            #                 ^ cast-mode: cast: float16 to float32 does not take CAST_RINT, expected one of CAST_NONE | write CAST_NONE


def cast_count():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            b = T.alloc_ub((16,), "float16")
            T.tile.cast(a, b, "CAST_NONE", 32)
            #                              ^ count-range: cast: count is 32, but dst `a` has 16 elements | write 1 to 16


def gemm_operand_in_ub():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16, 16), "float16")
            b = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.gemm_v0(a, b, c)
            #         ^ operand-memory: gemm_v0: A `a` is in ub, expected l1


def gemm_shapes():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((16, 32), "float16")
            b = T.alloc_L1((16, 32), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.gemm_v0(a, b, c, init=True)
            #            ^ shape-mismatch: gemm_v0: A `a` gives k = 32, but B `b` gives k = 16 | A is [m, k] and B is [k, n], unless they are said to be transposed


def gemm_init_is_a_number():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.gemm_v0(a, a, c, init=cid)
            #                       ^ dtype-mismatch: gemm_v0: init is int32, expected a condition | write init=(k == 0)


def runtime_transpose():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.gemm_v0(a, a, c, transpose_B=cid == 0)
            #                              ^ attribute-type: gemm_v0: transpose_B is a runtime bool, expected a Python bool | it is chosen while compiling: use a value from outside the kernel


def copy_of_different_shapes():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((32,), "float32")
            T.copy(A, a)
            #         ^ shape-mismatch: copy: src `A` is [16], but dst `a` is [32] | slice one side, or give a start index, to say which part is copied


def copy_from_element_to_element():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((32,), "float32")
            T.copy(A[0], a[0])
            #            ^ copy-extent: copy: both sides are single elements (`A` and `a`) | slice one of them to say how much is copied


def copy_of_a_number():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.copy(1.0, a)
            #      ^ operand-kind: copy: src is the Python number 1.0, expected a buffer, a slice or a start index | write T.tile.fill(tile, 1.0) to set every element


def copy_of_different_dtypes():
    @T.prim_func
    def k(A: T.Tensor((16,), "int64")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "bfloat16")
            T.copy(A[0:16], a)
            #               ^ dtype-mismatch: copy: src `A` is int64, but dst `a` is bfloat16 | allocate the tile with the same dtype, or with one that T.tile.cast reaches


def copy_option():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.copy(A, a, enable_relu=True)
            #                        ^ copy-option: copy: enable_relu is only for l0c to gm, ub or l1 | call T.tile.relu on the tile in ub


def reduce_axis():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 16), "float32")
            s = T.alloc_ub((8,), "float32")
            T.reduce_sum(a, s, dim=2)
            #                      ^ reduce-axis: reduce_sum: dim is 2 for a buffer of rank 2, expected one of 0, 1, -1, -2 | dims count the last two axes


def reduce_axis_at_run_time():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 16), "float32")
            s = T.alloc_ub((8,), "float32")
            T.reduce_sum(a, s, cid)
            #                  ^ attribute-type: reduce_sum: dim is a runtime int32, expected a Python int


def reduce_result():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 16), "float32")
            s = T.alloc_ub((8,), "float32")
            T.reduce_max(a, s, dim=0)
            #               ^ shape-mismatch: reduce_max: dst `s` has [8] = 8 elements, but reducing `a` [8, 16] along dim 0 gives 16 | allocate `s` with the shape (16,)


def reduce_clear_twice():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 16), "float32")
            s = T.alloc_ub((8,), "float32")
            T.reduce_max(a, s, -1, True, False)
          # ^ arity: reduce_max got `clear` twice | leave one of them out


def reduce_type():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((8, 16), "float32")
            s = T.alloc_ub((8,), "float32")
            T.reduce(a, s, "reduce_summ", -1)
            #              ^ attribute-value: reduce: reduce_type is the string 'reduce_summ', expected one of reduce_sum, reduce_max, reduce_min | did you mean `reduce_sum`?


def printf_arguments():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.printf("%d %d\n", cid)
            #        ^ printf-format: printf: the format has 2 directives, found 1 arguments | write one directive for each argument


def part_of_a_register_that_no_product_reads():
    @T.prim_func
    def k(A: T.Tensor((32, 32), "float16")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 32), "float16")
            a0 = T.alloc_fragment((32, 32), "float16")
            T.copy(A, a)
            T.copy(a, a0, real_k=16)
          # ^ open-register: copy: real_k is about what a product reads, but no product says whether `a0` is its left or its right operand | allocate it with T.alloc_L0A or T.alloc_L0B


def index_for_slice_in_a_load():
    @T.prim_func
    def k(X: T.Tensor((64, 128), "float32")):
        with T.Kernel(4, threads=1) as cid:
            x = T.alloc_ub((64, 32), "float32")
            T.copy(X[:, cid * 32], x)
            #      ^ index-for-slice: copy: an index beside a slice is one long: `X` is [64, 1] here, but `x` is [64, 32] | write `X[:, cid * 32:cid * 32 + 32]`; if one is meant and the rest of `x` is padded, write it as a slice, `i:i + 1`


def index_for_slice_in_a_store():
    @T.prim_func
    def k(X: T.Tensor((64, 128), "float32")):
        with T.Kernel(4, threads=1) as cid:
            x = T.alloc_ub((64, 32), "float32")
            T.copy(x, X[0:64, cid * 32])
            #         ^ index-for-slice: copy: an index beside a slice is one long: `x` is [64, 32] here, but `X` is [64, 1] | write `X[:, cid * 32:cid * 32 + 32]`; if one is meant and nothing else of `x` is stored, write it as a slice, `i:i + 1`


def index_for_slice_of_rows():
    @T.prim_func
    def k(X: T.Tensor((64, 128), "float32")):
        with T.Kernel(4, threads=1) as cid:
            x = T.alloc_ub((64, 32), "float32")
            T.copy(X[cid * 3, 0:32], x)
            #      ^ index-for-slice: copy: an index beside a slice is one long: `X` is [1, 32] here, but `x` is [64, 32] | write `X[cid * 3:cid * 3 + 64, 0:32]`; if one is meant and the rest of `x` is padded, write it as a slice, `i:i + 1`
