"""Kernels with a line for every name of the language that is no operation. The page of the language
shows these lines, and traces and compiles the kernels to do so."""

import tile_frontend as T
from tile_frontend._evaluate.eager import EagerFunction

n = T.symbolic("n")
BLOCKS = T.cdiv(1000, 256)
WIDTH = T.next_power_of_2(100)
TILES = T.recommend_tiles(4096, 4096, 4096)
CONFIGS = T.recommend_configs("reduction", 4096, 1024, most=4)
half = T.DataType("float16")


@T.macro
def scale(buffer, factor):
    T.tile.mul(buffer, buffer, factor)


@T.prim_func
def kernels(A: T.Tensor((n, 128), "float32"), B: T.Buffer((n, 128), "float32"), s: T.float32):
    T.func_attr({"enable_auto_sync": True})
    with T.Kernel(T.ceildiv(n, 16), is_npu=True) as (cid, vid):
        a = T.alloc_ub((8, 128), "float32")
        T.assume(n % 16 == 0)
        with T.Scope("V"):
            T.copy(A[cid * 16 + vid * 8, 0], a)
            T.print(a[0, 0:4], msg="first")
            scale(a, s)
            T.copy(a, B[cid * 16 + vid * 8, 0])


@T.prim_func
def buffers(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
    with T.Kernel(1) as (cid, vid):
        a = T.alloc_L1((64, 64), "float16")
        b = T.alloc_L1((64, 64), "float16")
        left = T.alloc_L0A((64, 64), "float16")
        right = T.alloc_L0B((64, 64), "float16")
        c = T.alloc_L0C((64, 64), "float32")
        bias = T.alloc_BT((64,), "float32")
        words = T.alloc_ub((128,), "float16")
        bits = T.alloc_ub((128,), "int16")
        count = T.alloc_var("int32", init=0)
        T.annotate_address({a: 0, b: 8192})
        T.annotate_layout({a: T.make_zn_layout(a)})
        T.annotate_layout({b: T.make_nz_layout(b)})
        T.reinterpretcast(bits, words, "int16")
        square = T.reshape(words, (8, 16))
        pairs = T.view(words, (64,), "int32")
        with T.Scope("C"):
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a, left)
            T.copy(b, right)
            T.mma(left, right, c, init=count == 0)
        with T.Scope("V"):
            T.tile.fill(words, 1.0)
            T.tile.bitwise_not(bits, bits)


@T.prim_func
def four_bits(W: T.Tensor((16, 64), "int8"), F: T.Tensor((16, 128), "float16")):
    with T.Kernel(1) as (cid, vid):
        packed = T.alloc_ub((16, 64), "int8")
        weights = T.alloc_ub((16, 128), "int4")
        wide = T.alloc_ub((16, 128), "float16")
        T.reinterpretcast(weights, packed, "int4")
        T.copy(W, packed)
        T.tile.cast(wide, weights, "CAST_NONE")
        T.copy(wide, F)


@T.prim_func
def shared(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
    with T.Kernel(1, threads=2) as cid:
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(A, a)
        T.copy(B, b)
        T.gemm_v0(a, b, c, init=True)


@T.prim_func
def loops(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 128), "float32")):
    with T.Kernel(4) as (cid, vid):
        a = T.alloc_ub((8, 128), "float32")
        b = T.alloc_ub((8, 128), "float32")
        with T.Scope("V"):
            for i in T.serial(2, 8):
                T.tile.fill(a[i, :], 0.0)
            for i in T.range(8):
                T.tile.fill(a[i, :], 0.0)
            for i in T.unroll(4):
                T.tile.fill(b[i, :], 1.0)
            for i, j in T.grid(8, 2):
                T.tile.fill(b[i, j * 64 : j * 64 + 64], 2.0)
            for i, j in T.Parallel(8, 128):
                b[i, j] = a[i, j] * 2.0 + 1.0
            for i in T.Pipelined(4, num_stages=2):
                T.copy(A[i * 8, 0], a)
            for m, k in T.Persistent([8, 4], 4, cid, group_size=2):
                T.copy(A[m * 8, k * 32], a[:, 0:32])
            for i in T.serial(8):
                if a[i, 0] > 0.0:
                    T.loop_break()
            tile = T.use_swizzle(cid, 64, 128, 64, 32, 64, off=2)
            T.copy(a, B[tile * 8, 0])


@T.prim_func
def branches(A: T.Tensor((128,), "float32")):
    with T.Kernel(2) as (cid, vid):
        a = T.alloc_ub((128,), "float32")
        with T.Scope("V"), T.If(cid == 0):
            with T.Then():
                T.tile.fill(a, 0.0)
            with T.Else():
                T.tile.fill(a, 1.0)


