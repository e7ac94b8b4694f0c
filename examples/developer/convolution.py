"""A convolution as a product, in developer style: windows of the image are the rows of the left
operand, and are made on the way from l1 to the registers of the cube core (im2col).

Channels lie in groups of 16, each a plane of its own (the layout NC1HWC0); zeros fill the last one.
The weights of all groups stay in l1; a tile of positions loads the rows that its windows see.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

C0 = 16


@T.jit(out_idx=[-1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def convolution(
    B: int, channels: int, height: int, width: int, outputs: int, size: int, stride: int, pad: int,
    block_M: int, dtype: str = "float16", accum: str = "float32", cores: int = 24,
) -> T.PrimFunc:  # fmt: skip
    """Square kernels of `size`, with `pad` zeros on every side."""
    planes = T.cdiv(channels, C0)
    columns = size * size * C0
    down, across = ((n + 2 * pad - size) // stride + 1 for n in (height, width))
    positions = down * across
    tiles = T.cdiv(positions, block_M)
    # A tile is loaded from where a row of windows begins, as far above it as padding is, and where
    # the first window of that row begins a fractal of 16.
    above = T.cdiv(pad, stride)
    step = 16 // math.gcd(across, 16)
    most_down = T.cdiv(block_M + across - 1, across)
    rows = min(height, (above + step + most_down - 2) * stride + size - pad)

    @T.prim_func
    def kernel(
        X: T.Tensor((B, planes, height * width, C0), dtype),
        W: T.Tensor((planes * columns, outputs), dtype),
        Y: T.Tensor((B, positions, outputs), dtype),
    ) -> None:
        with T.Kernel(cores, threads=2, is_npu=True) as cid:
            x = T.alloc_shared((planes, rows * width, C0), dtype)
            w = T.alloc_shared((planes * columns, outputs), dtype)
            windows = T.alloc_fragment((block_M, columns), dtype)
            weights = T.alloc_fragment((columns, outputs), dtype)
            y = T.alloc_fragment((block_M, outputs), accum)
            T.copy(W, w)
            for t in T.Pipelined(T.ceildiv(B * tiles - cid, cores), num_stages=2):
                tile = cid + t * cores
                image, first = tile // tiles, tile % tiles * block_M
                top = 0 if rows == height else T.max(first // across - above, 0) // step * step
                for g in T.serial(planes):
                    T.copy(X[image, g, top * stride * width, 0], x[g, :, :])
                for g in T.Pipelined(planes, num_stages=2):
                    T.tile.im2col(
                        windows, x[g, :, :], (rows, width), (size, size), (stride, stride), (1, 1),
                        (pad, pad, pad, pad), first - top * across, 0, block_M, columns,
                    )  # fmt: skip
                    T.copy(w[g * columns : (g + 1) * columns, :], weights)
                    T.mma(windows, weights, y, init=(g == 0))
                T.copy(y, Y[image, first : first + block_M, :])

    return kernel


def in_groups(image: torch.Tensor) -> torch.Tensor:
    """[n, channels, height, width] as [n, groups, height * width, C0]."""
    count, channels, height, width = image.shape
    image = torch.nn.functional.pad(image, (0, 0, 0, 0, 0, -channels % C0))
    return image.reshape(count, -1, C0, height * width).mT.contiguous()


def main() -> None:
    torch.manual_seed(0)
    for B, channels, height, width, outputs, size, stride, pad in (
        (2, 64, 28, 28, 64, 3, 1, 1),
        (1, 32, 31, 17, 32, 3, 2, 1),
        (1, 3, 9, 9, 100, 2, 1, 0),
    ):
        x = torch.randn(B, channels, height, width).half()
        w = torch.randn(outputs, channels, size, size).half()
        run_and_report(
            f"convolution {B}x{channels}x{height}x{width} by {outputs} kernels of {size} float16",
            lambda B=B, channels=channels, height=height, width=width, outputs=outputs, size=size,
            stride=stride, pad=pad: convolution(
                B, channels, height, width, outputs, size, stride, pad, 64
            ),
            [in_groups(x), in_groups(w).flatten(1).T.contiguous()],
            torch.nn.functional.conv2d(x.float(), w.float(), stride=stride, padding=pad)
            .flatten(2).mT,
            tolerance=1e-3,
        )  # fmt: skip


if __name__ == "__main__":
    main()
