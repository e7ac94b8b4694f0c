"""Kernels made from traced functions: `jit`, `compile` and `lower`, the kernel object that a script
calls, and what it offers to time itself and to make inputs.

Not here: kernels whose Ascend C was written by hand (`source_kernels`), and the search for the best
configuration (`tuning`). The room is not called `jit`, for `tile_runtime.jit` is the decorator.
"""
