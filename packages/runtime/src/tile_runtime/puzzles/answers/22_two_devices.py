"""Puzzle 22: two devices.

You learn: memory that several devices share, a put that arrives later, and a signal that says so.

The launch runs on R devices at the same time. A `T.SymmTensor` has an instance on each device,
and `T.put_signal(source, destination, word, 1, peer)` writes to the instance of the device
`peer`; when the bytes have arrived, it adds 1 to the word there. `T.wait_ge(word, 1)` waits until
the word of this device has reached 1.

Task: on each device Y = X + the X of the device before it, of N float32 numbers. The code below
puts the tile to the next device, and adds whatever lies in `landed` at once. Add what is missing.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T
from tile_runtime import Ranks

SIZES = {"R": 2, "N": 4096}
LIMIT = 8.5


def inputs(R, N):
    return [torch.randn(R, N)]


def reference(X):
    return list(X + X.roll(1, 0))


@T.jit(pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def two_devices(R, N):
    @T.prim_func
    def kernel(
        X: T.Tensor((N,), "float32"),
        landed: T.SymmTensor((N,), "float32"),
        arrived: T.Signals(1),
        Y: T.Tensor((N,), "float32"),
    ):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((N,), "float32")
            other = T.alloc_shared((N,), "float32")
            with T.Scale("device") as (r, num):
                # your part
                T.put_signal(X, landed, arrived[0], 1, (r + 1) % num)
                T.copy(X, x)
                T.wait_ge(arrived[0], 1)
                T.copy(landed, other)
                #: T.put_signal(X, landed, arrived[0], 1, (r + 1) % num)
                #: T.copy(X, x)
                #: T.copy(landed, other)
                # end of your part
                T.tile.add(x, x, other)
                T.copy(x, Y)

    return kernel


def launch(factory, data, R, N):
    with Ranks(R) as world:
        y = [torch.zeros(N) for _ in range(R)]
        landed = world.empty(N, torch.float32)
        world.launch(factory(R, N), list(data[0]), landed, world.signals(1), y)
    return y


# for the judge
HIDDEN = ({"R": 1, "N": 8}, {"R": 3, "N": 1001})
HINTS = (
    "Nothing says that the bytes have arrived when `landed` is read.",
    "T.wait_ge(arrived[0], 1) before the copy from landed.",
)
