"""Attention as kernels for GPUs have it: layouts, groups of heads, masks, sequences of any length,
gradients, one large head. Each at `strict` against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

BLOCK, D = 32, 32
LOG2E = 1.4426950408889634


def close(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 5e-3) -> None:
    torch.testing.assert_close(found.float(), expected.float(), rtol=tolerance, atol=tolerance)


@T.macro
def causal_mask(s, first, other, limit):
    for i, j in T.Parallel(BLOCK, BLOCK):
        s[i, j] = T.if_then_else(first + i >= other + j, 0, -T.infinity("float32"))


@T.macro
def window_mask(s, first, other, limit):
    for i, j in T.Parallel(BLOCK, BLOCK):
        inside = (first + i >= other + j) & (first + i < other + j + limit)
        s[i, j] = T.if_then_else(inside, 0, -T.infinity("float32"))


@T.macro
def end_mask(s, first, other, limit):
    for i, j in T.Parallel(BLOCK, BLOCK):
        s[i, j] = T.if_then_else(other + j < limit, 0, -T.infinity("float32"))


MASKS = {"causal": causal_mask, "window": window_mask, "all": end_mask}


def forward(layout: str, B: int, H: int, G: int, S: int, how: str, window: int = 0) -> Any:
    """`G` heads of Q share one of K and V. `how` says which scores count."""
    heads_first = layout == "bhsd"
    of_q = (B, H, S, D) if heads_first else (B, S, H, D)
    of_k = (B, H // G, S, D) if heads_first else (B, S, H // G, D)

    def rows(X: Any, b: Any, h: Any, s: Any) -> Any:
        return X[b, h, s : s + BLOCK, :] if heads_first else X[b, s : s + BLOCK, h, :]

    mask = MASKS.get(how, MASKS["all"])

    @T.prim_func
    def main(Q: T.Tensor(of_q, "float16"), K: T.Tensor(of_k, "float16"),
             V: T.Tensor(of_k, "float16"), Sinks: T.Tensor((H,), "float32"),
             Out: T.Tensor(of_q, "float16"), Lse: T.Tensor((B, H, S), "float32")):  # fmt: skip
        with T.Kernel(T.ceildiv(S, BLOCK), H, B, threads=128) as (bx, by, bz):
            q = T.alloc_shared((BLOCK, D), "float16")
            k = T.alloc_shared((BLOCK, D), "float16")
            v = T.alloc_shared((BLOCK, D), "float16")
            s = T.alloc_fragment((BLOCK, BLOCK), "float32")
            p = T.alloc_fragment((BLOCK, BLOCK), "float16")
            o = T.alloc_fragment((BLOCK, D), "float32")
            most = T.alloc_fragment((BLOCK,), "float32")
            before = T.alloc_fragment((BLOCK,), "float32")
            scale = T.alloc_fragment((BLOCK,), "float32")
            part = T.alloc_fragment((BLOCK,), "float32")
            total = T.alloc_fragment((BLOCK,), "float32")
            factor = LOG2E / D**0.5
            T.copy(rows(Q, bz, by, bx * BLOCK), q)
            T.clear(o)
            T.clear(total)
            T.fill(most, -1e30)
            rounds = bx + 1 if how in ("causal", "window") else T.ceildiv(S, BLOCK)
            for n in T.Pipelined(rounds, num_stages=2):
                T.copy(rows(K, bz, by // G, n * BLOCK), k)
                mask(s, bx * BLOCK, n * BLOCK, window if how == "window" else S)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(most, before)
                T.reduce_max(s, most, dim=1, clear=False)
                for i in T.Parallel(BLOCK):
                    most[i] = T.max(most[i], before[i])
                    scale[i] = T.exp2((before[i] - most[i]) * factor)
                for i, j in T.Parallel(BLOCK, BLOCK):
                    s[i, j] = T.exp2(s[i, j] * factor - most[i] * factor)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BLOCK):
                    total[i] = total[i] * scale[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(BLOCK, D):
                    o[i, j] *= scale[i]
                T.copy(rows(V, bz, by // G, n * BLOCK), v)
                T.gemm(p, v, o)
            if how == "sink":
                for i in T.Parallel(BLOCK):
                    total[i] += T.exp2(Sinks[by] * LOG2E - most[i] * factor)
            for i, j in T.Parallel(BLOCK, D):
                o[i, j] /= total[i]
            for i in T.Parallel(BLOCK):
                total[i] = T.log2(total[i]) + most[i] * factor
            T.copy(o, rows(Out, bz, by, bx * BLOCK))
            T.copy(total, Lse[bz, by, bx * BLOCK : (bx + 1) * BLOCK])

    return main


def scores(q: torch.Tensor, k: torch.Tensor, how: str, window: int = 0) -> torch.Tensor:
    """Of tensors [B, H, S, D], with -inf where nothing counts."""
    found = q.float() @ k.float().transpose(-1, -2) / D**0.5
    at = torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])[None]
    if how in ("causal", "window"):
        found = found.masked_fill(at < 0, -float("inf"))
    if how == "window":
        found = found.masked_fill(at >= window, -float("inf"))
    return found


FORWARD = [("bhsd", 1, "all", 64), ("bshd", 1, "causal", 64), ("bhsd", 2, "causal", 80),
           ("bshd", 2, "window", 96), ("bhsd", 1, "sink", 64), ("bshd", 4, "sink", 40),
           ("bshd", 1, "all", 40)]  # fmt: skip


@pytest.mark.parametrize(("layout", "groups", "how", "length"), FORWARD)
def test_forward(layout: str, groups: int, how: str, length: int) -> None:
    torch.manual_seed(0)
    B, H, window = 2, 4, 37
    q, k, v = (torch.randn(B, h, length, D).half() for h in (H, H // groups, H // groups))
    sinks = torch.randn(H)
    s = scores(q, k.repeat_interleave(groups, 1), how, window)
    if how == "sink":
        s = torch.cat((s, sinks[None, :, None, None].expand(B, H, length, 1)), -1)
    weights = s.softmax(-1)[..., :length]
    expected = weights @ v.float().repeat_interleave(groups, 1)
    lse = s.logsumexp(-1) * LOG2E
    if layout == "bshd":
        q, k, v, expected = (t.transpose(1, 2).contiguous() for t in (q, k, v, expected))
    found, sums = compile(forward(layout, B, H, groups, length, how, window), out_idx=[4, 5])(
        q, k, v, sinks
    )
    close(found, expected)
    close(sums, lse)


@pytest.mark.parametrize("quotients", [False, True])
def test_sequences_of_any_length(quotients: bool) -> None:
    """Rows of all sequences behind each other; a block reads on into the next one and masks it.
    Rounds of a number that is read from gm, with scales as products and as quotients."""
    H, lengths = 2, [40, 1, 33, 0, 22]
    total, most = sum(lengths), max(lengths)

    @T.prim_func
    def main(Q: T.Tensor((total, H, D), "float16"), K: T.Tensor((total, H, D), "float16"),
             V: T.Tensor((total, H, D), "float16"), Starts: T.Tensor((len(lengths) + 1,), "int32"),
             Out: T.Tensor((total, H, D), "float16")):  # fmt: skip
        with T.Kernel(T.ceildiv(most, BLOCK), H, len(lengths), threads=128) as (bx, by, bz):
            q = T.alloc_shared((BLOCK, D), "float16")
            k = T.alloc_shared((BLOCK, D), "float16")
            v = T.alloc_shared((BLOCK, D), "float16")
            s = T.alloc_fragment((BLOCK, BLOCK), "float32")
            p = T.alloc_fragment((BLOCK, BLOCK), "float16")
            o = T.alloc_fragment((BLOCK, D), "float32")
            most_s = T.alloc_fragment((BLOCK,), "float32")
            before = T.alloc_fragment((BLOCK,), "float32")
            part = T.alloc_fragment((BLOCK,), "float32")
            sums = T.alloc_fragment((BLOCK,), "float32")
            scale = T.alloc_fragment((BLOCK,), "float32")
            factor = LOG2E / D**0.5
            start = Starts[bz]
            length = Starts[bz + 1] - start
            T.copy(Q[start + bx * BLOCK : start + (bx + 1) * BLOCK, by, :], q)
            T.clear(o)
            T.clear(sums)
            T.fill(most_s, -1e30)
            for n in T.Pipelined(T.ceildiv(length, BLOCK), num_stages=1):
                T.copy(K[start + n * BLOCK : start + (n + 1) * BLOCK, by, :], k)
                T.copy(V[start + n * BLOCK : start + (n + 1) * BLOCK, by, :], v)
                for i, j in T.Parallel(BLOCK, BLOCK):
                    s[i, j] = T.if_then_else(n * BLOCK + j < length, 0, -1e9)
                T.gemm(q, k, s, transpose_B=True)
                T.copy(most_s, before)
                T.reduce_max(s, most_s, dim=1, clear=False)
                for i, j in T.Parallel(BLOCK, BLOCK):
                    if quotients:
                        s[i, j] = T.exp((s[i, j] - most_s[i]) / D**0.5)
                    else:
                        s[i, j] = T.exp2(s[i, j] * factor - most_s[i] * factor)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BLOCK):
                    if quotients:
                        sums[i] = sums[i] * T.exp((before[i] - most_s[i]) / D**0.5) + part[i]
                    else:
                        scale[i] = T.exp2(before[i] * factor - most_s[i] * factor)
                        sums[i] = sums[i] * scale[i] + part[i]
                for i, j in T.Parallel(BLOCK, D):
                    if quotients:
                        o[i, j] *= T.exp((before[i] - most_s[i]) / D**0.5)
                    else:
                        o[i, j] *= scale[i]
                T.copy(s, p)
                T.gemm(p, v, o)
            for i, j in T.Parallel(BLOCK, D):
                if bx * BLOCK + i < length:
                    Out[start + bx * BLOCK + i, by, j] = o[i, j] / sums[i]

    torch.manual_seed(0)
    q, k, v = (torch.randn(total, H, D).half() for _ in "qkv")
    starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)
    found = torch.full((total, H, D), 7).half()
    compile(main)(q, k, v, starts, found)
    for first, last in zip(starts.tolist(), starts.tolist()[1:], strict=False):
        a, b, c = (t[first:last].transpose(0, 1).float() for t in (q, k, v))
        weights = (a @ b.transpose(1, 2) / D**0.5).softmax(-1)
        close(found[first:last].transpose(0, 1), weights @ c)


def backward(B: int, H: int, S: int, causal: bool, split: bool) -> Any:
    """Gradients of K and V by blocks of their rows; those of Q by atomics from each, or by a launch
    of their own."""
    shape = (B, S, H, D)

    @T.macro
    def weights(s, k, q, lse, first, other):
        """exp2 of the scores of rows of K with rows of Q."""
        T.clear(s)
        T.gemm(k, q, s, transpose_B=True)
        for i, j in T.Parallel(BLOCK, BLOCK):
            s[i, j] = T.exp2(s[i, j] * (LOG2E / D**0.5) - lse[j])
        if causal:
            for i, j in T.Parallel(BLOCK, BLOCK):
                s[i, j] = T.if_then_else(first + i <= other + j, s[i, j], 0)

    @T.prim_func
    def main(Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"),
             V: T.Tensor(shape, "float16"), dO: T.Tensor(shape, "float16"),
             Lse: T.Tensor((B, H, S), "float32"), Delta: T.Tensor((B, H, S), "float32"),
             dQ: T.Tensor(shape, "float32"), dK: T.Tensor(shape, "float16"),
             dV: T.Tensor(shape, "float16")):  # fmt: skip
        with T.Kernel(H, T.ceildiv(S, BLOCK), B, threads=128) as (bx, by, bz):
            k = T.alloc_shared((BLOCK, D), "float16")
            v = T.alloc_shared((BLOCK, D), "float16")
            q = T.alloc_shared((BLOCK, D), "float16")
            do = T.alloc_shared((BLOCK, D), "float16")
            lse = T.alloc_shared((BLOCK,), "float32")
            delta = T.alloc_shared((BLOCK,), "float32")
            s = T.alloc_fragment((BLOCK, BLOCK), "float32")
            ds = T.alloc_fragment((BLOCK, BLOCK), "float32")
            p = T.alloc_fragment((BLOCK, BLOCK), "float16")
            ds_shared = T.alloc_shared((BLOCK, BLOCK), "float16")
            dk = T.alloc_fragment((BLOCK, D), "float32")
            dv = T.alloc_fragment((BLOCK, D), "float32")
            dq = T.alloc_fragment((BLOCK, D), "float32")
            T.copy(K[bz, by * BLOCK : (by + 1) * BLOCK, bx, :], k)
            T.copy(V[bz, by * BLOCK : (by + 1) * BLOCK, bx, :], v)
            T.clear(dk)
            T.clear(dv)
            for n in T.Pipelined(by if causal else 0, T.ceildiv(S, BLOCK), num_stages=2):
                T.copy(Q[bz, n * BLOCK : (n + 1) * BLOCK, bx, :], q)
                T.copy(dO[bz, n * BLOCK : (n + 1) * BLOCK, bx, :], do)
                T.copy(Lse[bz, bx, n * BLOCK : (n + 1) * BLOCK], lse)
                T.copy(Delta[bz, bx, n * BLOCK : (n + 1) * BLOCK], delta)
                weights(s, k, q, lse, by * BLOCK, n * BLOCK)
                T.copy(s, p)
                T.gemm(p, do, dv)
                T.clear(ds)
                T.gemm(v, do, ds, transpose_B=True)
                for i, j in T.Parallel(BLOCK, BLOCK):
                    p[i, j] = s[i, j] * (ds[i, j] - delta[j]) / D**0.5
                T.gemm(p, q, dk)
                if not split:
                    T.copy(p, ds_shared)
                    T.clear(dq)
                    T.gemm(ds_shared, k, dq, transpose_A=True)
                    for i, j in T.Parallel(BLOCK, D):
                        T.atomic_add(dQ[bz, n * BLOCK + i, bx, j], dq[i, j])
            T.copy(dv, dV[bz, by * BLOCK : (by + 1) * BLOCK, bx, :])
            T.copy(dk, dK[bz, by * BLOCK : (by + 1) * BLOCK, bx, :])
        if split:
            with T.Kernel(H, T.ceildiv(S, BLOCK), B, threads=128) as (bx, by, bz):
                k = T.alloc_shared((BLOCK, D), "float16")
                v = T.alloc_shared((BLOCK, D), "float16")
                q = T.alloc_shared((BLOCK, D), "float16")
                do = T.alloc_shared((BLOCK, D), "float16")
                lse = T.alloc_shared((BLOCK,), "float32")
                delta = T.alloc_shared((BLOCK,), "float32")
                s = T.alloc_fragment((BLOCK, BLOCK), "float32")
                ds = T.alloc_fragment((BLOCK, BLOCK), "float32")
                p = T.alloc_shared((BLOCK, BLOCK), "float16")
                dq = T.alloc_fragment((BLOCK, D), "float32")
                T.copy(Q[bz, by * BLOCK : (by + 1) * BLOCK, bx, :], q)
                T.copy(dO[bz, by * BLOCK : (by + 1) * BLOCK, bx, :], do)
                T.copy(Lse[bz, bx, by * BLOCK : (by + 1) * BLOCK], lse)
                T.copy(Delta[bz, bx, by * BLOCK : (by + 1) * BLOCK], delta)
                T.clear(dq)
                for n in T.Pipelined(by + 1 if causal else T.ceildiv(S, BLOCK), num_stages=1):
                    T.copy(K[bz, n * BLOCK : (n + 1) * BLOCK, bx, :], k)
                    T.copy(V[bz, n * BLOCK : (n + 1) * BLOCK, bx, :], v)
                    weights(s, k, q, lse, n * BLOCK, by * BLOCK)
                    T.gemm(v, do, ds, transpose_B=True, clear_accum=True)
                    for i, j in T.Parallel(BLOCK, BLOCK):
                        p[i, j] = s[i, j] * (ds[i, j] - delta[j]) / D**0.5
                    T.gemm(p, k, dq, transpose_A=True)
                T.copy(dq, dQ[bz, by * BLOCK : (by + 1) * BLOCK, bx, :])

    return main


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_gradients(causal: bool, split: bool) -> None:
    torch.manual_seed(0)
    B, H, S = 1, 2, 96
    q, k, v, do = (torch.randn(B, S, H, D).half() for _ in range(4))
    inputs = [t.float().transpose(1, 2).requires_grad_() for t in (q, k, v)]
    s = scores(inputs[0], inputs[1], "causal" if causal else "all")
    out = s.softmax(-1) @ inputs[2]
    out.backward(do.float().transpose(1, 2))
    lse = (s.logsumexp(-1) * LOG2E).detach()
    delta = (out.detach() * do.float().transpose(1, 2)).sum(-1)
    dq = torch.zeros(B, S, H, D)
    dk, dv = torch.zeros(B, S, H, D).half(), torch.zeros(B, S, H, D).half()
    compile(backward(B, H, S, causal, split))(
        q, k, v, do, lse.contiguous(), delta.contiguous(), dq, dk, dv
    )
    for found, given in zip((dq, dk, dv), inputs, strict=True):
        assert given.grad is not None
        close(found, given.grad.transpose(1, 2), 1e-2)


def test_decoding_with_a_large_latent() -> None:
    """Heads share one row of 512 values and 64 of the place, which is both key and value."""
    B, H, S, W, P = 1, 16, 64, 512, 64

    @T.prim_func
    def main(Q: T.Tensor((B, H, W), "float16"), QP: T.Tensor((B, H, P), "float16"),
             KV: T.Tensor((B, S, 1, W), "float16"), KP: T.Tensor((B, S, 1, P), "float16"),
             Out: T.Tensor((B, H, W), "float16")):  # fmt: skip
        with T.Kernel(B, threads=256) as b:
            q = T.alloc_shared((H, W), "float16")
            qp = T.alloc_shared((H, P), "float16")
            kv = T.alloc_shared((BLOCK, W), "float16")
            kp = T.alloc_shared((BLOCK, P), "float16")
            s = T.alloc_fragment((H, BLOCK), "float32")
            weights = T.alloc_shared((H, BLOCK), "float16")
            o = T.alloc_fragment((H, W), "float32")
            most = T.alloc_fragment((H,), "float32")
            before = T.alloc_fragment((H,), "float32")
            part = T.alloc_fragment((H,), "float32")
            total = T.alloc_fragment((H,), "float32")
            factor = LOG2E / (W + P) ** 0.5
            T.copy(Q[b, :, :], q)
            T.copy(QP[b, :, :], qp)
            T.fill(o, 0)
            T.fill(total, 0)
            T.fill(most, -T.infinity("float32"))
            for n in T.Pipelined(S // BLOCK, num_stages=2):
                T.copy(KV[b, n * BLOCK : (n + 1) * BLOCK, 0, :], kv)
                T.copy(KP[b, n * BLOCK : (n + 1) * BLOCK, 0, :], kp)
                T.gemm(q, kv, s, transpose_B=True, clear_accum=True)
                T.gemm(qp, kp, s, transpose_B=True)
                T.copy(most, before)
                T.fill(most, -T.infinity("float32"))
                T.reduce_max(s, most, dim=1, clear=False)
                for i in T.Parallel(H):
                    most[i] = T.max(most[i], before[i])
                for i, j in T.Parallel(H, BLOCK):
                    s[i, j] = T.exp2(s[i, j] * factor - most[i] * factor)
                T.reduce_sum(s, part, dim=1)
                T.copy(s, weights)
                for i in T.Parallel(H):
                    total[i] = total[i] * T.exp2(before[i] * factor - most[i] * factor) + part[i]
                for i, j in T.Parallel(H, W):
                    o[i, j] *= T.exp2(before[i] * factor - most[i] * factor)
                T.gemm(weights, kv, o)
            for i, j in T.Parallel(H, W):
                o[i, j] /= total[i]
            T.copy(o, Out[b, :, :])

    torch.manual_seed(0)
    q, qp = torch.randn(B, H, W).half(), torch.randn(B, H, P).half()
    kv, kp = torch.randn(B, S, 1, W).half(), torch.randn(B, S, 1, P).half()
    s = q.float() @ kv[:, :, 0].float().transpose(1, 2) + qp.float() @ kp[:, :, 0].float().mT
    expected = (s / (W + P) ** 0.5).softmax(-1) @ kv[:, :, 0].float()
    close(compile(main, out_idx=4)(q, qp, kv, kp), expected)
