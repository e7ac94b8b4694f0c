"""Puzzle 20: find the race.

You learn: a program can give the right result and still be wrong; the simulator decides by order,
not by luck.

Task: this kernel computes Y = X * X + X with two slots for loads and two for stores. One flag is
wrong. The result may be right on every run here, and would be wrong on some runs on the chip.
Read the finding, follow both of its lines, and mend the flag. Do not add barriers: the limit is
tight.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.1 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"tiles": 10}
LIMIT = 15
ROWS, COLUMNS, CORES = 4, 1024, 24


def inputs(tiles):
    return [torch.randn(CORES * 2 * tiles * ROWS, COLUMNS)]


def reference(X):
    return X * X + X


@T.jit(out_idx=[-1])
def planted_race(tiles):
    rows = CORES * 2 * tiles * ROWS

    @T.prim_func
    def kernel(X: T.Tensor((rows, COLUMNS), "float32"), Y: T.Tensor((rows, COLUMNS), "float32")):
        with T.Kernel(CORES, is_npu=True) as (cid, vid):
            x = T.alloc_ub((2, ROWS, COLUMNS), "float32")
            y = T.alloc_ub((2, ROWS, COLUMNS), "float32")
            with T.Scope("V"):
                # your part
                for s in T.serial(2):  # both slots of x and of y start free
                    T.set_flag("v", "mte2", s)
                    T.set_flag("mte3", "v", s)
                for k in T.serial(tiles):
                    slot = k % 2
                    row = ((cid * 2 + vid) * tiles + k) * ROWS
                    T.wait_flag("v", "mte2", slot)
                    T.copy(X[row, 0], x[slot, :, :])
                    T.set_flag("mte2", "v", slot)

                    T.wait_flag("mte2", "v", slot)
                    T.wait_flag("mte3", "v", slot)
                    T.tile.mul(y[slot, :, :], x[slot, :, :], x[slot, :, :])
                    T.pipe_barrier("v")
                    T.tile.add(y[slot, :, :], y[slot, :, :], x[slot, :, :])
                    T.set_flag("v", "mte2", slot)
                    T.set_flag("v", "mte3", slot)

                    T.wait_flag("v", "mte3", slot)
                    T.copy(y[slot, :, :], Y[row, 0])
                    T.set_flag("mte3", "v", slot)
                for s in T.serial(2):  # take back what is still set
                    T.wait_flag("v", "mte2", s)
                    T.wait_flag("mte3", "v", s)
                #: for s in T.serial(2):  # both slots of x and of y start free
                #:     T.set_flag("v", "mte2", s)
                #:     T.set_flag("mte3", "v", s)
                #: for k in T.serial(tiles):
                #:     slot = k % 2
                #:     row = ((cid * 2 + vid) * tiles + k) * ROWS
                #:     T.wait_flag("v", "mte2", slot)
                #:     T.copy(X[row, 0], x[slot, :, :])
                #:     T.set_flag("mte2", "v", slot)
                #:
                #:     T.wait_flag("mte2", "v", slot)
                #:     T.wait_flag("mte3", "v", slot)
                #:     T.tile.mul(y[slot, :, :], x[slot, :, :], x[slot, :, :])
                #:     T.set_flag("v", "mte2", slot)
                #:     T.pipe_barrier("v")
                #:     T.tile.add(y[slot, :, :], y[slot, :, :], x[slot, :, :])
                #:     T.set_flag("v", "mte3", slot)
                #:
                #:     T.wait_flag("v", "mte3", slot)
                #:     T.copy(y[slot, :, :], Y[row, 0])
                #:     T.set_flag("mte3", "v", slot)
                #: for s in T.serial(2):  # take back what is still set
                #:     T.wait_flag("v", "mte2", s)
                #:     T.wait_flag("mte3", "v", s)
                # end of your part

    return kernel


# for the judge
HIDDEN = ({"tiles": 1}, {"tiles": 5})
HINTS = (
    'The flag ("v", "mte2", slot) says that v has read the slot of x for the last time. Has it?',
    "T.tile.add reads x too: the flag belongs behind it.",
)
