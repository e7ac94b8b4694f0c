"""Run the kernels that are called in this process, where it is one of several ranks.

The vendor's library makes a process a rank for all it launches; so does its stand-in, see
`ranks.shmem_module`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tile_runtime.launcher.bind_arguments import Bound
    from tile_runtime.launcher.kept_words import KeptWords


class OneOfMany(Protocol):
    """The device of this process, which those of others reach."""

    def run(self, launch: Any, call: Bound) -> None:
        """Run a call of a loaded kernel."""

    def kept(self, alone: KeptWords) -> KeptWords:
        """Return the kept memory of a kernel on this rank, from that of one device."""


THIS_RANK: ContextVar[OneOfMany | None] = ContextVar("tile_this_rank", default=None)


@contextmanager
def as_rank(rank: OneOfMany) -> Iterator[None]:
    """Let this process be the rank for the calls inside."""
    token = THIS_RANK.set(rank)
    try:
        yield
    finally:
        THIS_RANK.reset(token)
