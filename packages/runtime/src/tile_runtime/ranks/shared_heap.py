"""Memory that the processes of a group share: each makes a file, and all map the files of all.

The first page of the file of rank 0 holds the state of the group: the rank that failed, its
message, and the count of barriers that each rank has reached. Where they share no memory each has
a page and memory of its own for all ranks, and messages bring the writes of the others.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tile_ir import CallError
from tile_runtime.ranks.group_ranks import SymmetricSpace
from tile_runtime.ranks.living_ranks import LivingRanks
from tile_runtime.ranks.rank_group import RankGroup
from tile_runtime.ranks.rank_messages import RankMessages, open_messages

PAGE = 4096
LINE = 64
# Words of the first page: 1 + the rank that has given up, who adds to memory of all, then a line
# for each rank, which begins with how often it came to a barrier, and says if it has taken leave.
MOST_RANKS = 31
LEFT = 8
MESSAGE = LINE * (MOST_RANKS + 1)


@dataclass(eq=False)
class SharedHeap:
    """The mapped files of all ranks, each `size` bytes behind a page."""

    rank: int
    maps: Sequence[mmap.mmap]
    size: int
    bases: list[int] = field(default_factory=list)
    messages: RankMessages | None = None
    living: LivingRanks | None = None

    def __post_init__(self) -> None:
        self._space = SymmetricSpace(self.size)
        for mapped in self.maps:
            first = (ctypes.c_char * 1).from_buffer(mapped)
            self.bases.append(ctypes.addressof(first))
            del first

    def take(self, count: int) -> int:
        """The offset of so many bytes more, the same in every file. Raises CallError where there
        are not so many left."""
        return PAGE + self._space.take(count)

    def connect(self, group: RankGroup, one_host: bool) -> None:
        """Let messages keep the memory of all ranks up to date; a collective act."""
        page = self.bases[0]
        text = page + MESSAGE, PAGE - MESSAGE
        size = self.size + PAGE
        self.messages = open_messages(group, one_host, self.words, self.bases, size, text)
        # The thread that serves them ends before the memory does, whoever forgets to close this.
        weakref.finalize(self, self.messages.close)

    def watch(self, files: Sequence[int]) -> None:
        """Let a rank whose process ends be one that has given up; by the open files of all."""
        self.living = LivingRanks(
            self.rank, files, self._has_left, lambda r: self.give_up("its process has ended", r)
        )
        self.living.start()

    def _has_left(self, rank: int) -> bool:
        return self.maps[0][LINE * (1 + rank) + LEFT] != 0

    @property
    def given_up(self) -> int | None:
        """The rank that has given up first."""
        number = int.from_bytes(self.maps[0][:4], "little")
        return number - 1 if number else None

    @property
    def message(self) -> str:
        """Return the message of the rank that failed."""
        return self.maps[0][MESSAGE:PAGE].split(b"\0")[0].decode(errors="replace")

    def give_up(self, message: str, rank: int | None = None) -> None:
        """Let all end that wait for a rank, this one if none is said."""
        if self.given_up is not None:
            return
        if self.messages is not None:
            self.messages.fail(message)
        else:
            text = message.encode()[: PAGE - MESSAGE - 1]
            self.maps[0][MESSAGE : MESSAGE + len(text)] = text
            number = self.rank if rank is None else rank
            self.maps[0][:4] = (number + 1).to_bytes(4, "little")

    @property
    def failure(self) -> str | None:
        """Which other rank has given up, and why."""
        rank = self.given_up
        return None if rank in (None, self.rank) else f"rank {rank} failed: {self.message}"

    def settle(self) -> None:
        """Wait for the delivery of all data of this rank, even after a failure."""
        if self.messages is not None:
            self.messages.settle()

    def forget_failure(self) -> None:
        """Clear the failure and the counts of barriers; all ranks do this between two barriers."""
        if self.messages is not None or self.rank == 0:
            self.maps[0][:PAGE] = bytes(PAGE)

    @property
    def words(self) -> tuple[int, ...]:
        """Return the arguments of the simulator: the rank; the address of the counts of barriers,
        and their distance in words. The addresses of the failed rank and of the lock for atomic
        additions; the handle of the messages, 0 without them."""
        page = self.bases[0]
        messages = self.messages.pointer if self.messages is not None else 0
        return self.rank, page + LINE, LINE // 4, page, page + 4, messages

    def close(self) -> None:
        """Forget the memory; what a tensor lies in stays until that is gone."""
        if self.messages is not None:
            self.messages.close()
        if self.living is not None:
            self.maps[0][LINE * (1 + self.rank) + LEFT] = 1
            self.living.close()
            self.living = None
        for memory in self.maps:
            with suppress(BufferError):
                memory.close()


def new_file(size: int) -> Path:
    """A file of a page and so many bytes more, in memory where there is room."""
    for folder in ("/dev/shm", tempfile.gettempdir()):
        if os.path.isdir(folder) and _free(folder) > size + PAGE:
            number, name = tempfile.mkstemp(prefix="tile-ranks-", dir=folder)
            os.ftruncate(number, size + PAGE)
            os.close(number)
            return Path(name)
    message = f"no folder has room for a symmetric heap of {size} bytes"
    raise CallError("ranks", message, hint="give init_ranks a smaller heap_bytes")


def _free(folder: str) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def mapped(file: int, size: int) -> mmap.mmap:
    """The memory of an open file that any process has made."""
    return mmap.mmap(file, size + PAGE)
