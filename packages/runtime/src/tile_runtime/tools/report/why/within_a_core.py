"""Find the limit of the core that ends last.

It is a pipe that has too much to do, instructions that wait for each other, the scalar unit, or the
two kinds of core that take turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from tile_runtime.tools.report.number_text import binary
from tile_runtime.tools.report.timed_run import Place
from tile_runtime.tools.report.why.finding import Cause, percents
from tile_runtime.tools.report.why.line_work import LineWork, share_of_lines
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.overlap import waiting_findings
from tile_runtime.tools.report.why.pipe_loads import PipeLoad
from tile_runtime.tools.report.why.room_for_tiles import larger_tiles

# A pipe that is busy, or on the critical path, for this share of the time decides it.
MOSTLY_BUSY = 0.7
MOSTLY_ON_PATH = 0.6
# From these shares on: the scalar unit decides; starting instructions, sharing memory, or rows off
# the lines of L2 is what its pipe spends its time with; results are waited for.
SCALAR_DECIDES = 0.4
SCALAR_IS_SEEN = 0.1
MOSTLY_STARTING = 0.4
MOSTLY_SHARED = 0.3
MOSTLY_OFF_LINE = 0.5
MUCH_LATENCY = 0.35
# Bytes of a line of L2; a transfer of fewer than these lines does not pay for its start.
_LINE = 512
NAMES = {
    "S": "the scalar unit", "V": "the vector pipe", "M": "the cube pipe",
    "MTE1": "the loads from L1 (MTE1)", "MTE2": "the loads from global memory (MTE2)",
    "MTE3": "the stores to global memory (MTE3)", "FIX": "the stores of products (FIX)",
    "SDMA": "the engine that copies without cores (SDMA)",
}  # fmt: skip


def core_findings(m: Measures) -> Iterator[Cause]:
    """Find the limit of the core that ends last: one finding, with others beside it."""
    if not m.path.parts:
        return
    scalar = _scalar(m)
    if scalar is not None:
        yield scalar
        if scalar.share >= SCALAR_DECIDES:
            return
    yield from _one_lane(m)
    busiest = m.loads[0]
    if busiest.pipe == "FIX":
        # With unit flags it is held while Mmad makes what it stores.
        others = [load for load in m.loads if load.pipe == "M" and load.busy > 0.8 * busiest.busy]
        busiest = others[0] if others else busiest
    share = busiest.busy / m.path.cycles
    (core, pipe), on_path = next(iter(m.path.sums(lambda p: (p.core, p.pipe)).items()))
    if share >= MOSTLY_BUSY:
        yield _pipe(m, busiest, f"busy {percents(share)} of the time", share)
    elif on_path >= MOSTLY_ON_PATH * m.path.cycles:
        kinds = [load for load in m.loads if (load.core[:3], load.pipe) == (core, pipe)]
        load = kinds[0] if kinds else busiest
        yield _latency(m, load, on_path) or _pipe(
            m, load, f"{percents(on_path / m.path.cycles)} of the critical path",
            on_path / m.path.cycles,
        )  # fmt: skip
    else:
        yield from waiting_findings(m)


def _one_lane(m: Measures) -> Iterator[Cause]:
    vector = [load for load in m.loads if load.pipe == "V"]
    pairs = m.chains.cores < m.run.timeline.vector_cores
    share = vector[0].busy / m.path.cycles if vector else 0.0
    if pairs and len(vector) == 1 and share >= MOSTLY_BUSY:
        yield Cause(
            "one lane",
            "one of two vector cores",
            "the other one of each block calculates nothing",
            "let both work (`threads=2`, or by `vid`)",
            share,
        )


def _scalar(m: Measures) -> Cause | None:
    share = m.decisive((("aic", "S"), ("aiv", "S")))
    flags = sum(p.cycles for p in m.path.parts if p.doing == "flag") / max(m.path.cycles, 1e-9)
    share -= flags
    if share < SCALAR_IS_SEEN:
        return None
    lines = m.path.sums(lambda p: (m.run.shown_place(p.place), p.doing) if p.pipe == "S" else None)
    found = [(key, cycles) for key, cycles in lines.items() if key is not None and key[1] != "flag"]
    (place, doing), cycles = found[0]
    remark = m.run.remarks.get(place, "")
    if remark:
        change = f"let vector instructions do it; the compiler says: {remark}"
    elif doing == "work":
        change = (
            "keep single elements off its way: whole tiles in T.Parallel or T.tile, or fewer of "
            "them, read ahead of the loop"
        )
    else:
        change = _hand_over_less(m, "aiv")
    return Cause(
        "scalar",
        "the scalar unit",
        f"{percents(share)} of the critical path, most of it "
        f"({percents(cycles / m.path.cycles)}) at {m.line_text(place)}",
        change,
        share,
        (place,),
        by_hand=bool(remark),
    )


def _pipe(m: Measures, load: PipeLoad, how: str, share: float) -> Cause:
    """The finding for a pipe that has too much to do, by the kind of its work."""
    what, said = NAMES[load.pipe], how
    if load.pipe == "S":
        line = max(m.lines, key=lambda work: work.instructions, default=None)
        if line is None:
            return Cause("scalar", what, said, _hand_over_less(m, load.core), share)
        part = line.instructions / sum(work.instructions for work in m.lines)
        said += f"; {percents(part)} of the instructions are at {m.line_text(line.place)}"
        return Cause("scalar", what, said, _hand_over_less(m, load.core), share, (line.place,))
    wanted = (load.core[:3], load.pipe)
    lines = share_of_lines(m.lines, lambda key: key == wanted)
    line, part = lines[0]
    said += f", above all ({percents(part)} of it) at {m.line_text(line.place)}"
    if load.pipe in ("MTE2", "MTE3"):
        bound, more, change = _transfers(m, m.load_at(line.place, load))
    elif load.pipe == "V" and m.banks and load.slowed >= MOSTLY_SHARED * load.busy:
        return _banks(m, load, what, said, share)
    elif load.starting >= MOSTLY_STARTING * load.busy:
        bound, more, change = _short_instructions(m, load)
    elif load.pipe == "M":
        bound, more, change = "cube pipe", "", _less_of_products(m, load)
    elif load.pipe == "V":
        bound, more, change = "vector pipe", "", _less_vector_work(line)
    else:
        bound, more, change = _PIPE_BOUNDS[load.pipe]
    places = tuple(work.place for work, of_it in lines[:3] if of_it >= 0.1)
    return Cause(bound, what, said + more, change, share, places)


def _banks(m: Measures, load: PipeLoad, what: str, said: str, share: float) -> Cause:
    """Vector instructions that take long because their operands meet in a bank."""
    # Where several lines conflict, one that room helps says what to do.
    worst = next((bank for bank in m.banks if bank.changes), m.banks[0])
    said += (
        f"; {percents(load.slowed / load.busy)} of that because operands of one instruction meet "
        f"in a bank of UB, such as those at {m.line_text(worst.place)}"
    )
    change = (
        f"{' and '.join(worst.changes)}: {worst.left_text}"
        if worst.changes
        else "put the operands of an instruction where they do not meet: no room in UB that fits "
        "does so at that line"
    )
    return Cause("bank conflicts", what, said, change, share, (worst.place,))


def _hand_over_less(m: Measures, core: str) -> str:
    return f"hand over fewer and longer instructions: {larger_tiles(m, core, 'S', _SEVERAL)}"


_SEVERAL = ", several rows at a time"
_PIPE_BOUNDS = {
    "MTE1": (
        "L1 loads", "",
        "take more products of what is in L0: larger tiles in L0, or keep one operand there",
    ),
    "FIX": (
        "product stores", "",
        "store products less often: sum up in L0C over the whole reduction",
    ),
    "SDMA": (
        "engine copies", "",
        "ask for them earlier, or let cores that have time copy a part (T.put, T.get)",
    ),
}  # fmt: skip


def _short_instructions(m: Measures, load: PipeLoad) -> tuple[str, str, str]:
    mean = load.busy / load.count
    more = (
        f"; its {load.count:,} instructions take {mean:.0f} cycles in the mean, "
        f"{percents(load.starting / load.busy)} of that to start"
    )
    return (
        f"short instructions ({load.pipe})",
        more,
        "work on more elements with each of them: "
        + larger_tiles(m, load.core, load.pipe, _SEVERAL),
    )


def _less_of_products(m: Measures, load: PipeLoad) -> str:
    if load.starting <= 0.2 * load.busy:
        return "it is near its peak: only fewer products, or narrower operands, help"
    larger = larger_tiles(m, load.core, load.pipe)
    return f"make longer products: {larger}; narrower operands make quicker ones"


def _less_vector_work(line: LineWork) -> str:
    if line.remark:
        return f"do less there; the compiler says: {line.remark}"
    return (
        "do less there: fewer or cheaper operations for each element, a narrower type, or take out "
        "of the loop what does not change in it"
    )


def _transfers(m: Measures, load: PipeLoad) -> tuple[str, str, str]:
    """Find the reason of long transfers, the easiest change first."""
    name = "loads" if load.pipe == "MTE2" else "stores"
    size = load.moved / max(load.runs, 1)
    if load.starting >= MOSTLY_STARTING * load.busy:
        mean = binary(load.moved / load.count)
        more = f"; its {load.count:,} transfers have {mean} in the mean, which does not pay"
        return (
            f"small {name}",
            more,
            "move more with each copy: " + larger_tiles(m, load.core, load.pipe, _SEVERAL),
        )
    if size < _LINE and load.runs > load.count:
        more = f"; its rows are short ({size:.0f} bytes)"
        return f"short rows ({name})", more, "take longer rows: tiles that are wider than high"
    if load.off_line >= MOSTLY_OFF_LINE * load.moved:
        return f"unaligned {name}", *_off_line(load, size)
    if load.between_ranks >= MOSTLY_SHARED * load.busy:
        more = f"; {percents(load.between_ranks / load.busy)} of that because a link is slower than"
        more += " a core"
        return name, more, "send to several ranks at a time, from different cores, or fewer bytes"
    if load.slowed >= MOSTLY_SHARED * load.busy:
        more = f"; {percents(load.slowed / load.busy)} of that because all cores share HBM and L2"
        larger = larger_tiles(m, load.core, load.pipe)
        return name, more, f"move fewer bytes, using each for more work: {larger}"
    total = m.run.timeline.totals["read_bytes" if load.pipe == "MTE2" else "write_bytes"]
    tensors = m.run.facts.tensor_bytes
    if load.pipe == "MTE2" and tensors and total > 1.5 * tensors:
        more = f"; it loads {total / tensors:.1f} times the bytes of all tensors"
        return (
            name,
            more,
            "keep what comes again on the core, or use each byte for more work: "
            + larger_tiles(m, load.core, load.pipe),
        )
    return (
        name,
        "",
        "a core moves no faster: more cores, a narrower type, or more work for each byte",
    )


def _off_line(load: PipeLoad, size: float) -> tuple[str, str]:
    """The finding for transfers that begin inside a line of L2, of several rows or of one piece."""
    if load.runs > load.count:
        return (
            f"; most of its rows ({size:.0f} bytes) do not start on multiples of {_LINE} bytes",
            f"pad rows in global memory to multiples of {_LINE} bytes, or give blocks whole rows",
        )
    return (
        f"; most of its pieces ({size:.0f} bytes) do not start on multiples of {_LINE} bytes",
        f"let each copy begin at a multiple of {_LINE} bytes: tiles of as many elements",
    )


def _latency(m: Measures, load: PipeLoad, on_path: float) -> Cause | None:
    """Instructions that wait for the result of the one before, where that is most of it."""
    kind = load.core[:3]
    waiting = [p for p in m.path.parts if (p.core, p.pipe, p.doing) == (kind, load.pipe, "latency")]
    share = sum(p.cycles for p in waiting) / on_path
    if share < MUCH_LATENCY:
        return None
    lines: dict[Place, float] = {}
    for part in waiting:
        here = m.run.shown_place(part.place)
        lines[here] = lines.get(here, 0.0) + part.cycles
    place = max(lines, key=lambda at: lines[at])
    return Cause(
        "latency",
        f"the latency of {NAMES[load.pipe]}",
        f"{percents(on_path / m.path.cycles)} of the critical "
        f"path, {percents(share)} of that waiting for the result of the instruction before, "
        f"most at {m.line_text(place)}",
        f"let each instruction do more ({larger_tiles(m, load.core, load.pipe, _SEVERAL)}), or put "
        "independent work between two that depend on each other",
        on_path / m.path.cycles,
        (place,),
    )
