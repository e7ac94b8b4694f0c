"""A test double of the vendor's package `shmem`: notes each call with what decides what it does.
Memory is of the host, and other ranks are not there: their memory is seen at made-up addresses."""

from __future__ import annotations

import importlib.machinery
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

# Where the double shows the memory of other ranks.
ELSEWHERE = 1 << 40
# What the ranks meet by: the vendor's is bytes as well.
UNIQUE = b"secret".ljust(512, b"\0")


class InitStatus(IntEnum):
    """As the vendor's names them."""

    NOT_INITIALIZED = 0
    SHM_CREATED = 1
    INITIALIZED = 2


class ShmemDouble:
    """The package in a test; `calls` are those since it was installed. `unseen` are ranks whose
    memory is out of reach, `refused` calls that fail."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.unseen: set[int] = set()
        self.refused: set[str] = set()
        self.rank = -1

    def note(self, call: str) -> None:
        self.calls.append(call)

    def set_conf_store_tls(self, enable: bool, info: str) -> int:
        self.note(f"set_conf_store_tls({enable}, {info!r})")
        return int("set_conf_store_tls" in self.refused)

    def get_unique_id(self, empty: bool = False) -> bytes:
        self.note("core.get_unique_id()")
        return UNIQUE

    def init(
        self, device: Any = None, uid: Any = None, rank: int | None = None,
        nranks: int | None = None, mpi_comm: Any = None, initializer_method: str = "",
        mem_size: int | None = None,
    ) -> None:  # fmt: skip
        assert uid == UNIQUE
        assert rank is not None and nranks is not None and mem_size is not None
        self.rank = rank
        self.note(f"core.init(rank={rank}, nranks={nranks}, {initializer_method})")

    def aclshmem_create_tensor(
        self, shape: list[int], dtype: torch.dtype = torch.float32, device_id: int = 0
    ) -> torch.Tensor:
        assert self.rank >= 0, "init comes before memory"
        self.note(f"aclshmem_create_tensor({list(shape)}, {dtype}, {device_id})")
        return torch.zeros(shape, dtype=dtype)

    def aclshmem_free_tensor(self, tensor: torch.Tensor) -> None:
        self.note("aclshmem_free_tensor")

    def aclshmem_ptr(self, ptr: int, peer: int) -> int:
        self.note(f"aclshmem_ptr({peer})")
        if peer in self.unseen:
            return 0
        return ptr if peer == self.rank else ELSEWHERE * (peer + 1)

    def get_ffts_config(self) -> int:
        self.note("get_ffts_config()")
        return 0 if "get_ffts_config" in self.refused else 0x1000

    def finalize(self) -> None:
        self.rank = -1
        self.note("core.finalize()")

    def aclshmemx_init_status(self) -> int:
        return InitStatus.NOT_INITIALIZED if self.rank < 0 else InitStatus.INITIALIZED


def install_shmem(patch: pytest.MonkeyPatch, folder: Path) -> ShmemDouble:
    """The package, and the library for kernels in a folder: its header is the simulator's."""
    double = ShmemDouble()
    module, core = ModuleType("shmem"), ModuleType("shmem.core")
    module.__spec__ = importlib.machinery.ModuleSpec("shmem", None)
    for name in ("get_unique_id", "init", "finalize"):
        setattr(core, name, getattr(double, name))
    for name in (
        "set_conf_store_tls", "aclshmem_create_tensor", "aclshmem_free_tensor", "aclshmem_ptr",
        "get_ffts_config", "aclshmemx_init_status",
    ):  # fmt: skip
        setattr(module, name, getattr(double, name))
    vars(module).update(InitStatus=InitStatus, core=core, __version__="double")
    patch.setitem(sys.modules, "shmem", module)
    patch.setitem(sys.modules, "shmem.core", core)
    home = folder / "shmem"
    (home / "include").mkdir(parents=True)
    (home / "lib").mkdir()
    (home / "include" / "shmem.h").write_text('#include_next "shmem.h"\n')
    library = ["g++", "-shared", "-x", "c++", "/dev/null", "-o", str(home / "lib" / "libshmem.so")]
    subprocess.run(library, check=True)
    patch.setenv("SHMEM_HOME_PATH", str(folder))
    return double
