"""Products of matrices that are dealt out to a square of devices: rank r has block (r // mesh,
r % mesh) of A, of B and of C.

`cannon` moves blocks of A to the left and blocks of B up, turn by turn, after a first put that
aligns them; `summa` sends in each turn one column of blocks of A along the rows, and one row of
blocks of B along the columns. Either has two places for what comes, used in turn, and is sent the
next blocks while it multiplies. Each block of the launch that has put its part of a block, or has
used a place, adds one to a word; each turn has words of its own, as some block may be a
turn ahead. Words only grow, from call to call too.
"""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
ROWS, COLUMNS, DEPTH = 128, 256, 64


@T.macro
def send(rows, place, word, to):
    """Rows of a block to a place of the rank `to`, and what says that they are there."""
    T.put(rows, place, to)
    T.quiet()
    T.signal(word, 1, to, op="add")


@T.macro
def multiply(A, B, place, C, a, b, c, first, cid, blocks):
    """C = A @ B of a place in the `first` turn, and adds to C later."""
    across = T.ceildiv(C.shape[1], COLUMNS)
    tiles = T.ceildiv(C.shape[0], ROWS) * across
    for t in T.serial(T.ceildiv(tiles - cid, blocks)):
        row = (cid + t * blocks) // across * ROWS
        column = (cid + t * blocks) % across * COLUMNS
        for k in T.serial(T.ceildiv(A.shape[2], DEPTH)):
            T.copy(A[place, row : row + ROWS, k * DEPTH : (k + 1) * DEPTH], a)
            T.copy(B[place, k * DEPTH : (k + 1) * DEPTH, column : column + COLUMNS], b)
            T.gemm_v0(a, b, c, init=(k == 0))
        if first:
            T.copy(c, C[row, column])
        else:
            T.atomic_add(C[row : row + ROWS, column : column + COLUMNS], c)


@T.jit(pass_configs=CONFIGS)
def cannon(mesh: int, m: int, n: int, k: int, blocks: int = 24, dtype: str = "float16"):
    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((k, n), dtype),
        places_a: T.SymmTensor((2, m, k), dtype),
        places_b: T.SymmTensor((2, k, n), dtype),
        arrived: T.Signals(2 * mesh),
        used: T.Signals(2 * mesh),
        C: T.Tensor((m, n), "float32"),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks, threads=1) as cid, T.Scale("device") as r:
            a = T.alloc_L1((ROWS, DEPTH), dtype)
            b = T.alloc_L1((DEPTH, COLUMNS), dtype)
            c = T.alloc_L0C((ROWS, COLUMNS), "float32")
            row, column = r // mesh, r % mesh
            x, of_a = cid * T.ceildiv(m, blocks), T.ceildiv(m, blocks)
            y, of_b = cid * T.ceildiv(k, blocks), T.ceildiv(k, blocks)
            left, right = row * mesh + (column + mesh - 1) % mesh, row * mesh + (column + 1) % mesh
            up, down = (row + mesh - 1) % mesh * mesh + column, (row + 1) % mesh * mesh + column
            first_a = row * mesh + (column + mesh - row) % mesh
            first_b = (row + mesh - column) % mesh * mesh + column
            send(A[x : x + of_a, :], places_a[0, x : x + of_a, :], arrived[0], first_a)
            send(B[y : y + of_b, :], places_b[0, y : y + of_b, :], arrived[mesh], first_b)
            for t in T.serial(mesh):
                here, there = t % 2, (t + 1) % 2
                T.wait_ge(arrived[t], step * blocks)
                T.wait_ge(arrived[mesh + t], step * blocks)
                if t < mesh - 1:
                    if t > 0:
                        T.wait_ge(used[t - 1], step * blocks)
                        T.wait_ge(used[mesh + t - 1], step * blocks)
                    send(
                        places_a[here, x : x + of_a, :], places_a[there, x : x + of_a, :],
                        arrived[t + 1], left,
                    )  # fmt: skip
                    send(
                        places_b[here, y : y + of_b, :], places_b[there, y : y + of_b, :],
                        arrived[mesh + t + 1], up,
                    )  # fmt: skip
                multiply(places_a, places_b, here, C, a, b, c, t == 0, cid, blocks)
                if t < mesh - 2:
                    T.signal(used[t], 1, right, op="add")
                    T.signal(used[mesh + t], 1, down, op="add")
            T.barrier()

    return kernel


