"""A timed run, and what is made of one: an HTML page that needs nothing else, a trace for Perfetto,
an archive, and how near it came to what the chip could do.

`page` puts the page together; most other modules prepare the data of one part. Not here: the model
of time, which is the simulator's, and what scripts ask a kernel for (`jit_kernels.profiler`).
"""
