"""Compile and run kernels in hand-written Ascend C, in a process of their own.

`simulate.py` is the entry.

Not here: kernels traced from Python (`jit_kernels`), and the process itself (`simulator/runner`).
"""
