"""Recommend tile sizes and configurations of common kernels by the time model.

Not here: the costs of instructions, which are in `tile_ir.costs`, and the tuner of the runtime.
"""
