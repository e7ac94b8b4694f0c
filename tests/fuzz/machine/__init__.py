"""Runs final IR on the simulator without compiling it: `assemble` makes a flat program of a
function, the kernel in machine.cpp runs it, `run` starts that kernel. What the generator of random
kernels does not use is not here."""

from fuzz.machine.run import Outcome, run

__all__ = ["Outcome", "run"]
