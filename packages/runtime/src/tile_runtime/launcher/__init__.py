"""Bind the arguments of a call and call the compiled function.

`bind_arguments` checks and binds any call. `remember_call` repeats one in the launcher, which is an
extension in C++ (`native`).

Not here: compiling a kernel (`jit_kernels`), and where it runs (`devices`).
"""
