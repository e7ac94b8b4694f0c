"""Compile traced functions into kernel objects: `jit`, `compile` and `lower`.

Not here: kernels whose Ascend C was written by hand (`source_kernels`), and the search for the best
configuration (`tuning`). The room is not called `jit`, for `tile_runtime.jit` is the decorator.
"""
