"""A convolution as a product, in developer style: windows of the image are the rows of the left
operand, and are made on the way from l1 to the registers of the cube core (im2col).

Channels lie in groups of 16, each a plane of its own (the layout NC1HWC0); zeros fill the last one.
Weights lie in fractals of 16 x 16 (the layout FRACTAL_Z). A block makes a tile of positions of some
images and outputs, plane by plane: it loads the rows that its windows see, and the weights of them
once for all its images. Small images need several, or weights take more time than products.
"""

import math
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import run_and_report

import tile_frontend as T

C0 = 16

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: True,
}


@T.jit(out_idx=[-1], pass_configs=CONFIGS)
def convolution(
    B: int, channels: int, height: int, width: int, outputs: int, size: int, stride: int, pad: int,
    block_M: int, block_N: int, images: int = 1, dtype: str = "float16", accum: str = "float32",
) -> T.PrimFunc:  # fmt: skip
    """Square kernels of `size`, with `pad` zeros on every side; `images` at a time."""
    assert B % images == 0, "tiles cover all images"
    planes = T.cdiv(channels, C0)
    taps = size * size
    columns = taps * C0
    block_K = size * C0  # of a row of the kernel
    down, across = ((n + 2 * pad - size) // stride + 1 for n in (height, width))
    positions = down * across
    m_tiles, n_tiles = T.cdiv(positions, block_M), T.cdiv(outputs, block_N)
    # A tile is loaded from where a row of windows begins, as far above it as padding is, and where
    # the first window of that row begins a fractal of 16.
    above = T.cdiv(pad, stride)
    step = 16 // math.gcd(across, 16)
    most_down = T.cdiv(block_M + across - 1, across)
    rows = min(height, (above + step + most_down - 2) * stride + size - pad)

    @T.prim_func
    def kernel(
        X: T.Tensor((B, planes, height * width, C0), dtype),
        W: T.Tensor((n_tiles * block_N // C0, planes * taps, C0, C0), dtype),
        Y: T.Tensor((B, positions, outputs), dtype),
    ) -> None:
        with T.Kernel(B // images * m_tiles * n_tiles, threads=2, is_npu=True) as cid:
            image = cid // (m_tiles * n_tiles) * images
            first, column = cid // n_tiles % m_tiles * block_M, cid % n_tiles * block_N
            top = 0 if rows == height else T.max(first // across - above, 0) // step * step
            x = [T.alloc_shared((rows * width, C0), dtype) for _ in range(images)]
            w = T.alloc_shared((columns, block_N), dtype)
            windows = [T.alloc_fragment((block_M, block_K), dtype) for _ in range(images)]
            weights = T.alloc_fragment((block_K, block_N), dtype)
            y = [T.alloc_fragment((block_M, block_N), accum) for _ in range(images)]
            for g in T.Pipelined(planes, num_stages=2):
                for i, tile in enumerate(x):
                    T.copy(X[image + i, g, top * stride * width, 0], tile)
                T.copy(W[column // C0, g * taps, 0, 0], w, nz=True)
                for k in T.Pipelined(size, num_stages=3):
                    for tile, window in zip(x, windows, strict=True):
                        T.tile.im2col(
                            window, tile, (rows, width), (size, size), (stride, stride), (1, 1),
                            (pad, pad, pad, pad), first - top * across, k * block_K, block_M,
                            block_K,
                        )  # fmt: skip
                    T.copy(w[k * block_K : (k + 1) * block_K, :], weights)
                    for window, sums in zip(windows, y, strict=True):
                        T.mma(window, weights, sums, init=(g == 0 and k == 0))
            for i, sums in enumerate(y):
                T.copy(sums, Y[image + i, first : first + block_M, column : column + block_N])

    return kernel


def in_groups(image: torch.Tensor) -> torch.Tensor:
    """[n, channels, height, width] as [n, groups, height * width, C0]."""
    count, channels, height, width = image.shape
    image = torch.nn.functional.pad(image, (0, 0, 0, 0, 0, -channels % C0))
    return image.reshape(count, -1, C0, height * width).mT.contiguous()


def in_fractals(weights: torch.Tensor, block_N: int) -> torch.Tensor:
    """[outputs, channels, size, size] as fractals [outputs / 16, rows / 16, 16, 16], whose rows are
    those of a window; zeros fill the last tile of outputs."""
    matrix = in_groups(weights).flatten(1)
    matrix = torch.nn.functional.pad(matrix, (0, 0, 0, -len(matrix) % block_N))
    return matrix.reshape(len(matrix) // C0, C0, -1, C0).permute(0, 2, 3, 1).contiguous()


def main() -> None:
    torch.manual_seed(0)
    for B, channels, height, width, outputs, size, stride, pad, images in (
        (2, 64, 28, 28, 64, 3, 1, 1, 1),
        (1, 32, 31, 17, 32, 3, 2, 1, 1),
        (1, 3, 9, 9, 100, 2, 1, 0, 1),
        (6, 32, 7, 7, 80, 3, 1, 1, 3),
    ):
        x = torch.randn(B, channels, height, width).half()
        w = torch.randn(outputs, channels, size, size).half()
        run_and_report(
            f"convolution {B}x{channels}x{height}x{width} by {outputs} kernels of {size} float16",
            lambda B=B, channels=channels, height=height, width=width, outputs=outputs, size=size,
            stride=stride, pad=pad, images=images: convolution(
                B, channels, height, width, outputs, size, stride, pad, 64, 64, images
            ),
            [in_groups(x), in_fractals(w, 64)],
            torch.nn.functional.conv2d(x.float(), w.float(), stride=stride, padding=pad)
            .flatten(2).mT,
            tolerance=1e-3,
        )  # fmt: skip


if __name__ == "__main__":
    main()
