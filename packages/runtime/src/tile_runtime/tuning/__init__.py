"""Which configuration of a kernel is the fastest: candidates, the tuner, and what it keeps on disk.

Not here: how one kernel is timed, which is `jit_kernels.profiler`.
"""
