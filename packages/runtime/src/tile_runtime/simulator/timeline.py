"""Hold the modelled timeline of a launch: every instruction on its pipe, and figures from it.

Holds the modelled times only; pictures and pages are made of it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from tile_ir import Target
from tile_ir.costs.timing import DEFAULT_TIMING, timing_of
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.pipe_picture import pipe_picture
from tile_runtime.simulator.waited_for import shares_of_waits

# The last one is a queue of the engine that copies without cores.
PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "SDMA")
# Those that move bytes from or to gm: what is under way has left them.
TRANSFERS = ("MTE2", "MTE3", "FIX", "SDMA")
CORES = ("aic", "aiv0", "aiv1")
KINDS = (
    "work", "set", "wait", "barrier", "barrier all", "cross set", "cross wait", "signal",
    "word wait", "rank barrier", "look", "engine wait",
)  # fmt: skip
REASONS = (
    "", "issue", "flag", "barrier", "cross-core flag", "queue full", "memory", "bank conflict",
    "other rank", "word in gm", "engine",
)  # fmt: skip
# Of these, what an instruction loses while it has its pipe: its `slowed`, not its `waited`.
WITHIN_WORK = ("memory", "bank conflict")
WORK = 0

# The layout of TileTimeEvent (tile_timing.h).
EVENT = np.dtype(
    [
        ("begin", "f8"), ("end", "f8"), ("complete", "f8"), ("waited", "f8"),
        ("slowed", "f8"), ("bytes", "u8"), ("cause", "i8"),
        ("api", "u4"), ("file", "u4"), ("line", "u4"), ("block", "u4"),
        ("core", "u1"), ("pipe", "u1"), ("kind", "u1"), ("reason", "u1"),
        ("source", "u1"), ("flag", "u1"), ("mode", "u1"), ("peer", "u1"),
    ]
)  # fmt: skip
# The sums of TileTimeline, in its order.
TOTALS = (
    "cycles", "start_cycles", "scalar_aic_cycles", "scalar_aiv_cycles", "launch_us", "macs",
    "read_bytes", "write_bytes", "hbm_bytes", "owed_bytes",
)  # fmt: skip
# The layout of TileTimeAccess.
ACCESS = np.dtype(
    [
        ("begin", "u8"), ("end", "u8"), ("event", "u4"), ("made", "u4"),
        ("buffer_begin", "u4"), ("buffer_end", "u4"), ("memory", "u1"), ("kind", "u1"),
        ("off_line", "u1"), ("unused", "u1"), ("rows", "u4"),
    ]
)  # fmt: skip
# The layout of TileBankChange, and of TileBankPadding.
_CHANGE = np.dtype(
    [
        (name, "u4")
        for name in ("file", "made", "buffer_begin", "at", "pitch", "bytes", "element", "unused")
    ]
)
PADDING = np.dtype(
    [
        ("cycles", "f8"), ("left", "f8"), ("elsewhere", "f8"), ("file", "u4"), ("line", "u4"),
        ("changes", _CHANGE, (2,)),
    ]
)  # fmt: skip
MEMORIES = ("GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB")


@dataclass(frozen=True, slots=True)
class Stall:
    """Cycles a pipe stood still at one source line, summed over cores, and the instructions it
    waited for: those of `worker` ("aiv V", a kind of core and a pipe) from one line."""

    core: str
    pipe: str
    reason: str
    file: str
    line: int
    cycles: float
    count: int
    worker: str = ""
    worker_file: str = ""
    worker_line: int = 0


@dataclass(frozen=True)
class Timeline:
    """Times in cycles of the core clock since the launch; `events` has the dtype EVENT and
    `accesses`, which names events by index, the dtype ACCESS. `paddings` has the dtype PADDING:
    what removes bank conflicts, by line."""

    totals: dict[str, float]
    strings: list[str]
    events: Any
    accesses: Any
    mhz: float
    cube_cores: int
    vector_cores: int
    hbm_bandwidth: float
    paddings: Any = field(default_factory=lambda: np.zeros(0, PADDING))

    def __repr__(self) -> str:
        return f"<{self._headline()}>"

    def _repr_html_(self) -> str:
        """Draw the page of a notebook: the times, and a picture of the pipes at work."""
        picture = pipe_picture(self.events, PIPES, WORK, self.mhz)
        return f"<div>\n<p><b>{self._headline()}</b></p>\n{picture}\n</div>"

    def _headline(self) -> str:
        return (
            f"timeline: {self.microseconds:.2f} us on the device, {self.task_microseconds:.2f} us "
            f"with launch, {len(self.events):,} events"
        )

    @property
    def microseconds(self) -> float:
        """From the start of the first block to the end of the last; infinite if the launch would
        hang on the chip: blocks wait for others that no core is free to run."""
        return self.totals["cycles"] / self.mhz

    @property
    def task_microseconds(self) -> float:
        """The same with the cost of launching, which a profiler calls task duration."""
        return self.microseconds + self.totals["launch_us"]

    @property
    def paid_microseconds(self) -> float:
        """`microseconds` plus the time to write the bytes that still lie in L2 to HBM. It is the
        time of a launch that pays for its own traffic, as when launches follow each other."""
        table = DEFAULT_TIMING
        rate = self.hbm_bandwidth * table.hbm_write_bandwidth / table.hbm_bandwidth * 1e3
        return self.microseconds + self.totals.get("owed_bytes", 0) / rate

    @property
    def body_microseconds(self) -> float:
        """From the first instruction to the end of the last block."""
        return (self.totals["cycles"] - self.totals["start_cycles"]) / self.mhz

    @property
    def flops(self) -> float:
        """Floating-point operations of the cube units per second."""
        return 2 * self.totals["macs"] / (self.microseconds * 1e-6) if self.microseconds else 0.0

    @property
    def peak_flops(self) -> float:
        """The chip's peak for 16-bit operands: 4096 multiply-accumulates per cycle and core."""
        return self.cube_cores * 4096 * 2 * self.mhz * 1e6

    @property
    def bandwidth(self) -> float:
        """Bytes per second between GM and the cores."""
        moved = self.totals["read_bytes"] + self.totals["write_bytes"]
        return moved / (self.microseconds * 1e-6) if self.microseconds else 0.0

    def busy(self, unfinished: bool = False) -> dict[tuple[str, str], float]:
        """Microseconds in which instructions hold a pipe, by kind of core ("aic", "aiv") and pipe:
        mean over the cores that took part. With `unfinished` those of pipes on the chip count until
        their results are there, as a profiler's columns do; what is on its way from or to gm has
        left its pipe."""
        found: dict[tuple[str, str], float] = {}
        work = self.events[self.events["kind"] == WORK]
        for vector, kind in ((False, "aic"), (True, "aiv")):
            of_kind = work[(work["core"] > 0) == vector]
            cores = self.cores_used(vector)
            scalar = self.totals[f"scalar_{kind}_cycles"]
            if scalar > 0:
                found[kind, "S"] = scalar / cores / self.mhz
            for pipe in range(1, len(PIPES)):
                events = of_kind[of_kind["pipe"] == pipe]
                if len(events):
                    until = "complete" if unfinished and PIPES[pipe] not in TRANSFERS else "end"
                    cycles = cycles_covered(events, until)
                    found[kind, PIPES[pipe]] = cycles / cores / self.mhz
        return found

    def cores_used(self, vector: bool) -> int:
        """Vector or cube cores of the chip that took part; at least one."""
        events = self.events[(self.events["core"] > 0) == vector]
        if not len(events):
            return 1
        blocks = len(np.unique(events["block"].astype(np.int64) * 4 + events["core"]))
        return int(min(blocks, self.vector_cores if vector else self.cube_cores))

    def stalls(self) -> list[Stall]:
        """Where pipes waited, or moved less than they could, longest first."""
        return [*self._stalls]

    @cached_property
    def _stalls(self) -> list[Stall]:
        wait, worker, shares = shares_of_waits(self.events, WORK)
        # A transfer that shares the bandwidth waits for nobody, nor do operands that share a bank.
        slow = np.flatnonzero(self.events["slowed"] > 0)
        waiting = self.events[np.concatenate([wait, slow])]
        if not len(waiting):
            return []
        reasons = np.array([REASONS.index(lost_to(pipe)) for pipe in PIPES])
        waiting["reason"][len(wait) :] = reasons[self.events["pipe"][slow]]
        by = self.events[np.concatenate([worker, slow])]
        # Handing over is the scalar unit's work.
        handed = np.append(wait == worker, np.zeros(len(slow), bool))
        columns = [
            waiting["core"] > 0, waiting["pipe"], waiting["reason"], waiting["file"],
            waiting["line"], by["core"] > 0, np.where(handed, PIPES.index("S"), by["pipe"]),
            by["file"], by["line"],
        ]  # fmt: skip
        lost = np.append(shares, self.events["slowed"][slow])
        keys, cycles, counts = sums_by(columns, lost, np.ones(len(lost)))
        found = [
            Stall(
                "aiv" if key[0] else "aic", PIPES[key[1]], REASONS[key[2]],
                self.strings[key[3]], int(key[4]), float(c), int(n),
                f"{'aiv' if key[5] else 'aic'} {PIPES[key[6]]}",
                self.strings[key[7]], int(key[8]),
            )
            for key, c, n in zip(keys, cycles, counts, strict=True)
        ]  # fmt: skip
        order = attrgetter("core", "pipe", "file", "line", "reason", "worker", "worker_line")
        return sorted(found, key=lambda s: (-s.cycles, *order(s)))

    def critical_path(self) -> Iterator[int]:
        """Indices of the events that end last, each before the one it waited for."""
        if not len(self.events):
            return
        at = int(np.argmax(self.events["complete"]))
        seen: set[int] = set()
        while at >= 0 and at not in seen:
            seen.add(at)
            yield at
            at = int(self.events["cause"][at])


