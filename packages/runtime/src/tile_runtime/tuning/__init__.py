"""Which configuration of a kernel is the fastest: candidates, who tries them, and what is kept.

Not here: how one kernel is timed, which is `jit_kernels.profiler`.
"""
