"""Kernels whose Ascend C source was written by hand: read, compiled with a host stub, and run in a
process of their own. `simulate.py` is the way in.

Not here: kernels traced from Python (`jit_kernels`), and the process itself (`simulator/runner`).
"""
