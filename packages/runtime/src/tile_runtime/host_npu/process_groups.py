"""Form groups of torch.distributed on the host: the backend "hccl" of NPUs is gloo, and a barrier
looks for no device."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist


def lead_process_groups_to_host() -> None:
    """Change torch.distributed of this process for good, if this torch has it."""
    if not dist.is_available():
        return
    # `barrier` asks which accelerator there is, and torch then looks for the code of a real one.
    torch._C._get_accelerator = lambda *_: torch.device("cpu")
    dist.Backend.register_backend("hccl", _gloo, devices=["cpu", "npu"])


def _gloo(store: Any, rank: int, count: int, seconds: timedelta) -> Any:
    return dist.ProcessGroupGloo(store, rank, count, timeout=seconds)
