# ruff: noqa
# fmt: off
"""Masks, gathers, sorts and atomic additions whose arguments do not fit."""

import tile_frontend as T


def integers_have_no_order():
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "int32")
            m = T.alloc_ub((32,), "uint8")
            T.tile.compare(m, a, 3, "LT")
            #                       ^ compare-mode: compare: int32 `a` is compared with LT, expected EQ, the only comparison of integers | cast both sides to float32 first


def integers_that_differ():
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "int32")
            m = T.alloc_ub((32,), "uint8")
            T.tile.compare(m, a, 3, "NE")
            #                       ^ compare-mode: compare: int32 `a` is compared with NE, expected EQ, the only comparison of integers, which is what the device would do for NE too | compare with EQ, and exchange src0 and src1 of T.tile.select


def mask_of_numbers():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            T.tile.select(a, a[0:8], a, 0.0, "VSEL_TENSOR_SCALAR_MODE")
            #                ^ operand-dtype: select: selMask `a` is float32, expected one of int8, uint8 | a mask has a bit for each element: T.tile.compare makes them; compare numbers with 0


def mask_of_words():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            m = T.alloc_ub((64,), "int16")
            T.tile.compare(m, a, 3.0, "LT")
            #              ^ operand-dtype: compare: dst `m` is int16, expected one of int8, uint8 | a mask has a bit for each element: allocate it as uint8, with an eighth of the elements


def mask_too_short():
    @T.prim_func
    def k(A: T.Tensor((512,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((512,), "float32")
            m = T.alloc_ub((32,), "uint8")
            T.tile.compare(m, a, a, "EQ")
            #              ^ shape-mismatch: compare: dst `m` has [32] = 32 elements, expected 64 | allocate more elements


def misspelt_mode():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            m = T.alloc_ub((32,), "uint8")
            T.tile.compare(m, a, a, "LESS")
            #                       ^ attribute-value: compare: mode is 'less', expected one of 'eq', 'ne', 'gt', 'ge', 'lt', 'le'


def number_for_a_tensor():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            m = T.alloc_ub((32,), "uint8")
            T.tile.select(a, m, a, 0, "VSEL_TENSOR_TENSOR_MODE")
            #                      ^ select-mode: select: src1 is a scalar, but VSEL_TENSOR_TENSOR_MODE takes a buffer | write VSEL_TENSOR_SCALAR_MODE


def fraction_for_bits():
    @T.prim_func
    def k(A: T.Tensor((64,), "int16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "int16")
            T.tile.bitwise_and(a, a, 0.5)
            #                        ^ dtype-mismatch: bitwise_and: src1 is a float, but `a` is int16 | write an integer, or T.cast(value, ...) to say how it rounds


def offsets_of_floats():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            b = T.alloc_ub((64,), "float32")
            T.tile.gather(b, a, a, 0)
            #                   ^ operand-dtype: gather: offset `a` is float32, expected one of uint32, int32 | cast it with T.tile.cast first


def gather_from_columns():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((4, 64), "float32")
            b = T.alloc_ub((64,), "float32")
            o = T.alloc_ub((64,), "uint32")
            T.tile.gather(b, a[:, 0:16], o, 0)
            #                ^ strided-operand: gather: src `a` is not contiguous, but is addressed by bytes | copy the slice to a buffer of its own first


def unknown_pattern():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            b = T.alloc_ub((32,), "float32")
            T.tile.gather_mask(b, a, "P0110")
            #                        ^ attribute-value: gather_mask: pattern is 'p0110', expected one of 'p0101', 'p1010', 'p0001', 'p0010', 'p0100', 'p1000', 'p1111'


def strides_left_out():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            p = T.alloc_ub((8,), "uint32")
            T.tile.gathermask_experiment(a, a, p, True, 2, [1, 1, 8], 0)
            #                                              ^ operand-kind: gathermask_experiment: params is a Python list, expected a list of 4 numbers: blkStride, repeat, srcRepStride, patRepStride


def more_than_there_is():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((2, 32), "float32")
            d = T.alloc_ub((200,), "float32")
            T.tile.topk(d, a, 65, 64)
            #                 ^ sort-count: topk: K is 65, but src `a` has 64 elements | write 0 to 64


def pairs_do_not_fit():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            d = T.alloc_ub((64,), "float32")
            T.tile.sort(d, a, 64)
            #           ^ shape-mismatch: sort: dst `d` has [64] = 64 elements, expected 128 | allocate more elements


def five_lists():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            d = T.alloc_ub((320,), "float32")
            T.tile.merge_sort(d, a, a, a, a, a)
            #                    ^ arity: merge_sort: 5 lists are merged, expected 2 to 4 | merge in steps


def sum_of_another_type():
    @T.prim_func
    def k(A: T.Tensor((64,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            T.tile.atomic_add(A[0], a)
            #                       ^ dtype-mismatch: atomic_add: src `a` is float32, but dst `A` is float16 | cast the tile with T.tile.cast first


def sum_on_the_chip():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            b = T.alloc_ub((64,), "float32")
            T.tile.atomic_add(b, a)
            #                 ^ operand-memory: atomic_add: dst `b` is in ub, expected gm


def sides_of_different_size():
    @T.prim_func
    def k(A: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            b = T.alloc_ub((128,), "float32")
            m = T.alloc_ub((32,), "uint8")
            T.tile.compare(m, a, b, "LT")
            #                    ^ shape-mismatch: compare: src1 `b` has [128] = 128 elements, but src0 `a` has [64] = 64 elements | give both operands the same number of elements
