"""The sum of what all ranks have: an engine fetches the next slice while the cores add the last.

The engine (SDMA) needs no core. There are two places for slices: one is filled while the other is
added, and `T.wait` stands between a slice and whoever reads it.
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
# Elements that one block takes of a slice are a multiple of these.
LINE = 32


@T.jit(pass_configs=CONFIGS)
def sum_by_engine(n: int, blocks: int = 3) -> T.PrimFunc:
    part = T.ceildiv(T.ceildiv(n, blocks), LINE) * LINE

    @T.prim_func
    def kernel(
        x: T.SymmTensor((n,), "float32"),
        places: T.Tensor((2, n), "float32"),
        y: T.Tensor((n,), "float32"),
    ) -> None:
        with T.Kernel(blocks) as cid, T.Scale("device") as (r, num):
            start = cid * part
            total = T.alloc_shared((part,), "float32")
            term = T.alloc_shared((part,), "float32")
            here = (r + 1) % num
            handle = T.get_async(x[start : start + part], places[0, start : start + part], here)
            T.copy(x[start : start + part], total)
            for s in T.serial(num - 1):
                T.wait(handle)
                if s + 2 < num:
                    T.get_async(
                        x[start : start + part],
                        places[(s + 1) % 2, start : start + part],
                        (r + s + 2) % num,
                    )
                T.copy(places[s % 2, start : start + part], term)
                for i in T.Parallel(part):
                    total[i] = total[i] + term[i]
            T.wait(handle)
            T.copy(total, y[start : start + part])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, n in ((1, 300), (3, 1001), (8, 4096)):
        with Ranks(ranks) as world:
            x = torch.randn(ranks, n)
            y = [torch.zeros(n) for _ in range(ranks)]
            places = [torch.zeros(2, n) for _ in range(ranks)]
            world.launch(sum_by_engine(n), world.of(x), places, y)
            report_ranks(f"sum of {n} by the engine", y, [x.sum(0)] * ranks, 1e-6)


if __name__ == "__main__":
    main()
