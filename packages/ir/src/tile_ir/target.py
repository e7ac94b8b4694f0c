"""Describe a chip by fields without a default: each chip gives all of them.

The chips themselves stand in `chips/`, a file for each architecture of AI core. Each property of a
device that a rule of the op table, a pass, the verifier or a checker uses is a field here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from tile_ir.diagnostics.errors import KernelError
from tile_ir.dtypes import DType
from tile_ir.kept_hash import Hashed, kept_hash
from tile_ir.machine import Core, Memory, Pipe
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target(Hashed):
    """One SoC. Sizes in bytes, clock in MHz.

    `architecture` is the family that scripts name (A2, A3, A5); `ai_core` is the architecture of
    its cores (dav-c220), by which instructions differ, and `npu_arch` its number in options of
    compilers. `pipes` are the queues of each kind of core and `flag_pairs` those between which it
    has flags. `paths` are the paths from memory to memory that the hardware has. `conversions` are
    those of one vector instruction, with their rounding modes, and `fixpipe` those on the path out
    of l0c; `accumulators` are the types that products have, by that of their operands. `dumpable`
    memories can be printed from. `unavailable` are operations of the table that these cores lack,
    with the hint to their replacement.
    """

    name: str
    architecture: str
    ai_core: str
    npu_arch: str
    cube_cores: int
    vector_cores: int
    published_mhz: int | None
    hbm_gigabytes: int | None
    published_l2: int | None
    capacity: Mapping[Memory, int]
    alignment: Mapping[Memory, int]
    pipes: Mapping[Core, tuple[Pipe, ...]]
    flag_pairs: Mapping[Core, frozenset[tuple[Pipe, Pipe]]]
    paths: frozenset[tuple[Memory, Memory]]
    conversions: Mapping[tuple[str, str], tuple[str, ...]]
    fixpipe: frozenset[tuple[DType, DType]]
    accumulators: Mapping[DType, DType]
    dumpable: frozenset[Memory]
    unavailable: Mapping[str, str]
    # What documents name and the compiler takes, and what the hardware tells apart.
    events_per_pair: int
    encoded_events_per_pair: int
    cross_flags: int
    compiler_cross_flags: int
    cross_counter_limit: int

    __hash__ = kept_hash("name")

    def text(self) -> str:
        """All that is known of it, as the same text in every process: sets in order."""
        return "\n".join(f"{f.name}: {_in_order(getattr(self, f.name))}" for f in fields(self))

    @property
    def clock_mhz(self) -> int:
        """Raises KernelError where no clock is published: nothing can be timed."""
        return self._published("clock", self.published_mhz)

    @property
    def l2_bytes(self) -> int:
        """Raises KernelError where no size is published."""
        return self._published("size of L2", self.published_l2)

    def _published(self, what: str, number: int | None) -> int:
        if number is None:
            message = f"no {what} of {self.name} is published"
            hint = "choose a chip of another family: its kernels are checked, but not timed"
            raise KernelError("chip-unpublished", message, hint=hint)
        return number


def _in_order(value: object) -> str:
    match value:
        case frozenset():
            return repr(sorted(map(repr, value)))
        case Mapping():
            return repr([(repr(key), _in_order(inner)) for key, inner in value.items()])
    return repr(value)
