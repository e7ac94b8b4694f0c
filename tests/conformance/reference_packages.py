"""Packages that scripts compare with and that need a GPU, where there is none.

Triton runs in its own interpreter, with a driver that says so much of a device as its callers ask;
`fla` runs in that. `flash_attn` is written here for tensors of the host. Kernels that are judged
use none of them.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import torch


def provide() -> None:
    """Make the packages importable in this process for good, before a script imports them."""
    if importlib.util.find_spec("triton") is not None:
        os.environ["TRITON_INTERPRET"] = "1"
        from triton.runtime import driver
        from triton.runtime.autotuner import Autotuner

        driver.set_active(_HostDriver())
        tuned = Autotuner.run

        def run_the_first(tuner: Any, *arguments: Any, **named: Any) -> Any:
            tuner.configs = tuner.configs[:1]
            return tuned(tuner, *arguments, **named)

        Autotuner.run = run_the_first
    if importlib.util.find_spec("flash_attn") is None:
        flash = ModuleType("flash_attn")
        padding = ModuleType("flash_attn.bert_padding")
        for function in (flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache):
            setattr(flash, function.__name__, function)
        for function in (index_first_axis, pad_input, unpad_input):
            setattr(padding, function.__name__, function)
        sys.modules |= {"flash_attn": flash, "flash_attn.bert_padding": padding}


class _HostDriver:
    """What Triton asks of a device while its interpreter runs kernels."""

    utils = SimpleNamespace(
        get_device_properties=lambda device: {"multiprocessor_count": 24, "max_shared_mem": 1 << 17}
    )

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cpu", 0, 32)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., list[float]]:
        def once(
            kernel: Callable[[], object], quantiles: Any = None, **options: Any
        ) -> list[float]:
            kernel()
            return [1.0] * len(quantiles or [1])

        return once


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float | None
) -> torch.Tensor:
    """Rows of q over rows of k, [rows, heads, size] each; causal from the end."""
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1).float() for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), k) * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        behind = torch.ones(scores.shape[1:], dtype=torch.bool).tril(k.shape[0] - q.shape[0])
        scores = scores.masked_fill(~behind, -torch.inf)
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    return torch.einsum("hqk,khd->qhd", weights, v).to(q.dtype)


def flash_attn_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    **options: Any,
) -> torch.Tensor:
    """Batches of [rows, heads, size]."""
    return torch.stack(
        [_attention(*each, causal, softmax_scale) for each in zip(q, k, v, strict=True)]
    )


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    **options: Any,
) -> torch.Tensor:
    """Sequences one behind the other, each of [rows, heads, size]."""
    out = torch.zeros(*q.shape[:2], v.shape[-1], dtype=q.dtype)
    ends = [list(map(int, c)) for c in (cu_seqlens_q, cu_seqlens_k)]
    pairs = [list(pairwise(e)) for e in ends]
    for (a, b), (c, d) in zip(*pairs, strict=True):
        out[a:b] = _attention(q[a:b], k[c:d], v[c:d], causal, softmax_scale)
    return out


def flash_attn_with_kvcache(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    cache_seqlens: torch.Tensor | int | None = None,
    block_table: torch.Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    **options: Any,
) -> torch.Tensor:
    """Batches of [rows, heads, size] over the first rows of a cache, which may be in pages."""
    results = []
    for number, rows in enumerate(q):
        if block_table is None:
            k, v = k_cache[number], v_cache[number]
        else:
            pages = block_table[number].clamp(min=0).long()
            k, v = k_cache[pages].flatten(0, 1), v_cache[pages].flatten(0, 1)
        match cache_seqlens:
            case None:
                length = k.shape[0]
            case int():
                length = cache_seqlens
            case _:
                length = int(cache_seqlens[number])
        results.append(_attention(rows, k[:length], v[:length], causal, softmax_scale))
    return torch.stack(results)


def index_first_axis(x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    return x[indices]


def unpad_input(
    x: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """The rows of the mask, their places, where each sequence begins, and the longest one."""
    lengths = mask.sum(-1, dtype=torch.int32)
    indices = torch.nonzero(mask.flatten()).flatten()
    begins = torch.nn.functional.pad(torch.cumsum(lengths, 0, dtype=torch.int32), (1, 0))
    return x.flatten(0, 1)[indices], indices, begins, int(lengths.max())


def pad_input(x: torch.Tensor, indices: torch.Tensor, batch: int, rows: int) -> torch.Tensor:
    out = torch.zeros(batch * rows, *x.shape[1:], dtype=x.dtype)
    out[indices] = x
    return out.reshape(batch, rows, *x.shape[1:])