@T.jit(pass_configs=CONFIGS)
def summa(mesh: int, m: int, n: int, k: int, blocks: int = 24, dtype: str = "float16"):
    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((k, n), dtype),
        places_a: T.SymmTensor((2, m, k), dtype),
        places_b: T.SymmTensor((2, k, n), dtype),
        arrived: T.Signals(2 * mesh),
        used: T.Signals(2 * mesh),
        C: T.Tensor((m, n), "float32"),
        step: T.int32,
    ) -> None:
        with T.Kernel(blocks, threads=1) as cid, T.Scale("device") as r:
            a = T.alloc_L1((ROWS, DEPTH), dtype)
            b = T.alloc_L1((DEPTH, COLUMNS), dtype)
            c = T.alloc_L0C((ROWS, COLUMNS), "float32")
            row, column = r // mesh, r % mesh
            x, of_a = cid * T.ceildiv(m, blocks), T.ceildiv(m, blocks)
            y, of_b = cid * T.ceildiv(k, blocks), T.ceildiv(k, blocks)
            for t in T.serial(mesh + 1):
                if column == t:
                    if t > 1:
                        T.wait_ge(used[t - 2], step * mesh * blocks)
                    for i in T.serial(mesh):
                        to = row * mesh + (column + i) % mesh
                        send(A[x : x + of_a, :], places_a[t % 2, x : x + of_a, :], arrived[t], to)
                if row == t:
                    if t > 1:
                        T.wait_ge(used[mesh + t - 2], step * mesh * blocks)
                    for i in T.serial(mesh):
                        to = (row + i) % mesh * mesh + column
                        send(
                            B[y : y + of_b, :],
                            places_b[t % 2, y : y + of_b, :],
                            arrived[mesh + t],
                            to,
                        )
                if t > 0:
                    here = (t + 1) % 2
                    T.wait_ge(arrived[t - 1], step * blocks)
                    T.wait_ge(arrived[mesh + t - 1], step * blocks)
                    multiply(places_a, places_b, here, C, a, b, c, t == 1, cid, blocks)
                    if t < mesh - 1:
                        T.signal(used[t - 1], 1, row * mesh + t + 1, op="add")
                        T.signal(used[mesh + t - 1], 1, (t + 1) * mesh + column, op="add")
            T.barrier()

    return kernel


def blocks_of(matrix: torch.Tensor, mesh: int) -> list[torch.Tensor]:
    """The blocks of a matrix, by rank."""
    return [b.contiguous() for rows in matrix.chunk(mesh) for b in rows.chunk(mesh, dim=1)]


def main() -> None:
    torch.manual_seed(0)
    for mesh, m, n, k in ((1, 96, 128, 64), (2, 70, 90, 50), (3, 32, 48, 40)):
        A, B = torch.randn(mesh * m, mesh * k).half(), torch.randn(mesh * k, mesh * n).half()
        expected = blocks_of(A.float() @ B.float(), mesh)
        for kernel in (cannon, summa):
            C = [torch.zeros(m, n) for _ in range(mesh * mesh)]
            with Ranks(mesh * mesh) as world:
                given = (
                    blocks_of(A, mesh), blocks_of(B, mesh),
                    world.zeros((2, m, k), torch.float16), world.zeros((2, k, n), torch.float16),
                    world.signals(2 * mesh), world.signals(2 * mesh), C,
                )  # fmt: skip
                for step in (1, 2):
                    world.launch(kernel(mesh, m, n, k, blocks=2), *given, step)
            name = kernel.__name__
            report_ranks(f"{name} {mesh}x{mesh}, {m}x{n}x{k} each", C, expected, tolerance=1e-3)


if __name__ == "__main__":
    main()
