"""Kernels as TileLang has them for the next chip, A5: launches of both kinds of core, the halves of
the vector cores, products of registers, hints of its scheduler. Each runs at `strict`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

M = N = K = 64
TILE, HALF = 32, 16
AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


@pytest.fixture(scope="module")
def operands() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(M, K).half(), torch.randn(N, K).half()


def in_one_program() -> Any:
    """Persistent, each vector core with its half of the rows, written through a name of its own."""

    @T.prim_func
    def kernel(X: T.Buffer((M, K), "float16"), W: T.Buffer((N, K), "float16"),
               C: T.Buffer((M, N), "float32")):  # fmt: skip
        with T.MixedKernel(2, sids=2) as (bx, sid):
            res = T.alloc_l0c((TILE, TILE), "float32", layout=True)
            x = T.alloc_l1((TILE, TILE), "float16")
            w = T.alloc_l1((TILE, TILE), "float16")
            temp = T.alloc_shared((HALF, TILE), "float32")
            T.set_hf32_mode(None)
            for tile in T.Persistent([4], 2, bx):
                m = tile // 2
                n = tile % 2
                for kt in T.Pipelined(K // TILE, num_stages=2):
                    k = kt * TILE
                    T.copy(X[m * TILE : (m + 1) * TILE, k : k + TILE], x, l2_cache_ctrl=4)
                    T.copy(W[n * TILE : (n + 1) * TILE, k : k + TILE], w)
                    T.gemm(x, w, res, transpose_B=True, clear_accum=kt == 0, unit_flag_ctrl=2)
                T.dual_copy(res, temp, unit_flag_ctrl=3)
                with T.SimtVF(threads=128):
                    for i, j in T.Parallel(HALF, TILE):
                        temp[i, j] = temp[i, j] * 2.0
                row = m * TILE + sid * HALF
                T.copy(temp, C[row : row + HALF, n * TILE : (n + 1) * TILE])

    return kernel


def in_scopes(where: str) -> Any:
    """The same with the cores told, the halves handed over by the cube core or the vector cores."""

    @T.prim_func
    def kernel(X: T.Buffer((M, K), "float16"), W: T.Buffer((N, K), "float16"),
               C: T.Buffer((M, N), "float32")):  # fmt: skip
        with T.Kernel(2) as bx:
            res = T.alloc_l0c((TILE, TILE), "float32")
            x = T.alloc_l1((TILE, TILE), "float16")
            w = T.alloc_l1((TILE, TILE), "float16")
            temp = T.alloc_shared((HALF, TILE), "float32")
            with T.Cube():
                for t in T.serial(2):
                    for kt in T.serial(K // TILE):
                        T.copy(X[bx * TILE : (bx + 1) * TILE, kt * TILE : (kt + 1) * TILE], x)
                        T.copy(W[t * TILE : (t + 1) * TILE, kt * TILE : (kt + 1) * TILE], w)
                        T.gemm(x, w, res, transpose_B=True, clear_accum=kt == 0)
                    if where == "cube":
                        T.dual_copy(res, temp)
            with T.Vector() as sid:
                for t in T.serial(2):
                    if where == "vector":
                        T.dual_copy(res, temp)
                    for i, j in T.Parallel(HALF, TILE):
                        temp[i, j] = temp[i, j] * 2.0
                    T.copy(temp, C[bx * TILE + sid * HALF, t * TILE])

    return kernel


def with_a_workspace() -> Any:
    """The same with the words of this chip."""

    @T.prim_func
    def kernel(X: T.Tensor((M, K), "float16"), W: T.Tensor((N, K), "float16"),
               S: T.Tensor((2, TILE, TILE), "float32"),
               C: T.Tensor((M, N), "float32")):  # fmt: skip
        with T.Kernel(2, is_npu=True) as (cid, vid):
            res = T.alloc_L0C((TILE, TILE), "float32")
            x = T.alloc_L1((TILE, TILE), "float16")
            w = T.alloc_L1((TILE, TILE), "float16")
            temp = T.alloc_ub((HALF, TILE), "float32")
            with T.Scope("C"):
                for t in T.serial(2):
                    for kt in T.serial(K // TILE):
                        T.copy(X[cid * TILE : (cid + 1) * TILE, kt * TILE : (kt + 1) * TILE], x)
                        T.copy(W[t * TILE : (t + 1) * TILE, kt * TILE : (kt + 1) * TILE], w)
                        T.gemm_v0(x, w, res, transpose_B=True, init=kt == 0)
                    T.copy(res, S[cid, :, :])
            with T.Scope("V"):
                for t in T.serial(2):
                    T.copy(S[cid, vid * HALF : (vid + 1) * HALF, :], temp)
                    T.tile.mul(temp, temp, 2.0)
                    T.copy(temp, C[cid * TILE + vid * HALF, t * TILE])

    return kernel


@pytest.mark.filterwarnings("ignore:a copy from:UserWarning")
def test_every_form_gives_the_same_bits(operands: tuple[torch.Tensor, torch.Tensor]) -> None:
    x, w = operands
    work = torch.zeros(2, TILE, TILE)
    want = compile(with_a_workspace(), out_idx=[-1], pass_configs=AUTOMATIC)(x, w, work)
    torch.testing.assert_close(want, 2 * x.float() @ w.float().T, rtol=1e-3, atol=1e-3)
    for kernel in (in_one_program(), in_scopes("cube"), in_scopes("vector")):
        assert torch.equal(compile(kernel, out_idx=[-1], target="ascend")(x, w), want)


def of_registers(turn_a: bool, turn_b: bool) -> Any:
    a, b = ((K, TILE) if turn_a else (TILE, K)), ((N, K) if turn_b else (K, N))

    @T.prim_func
    def kernel(X: T.Tensor((K, M) if turn_a else (M, K), "float16"), W: T.Tensor(b, "float16"),
               C: T.Tensor((M, N), "float32")):  # fmt: skip
        with T.Kernel(2) as bx:
            res = T.alloc_l0c((TILE, N), "float32")
            x = T.alloc_l1(a, "float16")
            w = T.alloc_l1(b, "float16")
            x0 = T.alloc_l0a((TILE, TILE), "float16")
            w0 = T.alloc_l0b((N, TILE) if turn_b else (TILE, N), "float16")
            if turn_a:
                T.copy(X[0, bx * TILE], x)
            else:
                T.copy(X[bx * TILE, 0], x)
            T.copy(W, w)
            for k in T.Pipelined(K // TILE, num_stages=2):
                if turn_a:
                    T.copy(x[k * TILE : (k + 1) * TILE, :], x0)
                else:
                    T.copy(x[:, k * TILE : (k + 1) * TILE], x0)
                if turn_b:
                    T.copy(w[:, k * TILE : (k + 1) * TILE], w0)
                else:
                    T.copy(w[k * TILE : (k + 1) * TILE, :], w0)
                T.gemm(x0, w0, res, transpose_A=turn_a, transpose_B=turn_b, clear_accum=k == 0)
            T.copy(res, C[bx * TILE, 0])

    return kernel


@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
def test_products_of_registers(
    turn_a: bool, turn_b: bool, operands: tuple[torch.Tensor, torch.Tensor]
) -> None:
    x, w = operands
    a, b = (x.T.contiguous() if turn_a else x), (w if turn_b else w.T.contiguous())
    got = compile(of_registers(turn_a, turn_b), out_idx=[-1])(a, b)
    torch.testing.assert_close(got, x.float() @ w.float().T, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("registers", [False, True])
def test_a_copy_from_gm_turns_a_tile(registers: bool) -> None:
    @T.prim_func
    def kernel(X: T.Tensor((TILE, K), "float16"), W: T.Tensor((K, N), "float16"),
               C: T.Tensor((TILE, N), "float32")):  # fmt: skip
        with T.Kernel(1):
            res = T.alloc_l0c((TILE, N), "float32")
            x = T.alloc_l1((TILE, TILE), "float16")
            w = T.alloc_l1((2, N, TILE), "float16")
            x0 = T.alloc_l0a((TILE, TILE), "float16")
            w0 = T.alloc_l0b((N, TILE), "float16")
            for k in T.serial(K // TILE):
                T.copy(X[:, k * TILE : (k + 1) * TILE], x)
                T.copy(W[k * TILE : (k + 1) * TILE, :], w[k, :, :], transpose=True)
                if registers:
                    T.copy(x, x0)
                    T.copy(w[k, :, :], w0)
                    T.gemm(x0, w0, res, transpose_B=True, clear_accum=k == 0)
                else:
                    T.gemm(x, w[k, :, :], res, transpose_B=True, clear_accum=k == 0)
            T.copy(res, C)

    x, w = torch.randn(TILE, K).half(), torch.randn(K, N).half()
    got = compile(kernel, out_idx=[-1])(x, w)
    torch.testing.assert_close(got, x.float() @ w.float(), rtol=1e-3, atol=1e-3)


def test_copies_add_while_a_mode_says_so(operands: tuple[torch.Tensor, torch.Tensor]) -> None:
    @T.prim_func
    def split_k(X: T.Buffer((M, K), "float16"), W: T.Buffer((N, K), "float16"),
                C: T.Buffer((M, N), "float32"), D: T.Buffer((M, N), "float32")):  # fmt: skip
        with T.Kernel(4) as bx:
            res = T.alloc_l0c((TILE, N), "float32")
            x = T.alloc_l1((TILE, TILE), "float16")
            w = T.alloc_l1((N, TILE), "float16")
            T.copy(X[bx // 2 * TILE, bx % 2 * TILE], x)
            T.copy(W[0, bx % 2 * TILE], w)
            T.gemm(x, w, res, transpose_B=True, clear_accum=True)
            T.set_atomic("add", "float32")
            with T.PerCoreTask():
                T.copy(res, C[bx // 2 * TILE, 0])
            T.set_atomic_none()
            if bx % 2 == 0:
                T.copy(res, D[bx // 2 * TILE, 0])

    x, w = operands
    c, d = torch.ones(M, N), torch.ones(M, N)
    compile(split_k)(x, w, c, d)
    torch.testing.assert_close(c, x.float() @ w.float().T + 1, rtol=1e-3, atol=1e-3)
    want = x[:, :TILE].float() @ w[:, :TILE].float().T
    torch.testing.assert_close(d, want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("in_turn", [False, True])
def test_blocks_that_wait_for_each_other(
    in_turn: bool, operands: tuple[torch.Tensor, torch.Tensor]
) -> None:
    """The blocks of one half of k store, the others add to that once all have stored."""

    @T.prim_func
    def split_k(X: T.Buffer((M, K), "float16"), W: T.Buffer((N, K), "float16"),
                C: T.Buffer((M, N), "float32")):  # fmt: skip
        with T.Kernel(4) as bx:
            part = bx % 2
            res = T.alloc_l0c((TILE, TILE), "float32")
            x = T.alloc_l1((TILE, TILE), "float16")
            w = T.alloc_l1((TILE, TILE), "float16")
            if part != 0:
                T.set_atomic("add", "float32")
            for t in T.Serial(2):
                T.copy(X[bx // 2 * TILE, part * TILE], x)
                T.copy(W[t * TILE, part * TILE], w)
                T.gemm(x, w, res, transpose_B=True, clear_accum=True)
                if in_turn:
                    for s in T.Serial(2):
                        if part == s:
                            T.copy(res, C[bx // 2 * TILE, t * TILE])
                        T.ascend_sync_inter_arrive("PIPE_FIX", 0)
                        T.ascend_sync_inter_wait("PIPE_FIX", 0)
                else:
                    with T.PerCoreTask():
                        if part == 0:
                            T.copy(res, C[bx // 2 * TILE, t * TILE])
                        T.ascend_sync_inter_arrive("PIPE_FIX", 0)
                        T.ascend_sync_inter_wait("PIPE_FIX", 0)
                        if part != 0:
                            T.copy(res, C[bx // 2 * TILE, t * TILE])
            if part != 0:
                T.set_atomic_none()

    x, w = operands
    got = compile(split_k, out_idx=[-1])(x, w)
    torch.testing.assert_close(got, x.float() @ w.float().T, rtol=1e-3, atol=1e-3)


def test_schedulers_deal_out_every_tile_once() -> None:
    groups, blocks, m, n = 2, 3, 40, 70

    @T.prim_func
    def kernel(X: T.Buffer((groups, m, K), "float16"), W: T.Buffer((n, K), "float16"),
               C: T.Buffer((groups, m, n), "float32")):  # fmt: skip
        with T.Kernel(blocks) as bx:
            res = T.alloc_l0c((TILE, TILE), "float32")
            x = T.alloc_l1((TILE, K), "float16")
            w = T.alloc_l1((TILE, K), "float16")
            sched = T.AscendBatchedTileScheduler(
                block_m=TILE, block_n=TILE, num_cores=blocks, shape_m=m, shape_n=n,
                num_groups=groups, group_m=4, snake=False,
            )  # fmt: skip
            sched.init(bx)
            while sched.valid():
                i, j = sched.m_idx[0], sched.n_idx[0]
                batch = sched.get_batch_idx()
                T.copy(X[batch, i * TILE, 0], x)
                T.copy(W[j * TILE, 0], w)
                T.gemm(x, w, res, transpose_B=True, clear_accum=True)
                if sched.get_actual_m(i) > 0:
                    T.copy(res, C[batch, i * TILE, j * TILE])
                sched.next_block()

    x, w = torch.randn(groups, m, K).half(), torch.randn(n, K).half()
    got = compile(kernel, out_idx=[-1])(x, w)
    torch.testing.assert_close(got, x.float() @ w.float().T, rtol=1e-3, atol=1e-3)


def test_attention_of_both_cores() -> None:
    rows, columns, d, block, half = 32, 64, 32, 32, 16

    @T.prim_func
    def kernel(Q: T.Buffer((rows, d), "float16"), V: T.Buffer((columns, d), "float16"),
               Y: T.Buffer((rows, d), "float32")):  # fmt: skip
        with T.Kernel(rows // block) as bx:
            q = T.alloc_l1((block, d), "float16")
            v = T.alloc_l1((block, d), "float16")
            p = T.alloc_l1((block, block), "float16")
            scores = T.alloc_l0c((block, block), "float32")
            sums = T.alloc_l0c((block, d), "float32")
            s = T.alloc_shared((half, block), "float32")
            narrow = T.alloc_shared((half, block), "float16")
            part = T.alloc_shared((half, d), "float32")
            total = T.alloc_shared((half, d), "float32")
            weight = T.alloc_shared((half,), "float32")
            here = T.alloc_shared((half,), "float32")
            T.copy(Q[bx * block : (bx + 1) * block, :], q)
            T.fill(total, 0.0)
            T.fill(weight, 0.0)
            for j in T.Pipelined(columns // block, num_stages=2):
                T.copy(V[j * block : (j + 1) * block, :], v)
                T.gemm(q, v, scores, transpose_B=True, clear_accum=True)
                T.dual_copy(scores, s)
                with T.SimtVF(threads=128):
                    for i, c in T.Parallel(half, block):
                        s[i, c] = T.exp(s[i, c] / d)
                    T.reduce_sum(s, here, dim=1)
                    for i in T.Parallel(half):
                        weight[i] = weight[i] + here[i]
                    for i, c in T.Parallel(half, block):
                        narrow[i, c] = T.cast(s[i, c], "float16")
                T.dual_copy(narrow, p)
                T.gemm(p, v, sums, clear_accum=True)
                T.dual_copy(sums, part)
                for i, c in T.Parallel(half, d):
                    total[i, c] = total[i, c] + part[i, c]
            for i, c in T.Parallel(half, d):
                total[i, c] = total[i, c] / weight[i]
            T.dual_copy(total, Y[bx * block : (bx + 1) * block, :])

    torch.manual_seed(0)
    q, v = torch.randn(rows, d).half(), torch.randn(columns, d).half()
    got = compile(kernel, out_idx=[-1])(q, v)
    want = torch.softmax(q.float() @ v.float().T / d, -1) @ v.float()
    torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-2)


def test_vector_code_in_frames() -> None:
    @T.prim_func
    def add(A: T.Tensor((2048,), "float32"), B: T.Tensor((2048,), "float32"),
            C: T.Tensor((2048,), "float32")):  # fmt: skip
        with T.Kernel(4) as bx:
            a = T.alloc_shared((256,), "float32")
            b = T.alloc_shared((256,), "float32")
            c = T.alloc_shared((256,), "float32")
            T.annotate_buffer_versions({a: 2, b: (2, "counter"), c: "auto"})
            for step in T.Pipelined(2, num_stages=2, annotations={"enable_offset": True}):
                begin = (step * 4 + bx) * 256
                with T.Stage(0):
                    T.copy(A[begin : begin + 256], a)
                    T.copy(B[begin : begin + 256], b)
                with T.Stage(1), T.SimtVF(threads=(64, 2), latency=7):
                    for i in T.Parallel(256):
                        c[i] = a[i] + b[i]
                T.assume_no_conflict(C[begin : begin + 256], level=0, cross=True)
                with T.Task(latency=10, ii=1):
                    T.copy(c, C[begin : begin + 256])

    a, b = torch.randn(2048), torch.randn(2048)
    assert torch.equal(compile(add, out_idx=[-1])(a, b), a + b)


def test_norms_of_rows() -> None:
    rows, d = 8, 64

    @T.prim_func
    def norm(X: T.Buffer((rows * d,), "float32"), Y: T.Buffer((rows * d,), "float32"),
             W: T.Buffer((d,), "float32"), R: T.Buffer((rows,), "float32"),
             eps: T.float32):  # fmt: skip
        with T.Kernel(4) as core:
            w = T.alloc_shared((d,), "float32")
            x = T.alloc_shared((d), "float32")
            y = T.alloc_shared((d), "float32")
            r = T.alloc_shared((8), "float32")
            T.copy(W[:d], w[:d])
            for t in T.Pipelined(rows // 4, num_stages=2):
                base = (t * 4 + core) * d
                T.copy(X[base : base + d], x[:d])
                with T.SimtVF(threads=128, latency=1824):
                    squares = T.alloc_fragment((d,), "float32")
                    total = T.alloc_fragment((1,), "float32")
                    for i in T.Parallel(d):
                        squares[i] = x[i] * x[i]
                    T.reduce_sum(squares, total)
                    found = T.rsqrt(total[0] / d + eps)
                    r[0] = found
                    for i in T.Parallel(d):
                        y[i] = x[i] * found * w[i]
                T.copy(y[:d], Y[base : base + d])
                T.copy(r[:1], R[t * 4 + core : t * 4 + core + 1])

    x, w = torch.randn(rows, d), torch.randn(d)
    y, r = compile(norm, out_idx=[1, 3])(x.flatten(), w, 1e-6)
    want = torch.rsqrt((x * x).mean(-1) + 1e-6)
    torch.testing.assert_close(r, want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(y.view(rows, d), x * want[:, None] * w, rtol=1e-5, atol=1e-5)


def test_one_vector_core_alone_and_halves_of_columns() -> None:
    @T.prim_func
    def turned(A: T.Tensor((16, 64), "float32"), B: T.Tensor((16, 64), "float32"),
               C: T.Tensor((16, 64), "float32")):  # fmt: skip
        with T.MixedKernel(1) as (bx, sid):
            half = T.alloc_shared((16, 32), "float32")
            flat = T.alloc_shared((8,), "float32")
            T.dual_copy(A, half)
            T.dual_copy(half, B)
            with T.Vector(vector=1):
                T.copy(A[0, 0:8], flat)
                T.copy(flat, C[3, 8:16])

    a, c = torch.randn(16, 64), torch.zeros(16, 64)
    b = torch.zeros(16, 64)
    compile(turned, pass_configs=AUTOMATIC)(a, b, c)
    want = torch.zeros(16, 64)
    want[3, 8:16] = a[0, :8]
    assert torch.equal(b, a) and torch.equal(c, want)


def test_flags_of_one_core() -> None:
    @T.prim_func
    def ordered(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((64,), "float32")
            with T.Vector(vector=1) as sid:
                T.copy(A, a)
                T.ascend_set_flag("MTE2_V", 0)
                T.ascend_wait_flag("MTE2_V", 0)
                T.tile.mul(a, a, 2.0)
                T.ascend_pipe_barrier("PIPE_V")
                T.ascend_set_flag("V_MTE3", 1)
                T.ascend_wait_flag("V_MTE3", 1)
                T.copy(a, B)

    a = torch.randn(64)
    manual = {PassConfigKey.TL_ENABLE_AUTO_SCHEDULE: False}
    assert torch.equal(compile(ordered, out_idx=[-1], pass_configs=manual)(a), 2 * a)


def test_a_register_has_one_order() -> None:
    with pytest.raises(KernelError) as raised:

        @T.prim_func
        def both(X: T.Tensor((TILE, TILE), "float16"), C: T.Tensor((TILE, TILE), "float32")):
            with T.Kernel(1):
                res = T.alloc_l0c((TILE, TILE), "float32")
                x = T.alloc_l1((TILE, TILE), "float16")
                x0 = T.alloc_l0a((TILE, TILE), "float16")
                w0 = T.alloc_l0b((TILE, TILE), "float16")
                T.copy(X, x)
                T.copy(x, x0)
                T.copy(x, w0)
                T.gemm(x0, w0, res, transpose_B=True, clear_accum=True)
                T.gemm(x0, w0, res)
                T.copy(res, C)

    assert raised.value.slug == "matrix-order"
