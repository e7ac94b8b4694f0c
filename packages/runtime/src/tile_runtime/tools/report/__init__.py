"""Write reports of a timed run: HTML page, Perfetto trace, archive, roofline share.

`page` puts the page together; most other modules prepare the data of one part. Not here: the model
of time, which is the simulator's, and the measured times of a kernel (`jit_kernels.profiler`).
"""
