"""Stand in for the vendor's module `shmem` where it is not installed: processes become ranks of
simulated devices, and share tensors that all of them reach.

From `aclshmem_init` to `aclshmem_finalize` every kernel that this thread calls runs as its rank.
The names, and what they return, are those of the library's own module (docs/api of hicann/shmem);
one that is missing here says what to write instead. All addresses are of this host.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
import torch.distributed as dist

from tile_ir import CallError
from tile_runtime.launcher.this_rank import THIS_RANK
from tile_runtime.ranks.processes import ProcessRanks, init_ranks
from tile_runtime.ranks.rank_group import meet
from tile_runtime.ranks.symmetric_tensor import SymmetricTensor

# The library's own defaults.
_HEAP_BYTES = 1 << 30
_SECONDS = 120


class OpEngineType(enum.Enum):
    """The engine that moves data between devices; the simulator has one order for all."""

    MTE = 1
    SDMA = 2
    ROCE = 4
    UDMA = 8


class InitStatus(enum.Enum):
    """How far `aclshmem_init` has come."""

    NOT_INITIALIZED = 0
    SHM_CREATED = 1
    INITIALIZED = 2
    INVALID = 3


@dataclass
class OptionalAttr:
    """Times are in seconds."""

    version: int = 1
    data_op_engine_type: OpEngineType = OpEngineType.MTE
    shm_init_timeout: int = _SECONDS
    shm_create_timeout: int = _SECONDS
    control_operation_timeout: int = _SECONDS
    sockFd: int = -1


@dataclass
class InitAttr:
    """The rank of this process and the meeting place of all: `ip_port` is "tcp://host:port", of
    which the port counts here. `local_mem_size` is the size of the symmetric heap in bytes."""

    my_rank: int = 0
    n_ranks: int = 1
    ip_port: str = ""
    local_mem_size: int = _HEAP_BYTES
    option_attr: OptionalAttr = field(default_factory=OptionalAttr)


@dataclass
class _Member:
    """This process as a rank, and what it has allocated, by address."""

    world: ProcessRanks
    token: Token[Any]
    began_group: bool
    tensors: dict[int, SymmetricTensor] = field(default_factory=dict)


_MEMBER: ContextVar[_Member | None] = ContextVar("tile_shmem_member", default=None)


def _member() -> _Member:
    found = _MEMBER.get()
    if found is None:
        message = "this process is no rank yet, or no longer"
        raise CallError("ranks", message, hint="call shmem.aclshmem_init(attributes) first")
    return found


def set_conf_store_tls(enable: bool, tls_info: str) -> int:
    """Nothing is encrypted between processes of one host."""
    return 0


def aclshmem_init(attributes: InitAttr) -> int:
    """Make this process rank `my_rank` of `n_ranks`, all of which call this; returns 0. Raises
    CallError `ranks` where they do not meet in time."""
    began_group = not dist.is_initialized()
    if began_group:
        _meet(attributes)
    world = init_ranks(heap_bytes=attributes.local_mem_size, transport="shared")
    assert isinstance(world, ProcessRanks), "where there is an NPU, the library itself is imported"
    if (world.rank, world.count) != (attributes.my_rank, attributes.n_ranks):
        message = f"rank {attributes.my_rank} of {attributes.n_ranks} is rank {world.rank} of "
        raise CallError("ranks", f"{message}{world.count} in the group of torch.distributed")
    _MEMBER.set(_Member(world, THIS_RANK.set(world), began_group))
    return 0


def _meet(attributes: InitAttr) -> None:
    port = attributes.ip_port.rpartition(":")[2]
    if not port.isdigit():
        message = f"ip_port={attributes.ip_port!r} names no port"
        raise CallError("ranks", message, hint='write attributes.ip_port = "tcp://127.0.0.1:8666"')
    meet(
        "gloo",
        attributes.option_attr.shm_init_timeout,
        f"the {attributes.n_ranks} ranks of InitAttr did not all meet at port {port}",
        "start as many processes as n_ranks says, each with another my_rank",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=attributes.my_rank,
        world_size=attributes.n_ranks,
    )


def aclshmem_finalize() -> int:
    """End being a rank; returns 0."""
    member = _member()
    THIS_RANK.reset(member.token)
    _MEMBER.set(None)
    member.world.__exit__(None, None, None)
    if member.began_group:
        dist.destroy_process_group()
    return 0


# The library has both.
aclshmem_finialize = aclshmem_finalize


def aclshmemx_init_status() -> InitStatus:
    """Whether this process is a rank."""
    return InitStatus.NOT_INITIALIZED if _MEMBER.get() is None else InitStatus.INITIALIZED


def my_pe() -> int:
    """The rank of this process."""
    return _member().world.rank


def pe_count() -> int:
    """How many ranks there are."""
    return _member().world.count


def aclshmem_create_tensor(
    shape: Sequence[int], dtype: torch.dtype = torch.float32, device_id: int = 0
) -> torch.Tensor:
    """This rank's instance of a symmetric tensor of arbitrary values; a collective act. Raises
    CallError `asymmetric` where another rank allocates a different one."""
    member = _member()
    made = member.world.empty(tuple(shape), dtype)
    own = made[member.world.rank]
    member.tensors[own.data_ptr()] = made
    return own


def aclshmem_free_tensor(tensor: torch.Tensor) -> None:
    """Forget a tensor of `aclshmem_create_tensor`."""
    aclshmem_free(tensor.data_ptr())


def aclshmem_malloc(size: int) -> int:
    """The address of so many bytes of the symmetric heap; a collective act."""
    return aclshmem_create_tensor((size,), torch.uint8).data_ptr()


def aclshmem_calloc(nmemb: int, size: int) -> int:
    """The same of `nmemb` times `size` bytes that are zero."""
    made = aclshmem_create_tensor((nmemb * size,), torch.uint8)
    made.zero_()
    return made.data_ptr()


def aclshmem_free(ptr: int) -> None:
    """Forget memory of `aclshmem_malloc`, by its first address."""
    member = _member()
    made = member.tensors.pop(ptr, None)
    if made is None:
        raise CallError("ranks", f"no symmetric memory begins at {ptr:#x}")
    member.world.made.remove(made)


def aclshmem_ptr(ptr: int, peer: int) -> int:
    """Where rank `peer` has what lies at an address of this rank's symmetric memory; 0 if that is
    no such address."""
    member = _member()
    for base, made in member.tensors.items():
        if base <= ptr < base + made.bytes:
            return made[peer].data_ptr() + ptr - base
    return 0


def calc_nbytes(shape: Sequence[int], dtype: torch.dtype) -> int:
    """The bytes of a tensor."""
    return prod(shape) * dtype.itemsize


def __getattr__(name: str) -> Any:
    message = f"`shmem.{name}` is not among what ranks on this machine have"
    hint = "let a kernel do it: T.put, T.get, T.signal, T.wait_until, T.barrier"
    raise AttributeError(f"{message}; {hint}")