@T.prim_func
def scalars(A: T.Tensor((128,), "float32"), k: T.int32):
    with T.Kernel(2) as (cid, vid):
        a = T.alloc_ub((128,), "float32")
        b = T.alloc_ub((128,), "int32")
        with T.Scope("V"):
            a[0] = T.if_then_else(k > 0, a[1], 0.0)
            a[1] = T.Select(k > 0, a[1], 0.0)
            if T.And(k > 0, cid == 0):
                a[2] = T.max(a[0], a[1])
            if T.Or(k > 0, cid == 0):
                a[3] = T.min(a[0], a[1])
            if T.Not(k == 1):
                a[4] = T.abs(a[0])
            a[5] = T.exp(a[0])
            a[6] = T.log(a[0])
            a[7] = T.sqrt(a[0])
            a[8] = T.rsqrt(a[0])
            a[9] = T.floor(a[0])
            a[10] = T.ceil(a[0])
            b[0] = T.ceildiv(k, 16)
            b[1] = T.floordiv(k, 16)
            b[2] = T.floormod(k, 16)
            b[3] = T.cast(a[0], "int32")
            b[4] = T.Cast("int32", a[0])
            b[5] = T.reinterpret(a[0], "int32")
            b[6] = T.truncdiv(k, 16)
            b[7] = T.truncmod(k, 16)
            b[8] = T.bitwise_and(k, 15)
            b[9] = T.bitwise_or(k, 15)
            b[10] = T.bitwise_xor(k, 15)
            b[11] = T.bitwise_not(k)
            b[12] = T.shift_left(k, 4)
            b[13] = T.shift_right(k, 4)
            a[11] = T.clamp(a[0], 0.0, 1.0)
            a[12] = T.if_then_else(T.isnan(a[0]), 0.0, a[0])
            a[13] = T.if_then_else(T.isinf(a[0]), 0.0, a[0])
            a[14] = T.if_then_else(T.isfinite(a[0]), a[0], 0.0)
            T.tile.fill(a, -T.infinity("float32"))
            T.tile.fill(b, T.max_value("int32"))
            T.tile.fill(a, T.min_value("float32"))


@T.prim_func
def functions(A: T.Tensor((128,), "float32")):
    with T.Kernel(2) as (cid, vid):
        a = T.alloc_ub((128,), "float32")
        b = T.alloc_ub((128,), "float32")
        with T.Scope("V"):
            T.copy(A, a)
            for i in T.Parallel(128):
                b[i] = T.pow(a[i], 1.5)
                b[i] = T.exp2(a[i] - b[i])
                b[i] = T.log2(a[i]) + T.cast(i, "float32")
                b[i] = T.log10(a[i])
                b[i] = T.sigmoid(a[i])
                b[i] = T.tanh(a[i])
                b[i] = T.erf(a[i])
                b[i] = T.sin(a[i])
                b[i] = T.cos(a[i])
                b[i] = T.round(a[i])
                b[i] = T.trunc(a[i])


@T.prim_func
def reductions(A: T.Tensor((8, 128), "float32")):
    with T.Kernel(2) as (cid, vid):
        a = T.alloc_ub((8, 128), "float32")
        row = T.alloc_ub((8,), "float32")
        with T.Scope("V"):
            T.reduce(a, row, "reduce_sum", -1)


def product(A, B, block: int):
    M, N, K = T.const("M, N, K")
    short = T.dtype("float16")
    A: T.Tensor((M, K), short)
    B: T.Tensor((K, N), short)
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
        a = T.alloc_shared((block, block), short)
        b = T.alloc_shared((block, block), short)
        c = T.alloc_fragment((block, block), "float32")
        row = T.alloc_fragment((block,), "float32")
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, block), num_stages=3):
            T.copy(A[by * block, k * block], a)
            T.copy(B[k * block, bx * block], b)
            T.gemm(a, b, c)
        for i in T.vectorized(block):
            row[i] = c[0, i] * 2.0
        T.copy(c, C[by * block, bx * block])
    return C


@T.prim_func
def in_two_launches(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    between = T.alloc_global((64,), "float32")
    with T.Kernel(1, threads=128) as b:
        a = T.alloc_shared((64,), "float32")
        T.copy(A, a)
        T.copy(a, between)
    with T.Kernel(1, threads=128) as b:
        a = T.alloc_shared((64,), "float32")
        T.copy(between, a)
        T.copy(a, B)


first_launch, second_launch = in_two_launches.funcs
SIZES = {"M": 64, "N": 64, "K": 64}
product_of_sizes = EagerFunction(product).traced({"block": 32}, SIZES).func


@T.prim_func
def devices(
    x: T.SymmTensor((4, 64), "float32"), y: T.SymmTensor((4, 64), "float32"), words: T.Signals(6)
):
    with T.Kernel(1) as cid, T.Scale("device") as (r, num):
        right = (T.rank() + 1) % T.num_ranks()
        T.put(x[0, :], y[r % 4, :], right)
        T.get(x[1, :], y[1, :], right)
        T.quiet()
        T.fence()
        T.signal(words[0], 1, right)
        T.put_signal(x, y, words[1], 1, right, op="add")
        handle = T.put_async(x, y, right)
        T.wait(handle)
        T.wait(T.get_async(y, x, right))
        T.wait_eq(words[0], 1)
        T.wait_ne(words[0], 0)
        T.wait_ge(words[1], 1)
        T.wait_gt(words[1], 0)
        T.wait_le(words[1], num)
        T.wait_lt(words[2], 1)
        T.barrier()


@T.prim_func
def doubled(x: T.Tensor((320,), "float32"), y: T.Tensor((320,), "float32")):
    with T.Kernel(5, threads=2, is_npu=True) as cid:
        a = T.alloc_shared((64,), "float32")
        T.copy(x[cid * 64], a)
        for i in T.Parallel(64):
            a[i] = a[i] * 2.0
        T.copy(a, y[cid * 64])


twice = T.Task(doubled)
chain = T.megakernel([twice("x", "h"), twice("h", "y")], inputs=["x"], outputs=["y"])
first, second = twice("x", "y"), twice("w", "z")
ordered = T.megakernel([T.prefetch("w", slice(0, 256)), first, second, T.after(first, second)])
