"""The simulator of the Ascend C API: its C++ (`include` is what kernels are compiled against, `src`
the library, `runner` the process for sources written by hand), how that is built, and what a run
tells: faults and the modelled timeline.

Not here: calling a kernel (`launcher`), the simulator as a device (`devices`), and pages made of a
timeline (`tools.report`).
"""
