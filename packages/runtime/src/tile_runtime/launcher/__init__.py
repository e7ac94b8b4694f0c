"""From the arguments of a call to the call of the compiled function: the signature of a kernel,
arguments checked and bound, and the native launcher, as an extension in C++ or through ctypes.

Not here: compiling a kernel (`jit_kernels`), and where it runs (`devices`).
"""
