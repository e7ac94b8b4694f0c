"""Have Linux end a process when its parent ends."""

from __future__ import annotations

import ctypes
import os
import signal

_LIBC = ctypes.CDLL(None, use_errno=True)
# Of `prctl`: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Have this process killed when its parent ends. OSError if the system refuses."""
    if _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
