"""List the constructs that each phase of a function forbids; `verify` enforces this table."""

from __future__ import annotations

from tile_ir.nodes import LoopKind, Phase
from tile_ir.quick_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """From this phase on: which freedoms are gone."""

    composites: bool = True
    open_memories: bool = True
    compiler_lanes: bool = True
    unsectioned: bool = True
    loop_kinds: frozenset[LoopKind] = frozenset(LoopKind)
    addresses_required: bool = False


PLAIN_LOOPS = frozenset({LoopKind.SERIAL, LoopKind.UNROLL})

# A phase keeps what the ones before it forbid.
_BUILT = PhaseRule()
_TYPED = replace(_BUILT, open_memories=False)
_LOWERED = replace(
    _TYPED,
    composites=False,
    compiler_lanes=False,
    loop_kinds=PLAIN_LOOPS | {LoopKind.PIPELINED, LoopKind.TASK},
)
_SPLIT = replace(_LOWERED, unsectioned=False)
# In the final text of a launch such a loop stands around each task, for one iteration.
_PIPELINED = replace(_SPLIT, loop_kinds=PLAIN_LOOPS | {LoopKind.TASK})
_PLANNED = replace(_PIPELINED, addresses_required=True)

PHASES: dict[Phase, PhaseRule] = {
    Phase.BUILT: _BUILT,
    Phase.TYPED: _TYPED,
    Phase.LOWERED: _LOWERED,
    Phase.SPLIT: _SPLIT,
    Phase.PIPELINED: _PIPELINED,
    Phase.PLANNED: _PLANNED,
    Phase.SYNCED: _PLANNED,
}
