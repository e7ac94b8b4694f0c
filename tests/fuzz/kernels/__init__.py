"""Random kernels as they come out of `split_cube_vector`, and arguments for them.

Rooms: `writing` says how to write IR, `scope` what a statement may use, `control` loops, branches
and scalars, `vector` and `cube` the statements of one kind of core, `random_kernel` a whole one,
`pipelined` one with pipelined loops, `arguments` what to call it with."""

from fuzz.kernels.arguments import argument_sets
from fuzz.kernels.pipelined import in_pipelines, pipelined_kernel
from fuzz.kernels.random_kernel import random_kernel, small_target

__all__ = ["argument_sets", "in_pipelines", "pipelined_kernel", "random_kernel", "small_target"]
