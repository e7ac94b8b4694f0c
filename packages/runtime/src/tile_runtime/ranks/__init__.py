"""Kernels on several devices: simulated ones of this process, with memory that each has an instance
of. Not here: what a rank does to another, which is of the language and of the simulator.
"""

from tile_runtime.ranks.processes import ProcessRanks, init_ranks
from tile_runtime.ranks.simulated import Ranks
from tile_runtime.ranks.symmetric_tensor import SymmetricTensor

__all__ = ["ProcessRanks", "Ranks", "SymmetricTensor", "init_ranks"]
