"""A stencil over rows that are dealt out to devices: every point becomes the mean of its four
neighbours, again and again.

A device has two ghost rows, for the last row of the one before it and the first of the one after
it, and two of each: what belongs to the next iteration may arrive while others still read those
of this one. It puts its own edge rows first, does the inside, and waits for its neighbours' only
then. At the borders of the world points are 0.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks


@T.macro
def relax(above, below, before, after, mean, width):
    """The mean of four neighbours of all points of a row, in the place of those to the left."""
    for j in T.Parallel(width):
        mean[j] = (above[j] + below[j] + before[j] + after[j]) * 0.25


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def halo(rows: int, width: int, iterations: int) -> T.PrimFunc:
    """`grid` has a column of zeros on both sides, and is there for even and odd iterations."""
    whole = T.ceildiv(width, 16) * 16

    @T.prim_func
    def kernel(
        grid: T.Tensor((2, rows, width + 2), "float32"),
        ghosts: T.SymmTensor((2, 2, width), "float32"),
        words: T.Signals(2),
        step: T.int32,
    ) -> None:
        with T.Kernel(1, threads=1):
            above = T.alloc_shared((whole,), "float32")
            below = T.alloc_shared((whole,), "float32")
            before = T.alloc_shared((whole,), "float32")
            after = T.alloc_shared((whole,), "float32")
            mean = T.alloc_shared((whole,), "float32")
            with T.Scale("device") as (r, num):
                for t in T.serial(iterations):
                    now = t % 2
                    count = (step - 1) * iterations + t + 1
                    if r > 0:
                        first = grid[now, 0, 1 : width + 1]
                        T.put_signal(first, ghosts[count % 2, 1, :], words[1], count, r - 1)
                    if r < num - 1:
                        last = grid[now, rows - 1, 1 : width + 1]
                        T.put_signal(last, ghosts[count % 2, 0, :], words[0], count, r + 1)
                    for n in T.serial(rows):
                        i = (n + 1) % rows  # the edges come last
                        T.tile.fill(above, 0.0)
                        T.tile.fill(below, 0.0)
                        if i > 0:
                            T.copy(grid[now, i - 1, 1 : width + 1], above[0:width])
                        elif r > 0:
                            T.wait_ge(words[0], count)
                            T.copy(ghosts[count % 2, 0, :], above[0:width])
                        if i < rows - 1:
                            T.copy(grid[now, i + 1, 1 : width + 1], below[0:width])
                        elif r < num - 1:
                            T.wait_ge(words[1], count)
                            T.copy(ghosts[count % 2, 1, :], below[0:width])
                        T.copy(grid[now, i, 0:width], before[0:width])
                        T.copy(grid[now, i, 2 : width + 2], after[0:width])
                        relax(above, below, before, after, mean, width)
                        T.copy(mean[0:width], grid[1 - now, i, 1 : width + 1])

    return kernel


def relaxed(grid: torch.Tensor, iterations: int) -> torch.Tensor:
    """The same on one device: `grid` without what stands around it."""
    for _ in range(iterations):
        p = torch.nn.functional.pad(grid, (1, 1, 1, 1))
        above, below, before, after = p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]
        grid = (above + below + before + after) * 0.25
    return grid


def main() -> None:
    torch.manual_seed(0)
    for ranks, rows, width, iterations in ((1, 9, 40, 3), (3, 5, 77, 4), (8, 2, 128, 5)):
        points = torch.randn(ranks * rows, width)
        grid = torch.zeros(ranks, 2, rows, width + 2)
        grid[:, 0, :, 1:-1] = points.view(ranks, rows, width)
        own = [g.clone() for g in grid]
        with Ranks(ranks) as world:
            ghosts = world.zeros((2, 2, width), torch.float32)
            world.launch(halo(rows, width, iterations), own, ghosts, world.signals(2), 1)
        expected = relaxed(points, iterations).view(ranks, rows, width)
        found = [g[iterations % 2, :, 1:-1] for g in own]
        report_ranks(f"{iterations} iterations on {rows}x{width}", found, list(expected))


if __name__ == "__main__":
    main()
