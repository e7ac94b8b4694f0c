"""Which processes of a group on one host have ended without taking leave.

Each holds a lock on the file of its memory, which the system takes away when the process ends,
however it does; the others try it now and then.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PAUSE = 0.1  # seconds


def locked(path: Path) -> int:
    """A file that stays open and locked as long as this process lives, or until it is closed."""
    number = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    with suppress(OSError):  # of a file system without locks
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return number


@dataclass(eq=False)
class LivingRanks:
    """Looks after the open files of the ranks, of which `own` is this one's, and calls `ended` with
    the first rank whose lock is gone, unless `left` says that it has taken leave."""

    own: int
    files: Sequence[int]
    left: Callable[[int], bool]
    ended: Callable[[int], None]
    _closed: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._look, name="living-ranks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more, and let the others see that this process has ended."""
        self._closed.set()
        self._thread.join()
        for file in self.files:
            os.close(file)

    def _look(self) -> None:
        # Without locks everybody would seem to have ended at once.
        others = [r for r in range(len(self.files)) if r != self.own and not self._free(r)]
        while others and not self._closed.wait(PAUSE):
            gone = next((rank for rank in others if self._free(rank)), None)
            if gone is not None:
                others.remove(gone)
                if not self.left(gone):
                    self.ended(gone)
                    return

    def _free(self, rank: int) -> bool:
        try:
            fcntl.flock(self.files[rank], fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(self.files[rank], fcntl.LOCK_UN)
        return True


__all__ = ["LivingRanks", "locked"]
