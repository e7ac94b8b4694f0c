"""Find the fastest configuration of a kernel: candidates, trials, stored results.

Not here: how one kernel is timed, which is `jit_kernels.profiler`.
"""
