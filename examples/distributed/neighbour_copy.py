"""Every device puts its tensor to the next one: what torch.roll does over ranks."""

import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from report import report_ranks

import tile_frontend as T
from tile_runtime import Ranks


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def neighbour_copy(n: int, part: int = 256, dtype: str = "float32") -> T.PrimFunc:
    @T.prim_func
    def kernel(
        x: T.SymmTensor((n,), dtype), y: T.SymmTensor((n,), dtype), z: T.Tensor((n,), dtype)
    ) -> None:
        with T.Kernel(T.ceildiv(n, part)) as cid:
            start = cid * part
            with T.Scale("device") as (r, num):
                T.copy(x[start : start + part], y[start : start + part], dst_pe=(r + 1) % num)
                T.barrier()
                T.copy(y[start : start + part], z[start : start + part])

    return kernel


def main() -> None:
    torch.manual_seed(0)
    for ranks, n in ((1, 100), (3, 1001), (8, 4096)):
        with Ranks(ranks) as world:
            values = torch.randn(ranks, n)
            x, y = world.of(values), world.zeros(n, torch.float32)
            z = [torch.zeros(n) for _ in range(ranks)]
            world.launch(neighbour_copy(n), x, y, z)
        report_ranks(f"neighbour copy of {n}", z, list(values.roll(1, 0)))


if __name__ == "__main__":
    main()
