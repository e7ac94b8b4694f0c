"""Rotary position embedding: both halves of every head are turned by the angle of its token.

The angles are rows of two tables, chosen by a position that the scalar unit reads out of ub: here
the scalar unit waits for a load, and a load waits for the scalar unit. All of it is ordered by
automatic synchronisation. Positions are asked for one block of tokens ahead; the halves of the
heads are loaded apart, so that the arithmetic runs over whole buffers.
"""

import torch
from report import run_and_report

import tile_frontend as T


@T.jit(out_idx=[4], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def rope(
    tokens: int, heads: int, D: int, longest: int, block: int, cores: int, dtype: str = "float16"
) -> T.PrimFunc:
    blocks = T.cdiv(tokens, block)
    lanes = 2 * cores
    rows = block * heads
    half = D // 2
    slots = 2
    accum = "float32"

    @T.prim_func
    def turn(
        X: T.Tensor((tokens * heads, D), dtype),
        Position: T.Tensor((tokens,), "int32"),
        Cos: T.Tensor((longest, half), accum),
        Sin: T.Tensor((longest, half), accum),
        Y: T.Tensor((tokens * heads, D), dtype),
    ) -> None:
        with T.Kernel(cores, is_npu=True) as (cid, vid):
            position = T.alloc_ub((slots, block), "int32")
            raw_a = T.alloc_ub((slots, rows, half), dtype)
            raw_b = T.alloc_ub((slots, rows, half), dtype)
            cos = T.alloc_ub((slots, block, half), accum)
            sin = T.alloc_ub((slots, block, half), accum)
            done_a = T.alloc_ub((slots, rows, half), dtype)
            done_b = T.alloc_ub((slots, rows, half), dtype)
            a = T.alloc_ub((rows, half), accum)
            b = T.alloc_ub((rows, half), accum)
            new = T.alloc_ub((rows, half), accum)
            wide_cos = T.alloc_ub((block, heads, half), accum)
            wide_sin = T.alloc_ub((block, heads, half), accum)
            with T.Scope("V"):
                lane = cid * 2 + vid
                mine = T.ceildiv(blocks - lane, lanes)
                if mine > 0:
                    T.copy(Position[lane * block], position[0, :])
                for i in T.serial(mine):
                    slot = i % slots
                    token = (lane + i * lanes) * block
                    row = token * heads
                    if i + 1 < mine:
                        T.copy(Position[token + lanes * block], position[(i + 1) % slots, :])
                    T.copy(X[row, 0], raw_a[slot, :, :])
                    T.copy(X[row, half], raw_b[slot, :, :])
                    for t in T.serial(block):
                        angle = position[slot, t]
                        T.copy(Cos[angle, 0], cos[slot, t, :])
                        T.copy(Sin[angle, 0], sin[slot, t, :])
                    T.tile.cast(a, raw_a[slot, :, :])
                    T.tile.cast(b, raw_b[slot, :, :])
                    for t in T.serial(block):
                        T.tile.broadcast(wide_cos[t, :, :], cos[slot, t, :], axis=0)
                        T.tile.broadcast(wide_sin[t, :, :], sin[slot, t, :], axis=0)
                    T.tile.mul(new, a, wide_sin)
                    T.tile.mul(a, a, wide_cos)
                    T.tile.mul(wide_sin, b, wide_sin)
                    T.tile.mul(b, b, wide_cos)
                    T.tile.sub(a, a, wide_sin)
                    T.tile.add(b, b, new)
                    T.tile.cast(done_a[slot, :, :], a, "CAST_RINT")
                    T.tile.cast(done_b[slot, :, :], b, "CAST_RINT")
                    T.copy(done_a[slot, :, :], Y[row, 0])
                    T.copy(done_b[slot, :, :], Y[row, half])

    return turn


def main() -> None:
    torch.manual_seed(0)
    longest = 4096
    for tokens, heads, D, block, cores in ((768, 8, 128, 8, 24), (203, 3, 64, 8, 5)):
        half = D // 2
        speed = 10000.0 ** (-torch.arange(half) / half)
        angles = torch.outer(torch.arange(longest), speed)
        x = torch.randn(tokens * heads, D).half()
        position = torch.randint(0, longest, (tokens,), dtype=torch.int32)
        cos, sin = angles.cos(), angles.sin()
        c, s = (t[position.long()].repeat_interleave(heads, 0) for t in (cos, sin))
        a, b = x.float().chunk(2, dim=-1)
        run_and_report(
            f"rope {tokens} tokens {heads}x{D} float16",
            lambda tokens=tokens, heads=heads, D=D, block=block, cores=cores: rope(
                tokens, heads, D, longest, block, cores
            ),
            [x, position, cos, sin],
            torch.cat([a * c - b * s, b * c + a * s], dim=-1),
            tolerance=1e-3,
        )


if __name__ == "__main__":
    main()
