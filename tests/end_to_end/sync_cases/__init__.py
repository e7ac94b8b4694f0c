"""Kernels that are easy to synchronise wrongly: every one has a name for what makes it hard, and what
it computes in NumPy. In-core flags stand only where a case is about flags of the user's."""

from . import branches, cube, global_memory, loops, many_flags, readers, scalars, shared_bytes
from .case import CASES, SyncCase

__all__ = [
    "CASES",
    "SyncCase",
    "branches",
    "cube",
    "global_memory",
    "loops",
    "many_flags",
    "readers",
    "scalars",
    "shared_bytes",
]
