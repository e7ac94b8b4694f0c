"""Simulate the Ascend C API: C++ sources, their build, faults and the timeline.

`include` is compiled into kernels, `src` is the library, `runner` the process for hand-written
sources.

Not here: calling a kernel (`launcher`), the simulator as a device (`devices`), and pages made of a
timeline (`tools.report`).
"""
