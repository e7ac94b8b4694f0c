"""Random kernels as they come out of `split_cube_vector`, and arguments for them.

Rooms: `writing` says how to write IR, `scope` what a statement may use, `control` loops, branches
and scalars, `vector` and `cube` the statements of one kind of core, `random_kernel` a whole one,
`pipelined` one with pipelined loops, `line_by_line` one written by hand, `arguments` what to call it with."""

from fuzz.kernels.arguments import argument_sets
from fuzz.kernels.line_by_line import line_by_line
from fuzz.kernels.pipelined import (
    in_given_orders,
    in_pipelines,
    pipelined_kernel,
    some_stages,
)
from fuzz.kernels.random_kernel import random_kernel, small_target

__all__ = [
    "argument_sets",
    "in_given_orders",
    "in_pipelines",
    "line_by_line",
    "pipelined_kernel",
    "random_kernel",
    "small_target",
    "some_stages",
]
