"""The anonymous files a run shares with its process; layout: `simulator/runner/run_record.h`."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tile_runtime.source_kernel.arguments import BUFFER, INTEGER, REAL, Cell

_REQUEST = struct.Struct("<IIIIQIIQ")
_ARGUMENT = struct.Struct("<IIQQQQdII64s")
_MOST_FRAMES = 64
_TEXTS = 6
_RECORD = struct.Struct(f"<IiQiIqIIIIIIQIIiI{_MOST_FRAMES}Q{_TEXTS}Q")
# GM allocations start at multiples of this (hardware.md, section 2.3).
_GM_ALIGNMENT = 512
_PAGE = os.sysconf("SC_PAGESIZE")
# A kernel that overwrote the record can not make the caller read more than this.
_LONGEST_TEXT = 64 << 20

STARTING, CANNOT_LOAD, BAD_ARGUMENT, RUNNING, FINISHED, OUT_OF_MEMORY, WROTE_OUTSIDE = range(7)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run: numbers of tile_simulator.h's TileOptions, and the limit of memory in bytes."""

    blocks: int
    checks: int
    threads: int
    seed: int
    cube_cores: int
    vector_cores: int
    memory_limit: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What the runner left; the fields of the structure Record."""

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


class RunFiles:
    """Request, record and console of one run. They have no name, so none can be left behind."""

    def __init__(self, options: RunOptions, cells: Sequence[Cell]) -> None:
        self._descriptors: list[int] = []
        try:
            self.request = self._open("tile-request")
            self.record = self._open("tile-record")
            self.console = self._open("tile-console")
            os.ftruncate(self.record, _RECORD.size)
            self._places = self._write_request(options, cells)
        except OSError:
            self.close()
            raise

    def _open(self, name: str) -> int:
        descriptor = os.memfd_create(name)
        self._descriptors.append(descriptor)
        return descriptor

    def _write_request(self, options: RunOptions, cells: Sequence[Cell]) -> list[tuple[int, int]]:
        position = _pages(_REQUEST.size + len(cells) * _ARGUMENT.size)
        header = bytearray(
            _REQUEST.pack(
                len(cells), options.blocks, options.checks, options.threads, options.seed,
                options.cube_cores, options.vector_cores, options.memory_limit,
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
            integer = int(cell.number) if cell.kind == INTEGER else 0
            real = float(cell.number) if cell.kind == REAL else 0.0
            header += _ARGUMENT.pack(
                cell.kind, cell.type, size, start, lead, integer & (1 << 64) - 1, real,
                integer < 0, shares, cell.name.encode()[:63],
            )  # fmt: skip
        os.ftruncate(self.request, position)
        os.pwrite(self.request, header, 0)
        for (start, size), cell in zip(places, cells, strict=True):
            if size and cell.shares is None:
                _write_all(self.request, memoryview(cell.memory), start)
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

    def read_record(self) -> RunRecord:
        data = os.pread(self.record, _RECORD.size, 0).ljust(_RECORD.size, b"\0")
        fields = _RECORD.unpack(data)
        frames = fields[17 : 17 + _MOST_FRAMES]
        texts, position = [], _RECORD.size
        for length in fields[17 + _MOST_FRAMES :]:
            taken = min(length, _LONGEST_TEXT)
            texts.append(os.pread(self.record, taken, position).decode(errors="replace"))
            position += taken
        return RunRecord(
            state=fields[0], signal=fields[1], fault_address=fields[2], nearest_buffer=fields[3],
            in_simulator=bool(fields[4]), nearest_offset=fields[5], has_core=bool(fields[6]),
            block=fields[7], core=fields[8], line=fields[9], on_stack=bool(fields[10]),
            argument=fields[11], elapsed=fields[12] / 1e9, has_fault=bool(fields[13]),
            exit_code=fields[15], frames=frames[: min(fields[14], _MOST_FRAMES)],
            texts=tuple(texts),
        )  # fmt: skip

    def console_text(self) -> str:
        """What the process wrote to its standard output and error."""
        return os.pread(self.console, _LONGEST_TEXT, 0).decode(errors="replace")

    def close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())


def _pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _write_all(descriptor: int, data: memoryview, position: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], position + done)
