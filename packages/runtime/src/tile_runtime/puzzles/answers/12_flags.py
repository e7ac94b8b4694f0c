"""Puzzle 12: order the pipes of a core.

You learn: a core has pipes that run at the same time; a flag makes one wait for another.

`T.copy` from gm runs on the pipe "mte2", vector operations on "v", `T.copy` to gm on "mte3".
Within a pipe instructions start in program order. Between pipes nothing is ordered unless you do
it:

    T.set_flag("mte2", "v", 0)     # mte2 sets event 0 after its earlier work
    T.wait_flag("mte2", "v", 0)    # v waits for event 0 and clears it
    T.pipe_barrier("v")            # v completes its earlier work first

Task: Y = X * 2 + 1. The statements below are right, but nothing orders them. Add flags and a
barrier until the simulator finds nothing. Every event that is set must be waited for. The
findings also offer to leave the order to the compiler, which is what you would do elsewhere; here
it is the lesson.

Time: at most LIMIT microseconds by the time model, at SIZES; that is 1.3 times what the
answer takes.
"""

import torch

import tile_frontend as T

SIZES = {"M": 768, "N": 512}
LIMIT = 12.5
ROWS = 16


def inputs(M, N):
    return [torch.randn(M, N)]


def reference(X):
    return X * 2 + 1


@T.jit(out_idx=[-1])
def flags(M, N):
    @T.prim_func
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, 2 * ROWS), is_npu=True) as (cid, vid):
            x = T.alloc_ub((ROWS, N), "float32")
            with T.Scope("V"):
                row = (cid * 2 + vid) * ROWS
                # your part
                T.copy(X[row, 0], x)
                T.set_flag("mte2", "v", 0)
                T.wait_flag("mte2", "v", 0)
                T.tile.mul(x, x, 2.0)
                T.pipe_barrier("v")
                T.tile.add(x, x, 1.0)
                T.set_flag("v", "mte3", 0)
                T.wait_flag("v", "mte3", 0)
                T.copy(x, Y[row, 0])
                #: T.copy(X[row, 0], x)
                #: T.tile.mul(x, x, 2.0)
                #: T.tile.add(x, x, 1.0)
                #: T.copy(x, Y[row, 0])
                # end of your part

    return kernel


# for the judge
HIDDEN = ({"M": 32, "N": 64}, {"M": 96, "N": 520})
HINTS = (
    "Read each finding: it names two lines and the pipes they run on. Put the flag between them.",
    'The load and the multiplication: set_flag and wait_flag of ("mte2", "v", 0).',
    'Multiplication and addition are both on v: T.pipe_barrier("v") between them.',
    'The addition and the store: set_flag and wait_flag of ("v", "mte3", 0).',
)
