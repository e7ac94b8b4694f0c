"""A decoder block of torch whose norm, rotation, attention and gated MLP are kernels of ours.

Each kernel is compiled once for any number of tokens and registered as an operator of torch, so
`torch.compile(fullgraph=True)` takes the block whole and compiles it once for all lengths. Norm and
rotation are the developer examples as they stand, with a symbol for the number of tokens.
"""

import math
import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.append(str(Path(__file__).parents[1] / "developer"))
import rms_norm as norm_example
import rope as rope_example

import tile_frontend as T

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
TOKENS = T.symbolic("tokens")
WIDTH, HEADS, GROUPS, HEAD_DIM, HIDDEN = 256, 4, 2, 64, 384
BLOCK = 64


@T.jit(out_idx=[3], pass_configs=AUTOMATIC)
def causal_attention(
    H: int, groups: int, D: int, block: int, dtype: str = "float16", cores: int = 24
) -> T.PrimFunc:
    """Of `groups` heads of queries each, with one of keys; block x block scores at a time."""
    scale, accum, S = 1.0 / math.sqrt(D), "float32", TOKENS

    @T.prim_func
    def attention(
        Q: T.Tensor((S, H, D), dtype),
        K: T.Tensor((S, H // groups, D), dtype),
        V: T.Tensor((S, H // groups, D), dtype),
        Output: T.Tensor((S, H, D), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((block, D), dtype)
            k = T.alloc_shared((block, D), dtype)
            v = T.alloc_shared((block, D), dtype)
            weights = T.alloc_shared((block, block), dtype)
            scores = T.alloc_fragment((block, block), accum)
            product = T.alloc_fragment((block, D), accum)
            s = T.alloc_shared((block, block), accum)
            p = T.alloc_shared((block, block), dtype)
            part = T.alloc_shared((block, D), accum)
            o = T.alloc_shared((block, D), accum)
            out = T.alloc_shared((block, D), dtype)
            before = T.alloc_shared((block,), accum)
            peak = T.alloc_shared((block,), accum)
            shrink = T.alloc_shared((block,), accum)
            total = T.alloc_shared((block,), accum)
            fresh = T.alloc_shared((block,), accum)

            for t in T.serial(T.ceildiv(T.ceildiv(S, block) * H - cid, cores)):
                tile, head = (t * cores + cid) // H, (t * cores + cid) % H
                first = tile * block
                T.copy(Q[first : first + block, head, :], q)
                T.tile.fill(o, 0.0)
                T.tile.fill(total, 0.0)
                T.tile.fill(peak, -1e30)
                for n in T.Pipelined(tile + 1, num_stages=2):
                    T.copy(K[n * block : (n + 1) * block, head // groups, :], k)
                    T.gemm_v0(q, k, scores, transpose_B=True, init=True)
                    T.copy(scores, s)
                    if n == tile:  # keys after the queries, on the diagonal only
                        for i, j in T.Parallel(block, block):
                            s[i, j] = T.if_then_else(j > i, -1e30, s[i, j])
                    T.copy(peak, before)
                    T.reduce_max(s, peak, dim=-1)
                    for i in T.Parallel(block):
                        peak[i] = T.max(peak[i], before[i])
                        shrink[i] = T.exp((before[i] - peak[i]) * scale)
                    for i, j in T.Parallel(block, block):
                        s[i, j] = T.exp((s[i, j] - peak[i]) * scale)
                    T.copy(s, p)
                    T.copy(p, weights)
                    T.reduce_sum(s, fresh, dim=-1)
                    for i in T.Parallel(block):
                        total[i] = total[i] * shrink[i] + fresh[i]
                    T.copy(V[n * block : (n + 1) * block, head // groups, :], v)
                    T.gemm_v0(weights, v, product, init=True)
                    T.copy(product, part)
                    for i, j in T.Parallel(block, D):
                        o[i, j] = o[i, j] * shrink[i] + part[i, j]
                for i, j in T.Parallel(block, D):
                    o[i, j] = o[i, j] / total[i]
                T.copy(o, out)
                T.copy(out, Output[first : first + block, head, :])

    return attention


@T.jit(out_idx=[3], pass_configs=AUTOMATIC)
def gated_product(
    N: int, K: int, block_M: int, block_N: int, block_K: int, dtype: str = "float16"
) -> T.PrimFunc:
    """silu(X @ gate) * (X @ up), both products of a tile in one kernel."""
    accum, M = "float32", TOKENS
    columns = N // block_N

    @T.prim_func
    def kernel(
        X: T.Tensor((M, K), dtype),
        gate: T.Tensor((K, N), dtype),
        up: T.Tensor((K, N), dtype),
        Y: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(T.ceildiv(M, block_M) * columns, threads=2, is_npu=True) as cid:
            row, column = cid // columns * block_M, cid % columns * block_N
            x = T.alloc_shared((block_M, block_K), dtype)
            g = T.alloc_shared((block_K, block_N), dtype)
            u = T.alloc_shared((block_K, block_N), dtype)
            of_gate = T.alloc_fragment((block_M, block_N), accum)
            of_up = T.alloc_fragment((block_M, block_N), accum)
            a = T.alloc_shared((block_M, block_N), accum)
            b = T.alloc_shared((block_M, block_N), accum)
            y = T.alloc_shared((block_M, block_N), dtype)
            for k in T.Pipelined(K // block_K, num_stages=2):
                T.copy(X[row, k * block_K], x)
                T.copy(gate[k * block_K, column], g)
                T.copy(up[k * block_K, column], u)
                T.gemm_v0(x, g, of_gate, init=(k == 0))
                T.gemm_v0(x, u, of_up, init=(k == 0))
            T.copy(of_gate, a)
            T.copy(of_up, b)
            for i, j in T.Parallel(block_M, block_N):
                a[i, j] = a[i, j] / (1.0 + T.exp(-a[i, j])) * b[i, j]
            T.copy(a, y)
            T.copy(y, Y[row, column])

    return kernel


rms_norm = norm_example.rms_norm(TOKENS, WIDTH, 8).as_custom_op("decoder::rms_norm")
rope_of_queries, rope_of_keys = (
    rope_example.rope(TOKENS, heads, HEAD_DIM, "float16").as_custom_op(f"decoder::rope_{heads}")
    for heads in (HEADS, HEADS // GROUPS)
)
attention = causal_attention(HEADS, GROUPS, HEAD_DIM, BLOCK).as_custom_op("decoder::attention")
gated = gated_product(HIDDEN, WIDTH, 64, 64, 64).as_custom_op("decoder::gated")


class DecoderBlock(nn.Module):
    """Attention and gated MLP, each behind a norm and added to what it began with.

    `ours` says who computes: the kernels, or torch alone. Takes tokens [n, WIDTH] and the angles'
    cosines and sines [n, HEAD_DIM / 2], all float16, and gives [n, WIDTH].
    """

    def __init__(self) -> None:
        super().__init__()

        def weight(rows: int, columns: int) -> nn.Parameter:
            values = (torch.randn(rows, columns) / rows**0.5).half()
            return nn.Parameter(values, requires_grad=False)

        keys = WIDTH // GROUPS
        self.norms = nn.ParameterList(weight(1, WIDTH) for _ in range(2))
        self.query, self.output = weight(WIDTH, WIDTH), weight(WIDTH, WIDTH)
        self.key, self.value = weight(WIDTH, keys), weight(WIDTH, keys)
        self.gate, self.up = weight(WIDTH, HIDDEN), weight(WIDTH, HIDDEN)
        self.down = weight(HIDDEN, WIDTH)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        n = rms_norm(x, self.norms[0])
        q = rope_of_queries((n @ self.query).view(-1, HEADS, HEAD_DIM), cos, sin)
        k = rope_of_keys((n @ self.key).view(-1, HEADS // GROUPS, HEAD_DIM), cos, sin)
        v = (n @ self.value).view(-1, HEADS // GROUPS, HEAD_DIM)
        x = x + attention(q, k, v).view(-1, WIDTH) @ self.output
        return x + gated(rms_norm(x, self.norms[1]), self.gate, self.up) @ self.down


def in_torch(block: DecoderBlock, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The same block by operators of torch alone, in float32 between the roundings of kernels."""

    def turn(t: Tensor) -> Tensor:
        left, right = t.float().chunk(2, -1)
        c, s = cos.float()[:, None], sin.float()[:, None]
        return torch.cat([left * c - right * s, right * c + left * s], -1)

    def norm(t: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(t.float(), (WIDTH,), weight[0].float(), 1e-6).half()

    n = norm(x, block.norms[0])
    q = turn((n @ block.query).view(-1, HEADS, HEAD_DIM)).half()
    k = turn((n @ block.key).view(-1, HEADS // GROUPS, HEAD_DIM)).half()
    v = (n @ block.value).view(-1, HEADS // GROUPS, HEAD_DIM)
    q, k, v = (t.float().transpose(0, 1) for t in (q, k, v))
    k, v = (t.repeat_interleave(GROUPS, 0) for t in (k, v))
    seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).half()
    x = x + seen.transpose(0, 1).reshape(-1, WIDTH) @ block.output
    n = norm(x, block.norms[1]).float()
    return x + (F.silu(n @ block.gate.float()) * (n @ block.up.float())).half() @ block.down


def inputs(tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    half = HEAD_DIM // 2
    angle = torch.arange(tokens)[:, None] / 10000 ** (torch.arange(half) / half)
    return torch.randn(tokens, WIDTH).half(), angle.cos().half(), angle.sin().half()


def main() -> None:
    torch.manual_seed(0)
    block = DecoderBlock()
    compilations = 0

    def counted(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        nonlocal compilations
        compilations += 1
        return graph

    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=counted)
    for tokens in (5, 64, 100, 193):
        given = inputs(tokens)
        found, eager, expected = compiled(*given), block(*given), in_torch(block, *given)
        error = (found - expected).abs().max().item()
        print(f"{tokens} tokens: max error {error:.3g} (largest value {expected.abs().max():.3g})")
        if not torch.equal(found, eager) or error > 8e-3 * expected.abs().max():
            sys.exit("MISMATCH")
    print(f"Kernel Output Match! Compilations for all lengths: {compilations}.")


if __name__ == "__main__":
    main()
