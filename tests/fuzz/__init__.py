"""Random kernels against every opinion on order and memory: `make fuzz N=20000 SEED=0`.

Rooms: `kernels` makes kernels, `machine` runs final IR without compiling it, `verdict` asks all
checkers about one kernel, `campaign` about many, `shrink` makes a failing one small.
"""
