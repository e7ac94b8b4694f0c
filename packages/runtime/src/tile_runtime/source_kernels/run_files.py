"""The anonymous files a run shares with its process; layout: `simulator/runner/run_record.h`."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tile_ir import BuildError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.simulation_error import Fault
from tile_runtime.simulator.timeline import ACCESS, EVENT, PADDING, TOTALS
from tile_runtime.source_kernels.arguments import BUFFER, INTEGER, REAL, ArgumentCell

_REQUEST = struct.Struct("<IIIIQIIQIIII")
_ARGUMENT = struct.Struct("<IIQQQQdIIII64s")
_CONSTANT = struct.Struct("<24sd")
_MOST_FRAMES = 64
_TEXTS = 9
_RECORD = struct.Struct(f"<IiQiIqIIIIIIQIIiI{_MOST_FRAMES}Q{_TEXTS}Q64s512sII")
_TIMELINE = struct.Struct("<QQQQQdddddQQQQQ")
TimelineParts = tuple[dict[str, float], list[str], memoryview, memoryview, memoryview]
# GM allocations start at multiples of this (docs/hardware/units.md#alignment).
_GM_ALIGNMENT = 512
_PAGE = os.sysconf("SC_PAGESIZE")
# What a buffer holds that nothing has written, in every byte.
_UNWRITTEN = b"\xff"
# A kernel that overwrote the record can not make the caller read more than this.
_LONGEST_TEXT = 64 << 20

STARTING, CANNOT_LOAD, BAD_ARGUMENT, RUNNING, FINISHED, OUT_OF_MEMORY, WROTE_OUTSIDE = range(7)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run: numbers of tile_simulator.h's TileOptions, and the limit of memory in bytes.

    `timing` has the constants of the time model; None: the run is not timed.
    """

    blocks: int
    checks: int
    threads: int
    seed: int
    cube_cores: int
    vector_cores: int
    memory_limit: int
    starved: int = 0
    timing: Mapping[str, float] | None = None
    first: bool = False


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The runner's record; the fields of the structure Record.

    `texts` are kind, text, file, core and API of a fault, the printed text, and the hint of the
    fault. Then come the further faults, or the warnings of a run without one, and the elements left
    unwritten."""

    state: int
    signal: int
    fault_address: int
    nearest_buffer: int
    in_simulator: bool
    nearest_offset: int
    has_core: bool
    block: int
    core: int
    line: int
    on_stack: bool
    argument: int
    elapsed: float
    has_fault: bool
    exit_code: int
    frames: tuple[int, ...]
    texts: tuple[str, ...]
    last_api: str
    last_file: str
    last_line: int

    @property
    def others(self) -> list[Fault]:
        """The faults but the first; of a run without one what it did that works on a device, but
        is waste or relies on what no document says."""
        records = [r.split("\x1f") for r in self.texts[7].split("\x1e")[:-1]]
        return [
            Fault(kind, text, file, int(line), int(block), core, api, hint)
            for kind, text, file, line, block, core, api, hint, _ in records
        ]

    @property
    def gaps(self) -> list[tuple[int, int, int, int]]:
        """Of every array that held nothing and was not written to its end: its cell, the number of
        elements left, and the first run of them. Known of a run without a fault."""
        records = [r.split("\x1f") for r in self.texts[8].split("\x1e")[:-1]]
        found = [(int(i), int(count), int(first), int(end)) for i, count, first, end, _ in records]
        return [gap for gap in found if gap[1] > 0]


class RunFiles:
    """Request, record and console of one run, and the timeline if it is timed. They have no name,
    so none can be left behind."""

    def __init__(self, options: RunOptions, cells: Sequence[ArgumentCell]) -> None:
        self._descriptors: list[int] = []
        try:
            self.request = self._open("tile-request")
            self.record = self._open("tile-record")
            self.console = self._open("tile-console")
            self.timeline = -1 if options.timing is None else self._open("tile-timeline")
            os.ftruncate(self.record, _RECORD.size)
            self._places = self._write_request(options, cells)
        except OSError:
            self.close()
            raise

    def _open(self, name: str) -> int:
        descriptor = os.memfd_create(name)
        self._descriptors.append(descriptor)
        return descriptor

    def _write_request(
        self, options: RunOptions, cells: Sequence[ArgumentCell]
    ) -> list[tuple[int, int]]:
        constants = options.timing or {}
        position = _pages(
            _REQUEST.size + len(cells) * _ARGUMENT.size + len(constants) * _CONSTANT.size
        )
        header = bytearray(
            _REQUEST.pack(
                len(cells), options.blocks, options.checks, options.threads, options.seed,
                options.cube_cores, options.vector_cores, options.memory_limit,
                options.starved, len(constants), options.first, 0,
            )
        )  # fmt: skip
        places: list[tuple[int, int]] = []
        for index, cell in enumerate(cells):
            size = cell.memory.nbytes if cell.kind == BUFFER else 0
            # The end lies as near to the guard page behind it as the alignment of GM allows.
            aligned = -(-size // _GM_ALIGNMENT) * _GM_ALIGNMENT
            lead = _pages(aligned) - aligned
            shares = index if cell.shares is None else cell.shares
            start = position
            if cell.kind == BUFFER and shares == index:
                places.append((start + lead, size))
                position += _pages(aligned)
            else:
                places.append(places[shares] if cell.kind == BUFFER else (0, 0))
            integer = int(cell.number) if cell.kind == INTEGER else cell.points
            real = float(cell.number) if cell.kind == REAL else 0.0
            header += _ARGUMENT.pack(
                cell.kind, cell.type, size, start, lead, integer & (1 << 64) - 1, real,
                integer < 0, shares, cell.fresh, 0, cell.name.encode()[:63],
            )  # fmt: skip
        for name, value in constants.items():
            header += _CONSTANT.pack(name.encode(), value)
        os.ftruncate(self.request, position)
        os.pwrite(self.request, header, 0)
        for (start, size), cell in zip(places, cells, strict=True):
            if size and cell.shares is None:
                content = _UNWRITTEN * size if cell.fresh else cell.memory
                _write_all(self.request, memoryview(content), start)
        return places

    def memory_after(self, index: int) -> Any:
        """The bytes of a buffer as the run left them, in new memory."""
        start, size = self._places[index]
        result = np.empty(size, np.uint8)
        done = 0
        while done < size:
            count = os.preadv(self.request, [result.data[done:]], start + done)
            if count == 0:  # the kernel made the file shorter
                break
            done += count
        return result

    def read_timeline(self) -> TimelineParts | None:
        """Totals, strings, events, accesses and paddings of a timed run without a fault, as
        `timeline_from` takes them. The arrays stay in the file: they may be large."""
        size = os.fstat(self.timeline).st_size if self.timeline >= 0 else 0
        if size == 0:
            return None
        content = memoryview(
            mmap.mmap(self.timeline, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
        )
        fields = _TIMELINE.unpack_from(content) if size >= _TIMELINE.size else (0,) * 15
        lengths = (
            fields[0] * EVENT.itemsize, fields[1] * ACCESS.itemsize,
            fields[4] * PADDING.itemsize, fields[3],
        )  # fmt: skip
        if _TIMELINE.size + sum(lengths) != size:
            raise BuildError("timeline", "the timeline of the run is not whole")
        parts, begin = [], _TIMELINE.size
        for length in lengths:
            parts.append(content[begin : begin + length])
            begin += length
        strings = parts[3].tobytes().decode(errors="replace").split("\0")[:-1]
        totals = dict(zip(TOTALS, fields[5:], strict=True))
        return totals, strings, parts[0], parts[1], parts[2]

    def read_record(self) -> RunRecord:
        data = os.pread(self.record, _RECORD.size, 0).ljust(_RECORD.size, b"\0")
        fields = _RECORD.unpack(data)
        frames = fields[17 : 17 + _MOST_FRAMES]
        texts, position = [], _RECORD.size
        last = fields[17 + _MOST_FRAMES + _TEXTS :]
        for length in fields[17 + _MOST_FRAMES :][:_TEXTS]:
            taken = min(length, _LONGEST_TEXT)
            texts.append(os.pread(self.record, taken, position).decode(errors="replace"))
            position += taken
        return RunRecord(
            state=fields[0], signal=fields[1], fault_address=fields[2], nearest_buffer=fields[3],
            in_simulator=bool(fields[4]), nearest_offset=fields[5], has_core=bool(fields[6]),
            block=fields[7], core=fields[8], line=fields[9], on_stack=bool(fields[10]),
            argument=fields[11], elapsed=fields[12] / 1e9, has_fault=bool(fields[13]),
            exit_code=fields[15], frames=frames[: min(fields[14], _MOST_FRAMES)],
            texts=tuple(texts), last_api=_c_string(last[0]), last_file=_c_string(last[1]),
            last_line=last[2],
        )  # fmt: skip

    def console_text(self) -> str:
        """The standard output and error of the process."""
        return os.pread(self.console, _LONGEST_TEXT, 0).decode(errors="replace")

    def close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())


def _c_string(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="replace")


def _pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _write_all(descriptor: int, data: memoryview, position: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], position + done)
