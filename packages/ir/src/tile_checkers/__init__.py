"""Check final kernels: memory, the order inside a core, the order between cores.

Each one proves a property for all sizes, trip counts and branch outcomes, from the text of a
function alone. It imports the IR (`tile_ir`) and shares no rule, constant or result with the passes
whose decisions it checks.

* `check_memory` (PLANNED or SYNCED): no statement overwrites bytes of another buffer that holds a
  value which is read later.
* `check_sync` (SYNCED): a flag, a barrier or a cross-core counter orders every two accesses that
  may touch a common byte, one of them writing. Every flag is set once before each wait, and no flag
  stays set. `section` checks one core, `block` the cores of a block against each other.
* `check_ranks` (SYNCED): signals, waits and barriers order every two accesses of two ranks to one
  instance of a symmetric tensor, for given numbers of ranks. No rank waits in vain.
* `check_choices` (SYNCED): the same, without decisions of the kernel's author.

Contract: a function without findings has the property in every run. A finding of severity error
names two statements and the missing order between them. A property that a checker cannot decide is
a finding too: `sync-unproved` between cores or ranks, `flag-id-unknown` and `sync-too-many-states`
inside a core. It names the reason, and the simulator decides such a kernel run by run.

Not here: addresses, alignment and sizes (the verifier), and order between the blocks of a device.
"""

from __future__ import annotations

from tile_checkers.choices import check_choices
from tile_checkers.memory import check_memory
from tile_checkers.ranks import RanksProof, check_ranks, prove_ranks
from tile_checkers.sync import check_sync

__all__ = [
    "RanksProof",
    "check_choices",
    "check_memory",
    "check_ranks",
    "check_sync",
    "prove_ranks",
]