def timeline_from(
    totals: dict[str, float],
    strings: list[str],
    events: bytes | memoryview,
    accesses: bytes | memoryview,
    paddings: bytes | memoryview,
    target: Target,
) -> Timeline:
    """Build the timeline from the simulator's results."""
    return Timeline(
        totals,
        strings,
        np.frombuffer(events, EVENT),
        np.frombuffer(accesses, ACCESS),
        target.clock_mhz,
        target.cube_cores,
        target.vector_cores,
        timing_of(target)["hbm_bandwidth"],
        np.frombuffer(paddings, PADDING),
    )


def sums_by(columns: Sequence[Any], *weights: Any) -> tuple[Any, ...]:
    """The distinct rows of columns, as lists, and for each the sums of the weights."""
    keys = np.stack([np.asarray(c, np.int64) for c in columns], axis=1)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    sums = (np.bincount(inverse.ravel(), w, len(unique)) for w in weights)
    return unique.tolist(), *sums


def lost_to(pipe: str) -> str:
    """Why an instruction of a pipe lost the cycles that are its `slowed`."""
    return "bank conflict" if pipe == "V" else "memory"


def cycles_covered(events: Any, until: str = "end") -> float:
    """Cycles during which at least one event of a pipe is under way, summed over cores: it keeps
    its pipe until its `end`, and its result is there when it is `complete`."""
    group = events["block"].astype(np.int64) * 4 + events["core"]
    order = np.lexsort((events["begin"], group))
    group, begin, end = group[order], events["begin"][order], events[until][order]
    # Far apart, so that one running maximum serves all groups.
    apart = float(end.max()) + 1
    shift = np.unique(group, return_inverse=True)[1] * apart
    begin, end = begin + shift, end + shift
    before = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
    return float(np.maximum(0, end - np.maximum(begin, before)).sum())
