# ruff: noqa
# fmt: off
"""Elements of four bits: where they can be, how many, and what takes them."""

import tile_frontend as T


def tensor():
    @T.prim_func
    def k(A: T.Tensor((3, 17), "int4")):
        #    ^ odd-elements: a row has 17 elements, but two elements of int4 share a byte | give the last dimension an even size
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")


def other_memory():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L0C((16, 16), "int4")
            #                         ^ packed-memory: two elements of int4 share a byte: only tensors, and tiles of ub, l1, l0a and l0b have this type | convert it to float16 with T.tile.cast


def variable():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_var("int4")
            #               ^ packed-memory: two elements of int4 share a byte: only tensors, and tiles of ub, l1, l0a and l0b have this type | convert it to float16 with T.tile.cast


def parameter():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16"), n: T.int4):
        #                                ^ packed-memory: two elements of int4 share a byte: only tensors, and tiles of ub, l1, l0a and l0b have this type | convert it to float16 with T.tile.cast
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")


def scalar():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.cast(cid, "int4")
            #               ^ packed-memory: two elements of int4 share a byte: only tensors, and tiles of ub, l1, l0a and l0b have this type | convert it to float16 with T.tile.cast


def odd_row():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((2, 33), "int4")
            #              ^ odd-elements: a row has 33 elements, but two elements of int4 share a byte | give the last dimension an even size


def odd_reinterpretation():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((33,), "float16")
            b = T.alloc_ub((33,), "int8")
            T.reinterpretcast(b, a, "int4b_t")
            #                 ^ odd-elements: a row has 33 elements, but two elements of int4 share a byte | give the last dimension an even size


def too_many():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "int8")
            b = T.alloc_ub((130,), "int4")
            T.reinterpretcast(b, a, "int4")
            #                 ^ reinterpret-size: reinterpretcast: dst `b` has 65 bytes, but src `a` only 64 | give dst a shape that fits


def odd_slice():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float16")
            b = T.alloc_ub((64,), "int4")
            T.tile.cast(b[0:33], a[0:33], "CAST_RINT")
            #           ^ odd-elements: cast: 33 elements in a row of dst `b`, but two elements of int4 share a byte | take an even number of elements


def odd_count():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float16")
            b = T.alloc_ub((64,), "int4")
            T.tile.cast(a, b, "CAST_NONE", 33)
            #              ^ odd-elements: cast: 33 elements in a row of src `b`, but two elements of int4 share a byte | take an even number of elements


def odd_count_of_a_matrix():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((2, 64), "float16")
            b = T.alloc_ub((2, 64), "int4")
            T.tile.cast(a, b, "CAST_NONE", 67)
            #                              ^ odd-elements: cast: 67 elements to convert in src `b`, but two elements of int4 share a byte | take an even number of elements


def wrong_mode():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float16")
            b = T.alloc_ub((64,), "int4")
            T.tile.cast(a, b, "CAST_RINT")
            #                 ^ cast-mode: cast: int4 to float16 does not take CAST_RINT, expected one of CAST_NONE | write CAST_NONE


def detour():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            b = T.alloc_ub((64,), "int4")
            T.tile.cast(b, a, "CAST_RINT")
            #           ^ cast-pair: cast: no instruction converts float32 to int4 | cast to float16 first


def read():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64,), "int4")
            a = b[3] + 1
            #   ^ packed-scalar: an element of int4 has no address of its own | convert the tile with T.tile.cast, or take the bytes that T.reinterpretcast names


def write():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64,), "int4")
            b[3] = 1
        #   ^ packed-scalar: an element of int4 has no address of its own | convert the tile with T.tile.cast, or take the bytes that T.reinterpretcast names


def parallel():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((64,), "float16")
            b = T.alloc_ub((64,), "int4")
            for i in T.Parallel(64):
                a[i] = b[i] * a[i]
                #      ^ packed-scalar: an element of int4 has no address of its own | convert the tile with T.tile.cast, or take the bytes that T.reinterpretcast names


def addition():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64,), "int4")
            T.tile.add(b, b, b)
            #          ^ operand-dtype: add: dst `b` is int4, expected one of int16, float16, int32, float32 | cast it with T.tile.cast first


def filled():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64,), "int4")
            T.tile.fill(b, 1)
            #           ^ operand-dtype: fill: dst `b` is int4, expected one of int16, uint16, float16, bfloat16, int32, uint32, float32, bool, int8, uint8, int64, uint64 | cast it with T.tile.cast first


def copied():
    @T.prim_func
    def k(A: T.Tensor((16,), "float16")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64,), "int4")
            c = T.alloc_ub((64,), "int4")
            T.copy(b, c)
            #      ^ operand-dtype: copy: src `b` and dst are int4, but copies within ub move whole bytes | copy int8 tiles, whose bytes T.reinterpretcast names


def loaded():
    @T.prim_func
    def k(A: T.Tensor((64,), "int8")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64,), "int4")
            T.copy(A, b)
            #         ^ dtype-mismatch: copy: src `A` is int8, but dst `b` is int4 | allocate the tile with the same dtype, or with one that T.tile.cast reaches


def dumped():
    @T.prim_func
    def k(A: T.Tensor((64,), "int8")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64,), "int4")
            T.dump_tensor(b, 1, 8)
            #             ^ operand-dtype: dump_tensor: buffer `b` is int4, expected a type of whole bytes | T.tile.cast converts int4 from and to float16; its bytes have a name of their own where T.reinterpretcast gives them one


def reduced():
    @T.prim_func
    def k(A: T.Tensor((64,), "int8")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((2, 64), "int4")
            c = T.alloc_ub((2,), "int4")
            T.reduce_sum(b, c, dim=-1)
            #            ^ operand-dtype: reduce_sum: src `b` is int4, expected one of float16, float32 | cast it with T.tile.cast first


def transposed():
    @T.prim_func
    def k(A: T.Tensor((64,), "int8")):
        with T.Kernel(1) as (cid, vid):
            b = T.alloc_ub((64, 64), "int4")
            c = T.alloc_ub((64, 64), "int4")
            T.tile.transpose(b, c)
            #                ^ operand-dtype: transpose: dst `b` is int4, expected one of int16, uint16, float16, bfloat16, int32, uint32, float32 | cast it with T.tile.cast first
