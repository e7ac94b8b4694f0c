"""What each phase of a function guarantees and forbids; `verify` enforces this table."""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir.nodes import LoopKind, Phase


@dataclass(frozen=True, slots=True)
class PhaseRule:
    """From this phase on: which freedoms are gone."""

    phase: Phase
    introduced_by: str
    guarantee: str
    composites: bool = True
    open_memories: bool = True
    compiler_lanes: bool = True
    unsectioned: bool = True
    loop_kinds: frozenset[LoopKind] = frozenset(LoopKind)
    addresses_required: bool = False


PLAIN_LOOPS = frozenset({LoopKind.SERIAL, LoopKind.UNROLL})

PHASES: dict[Phase, PhaseRule] = {
    r.phase: r
    for r in (
        PhaseRule(Phase.BUILT, "the frontend", "names resolve, every node has a location"),
        PhaseRule(
            Phase.TYPED,
            "infer_memory",
            "every operand has a memory, a type and a shape",
            open_memories=False,
        ),
        PhaseRule(
            Phase.LOWERED,
            "lower_tile_ops",
            "every operation runs on one pipe, its regions are contiguous and inside their buffers",
            composites=False,
            open_memories=False,
            compiler_lanes=False,
            loop_kinds=PLAIN_LOOPS | {LoopKind.PIPELINED},
        ),
        PhaseRule(
            Phase.SPLIT,
            "split_cube_vector",
            "every operation stands in the section of one core",
            composites=False,
            open_memories=False,
            compiler_lanes=False,
            unsectioned=False,
            loop_kinds=PLAIN_LOOPS | {LoopKind.PIPELINED},
        ),
        PhaseRule(
            Phase.PIPELINED,
            "split_cube_vector",
            "stage counts have become buffers",
            composites=False,
            open_memories=False,
            compiler_lanes=False,
            unsectioned=False,
            loop_kinds=PLAIN_LOOPS,
        ),
        PhaseRule(
            Phase.PLANNED,
            "plan_memory",
            "every buffer has an address inside its memory",
            composites=False,
            open_memories=False,
            compiler_lanes=False,
            unsectioned=False,
            loop_kinds=PLAIN_LOOPS,
            addresses_required=True,
        ),
        PhaseRule(
            Phase.SYNCED,
            "accept_manual_sync",
            "flags and barriers are final: nothing may be reordered",
            composites=False,
            open_memories=False,
            compiler_lanes=False,
            unsectioned=False,
            loop_kinds=PLAIN_LOOPS,
            addresses_required=True,
        ),
    )
}
