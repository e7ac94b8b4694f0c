"""Run kernels on several simulated devices of this process.

Not here: the effects of one rank on another, which belong to the language and the simulator.
"""

from tile_runtime.ranks.processes import ProcessRanks, init_ranks
from tile_runtime.ranks.simulated import Ranks
from tile_runtime.ranks.symmetric_tensor import SymmetricTensor

__all__ = ["ProcessRanks", "Ranks", "SymmetricTensor", "init_ranks"]
