"""The slow kernels by name: where each is, what it means in torch, inputs where small random numbers
will not do, and sizes to try it at quickly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.tensor_supply import supply_arguments

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Slow:
    """`small` are arguments of the factory for a quick run; `indices` says how many rows the input
    of an index points into, by the argument that tells."""

    file: str
    name: str
    meaning: Callable[..., Any]
    small: Mapping[str, int]
    indices: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return f"{FOLDER / self.file}.py:{self.name}"

    def inputs(self, kernel: JITKernel, sizes: Mapping[str, int]) -> list[Any]:
        """What the kernel is called with, the same at every call."""
        generator = torch.Generator().manual_seed(1)
        shapes = {p.name: p.dims for p in kernel.parameters if p.name in self.indices}
        arrays = {
            name: torch.randint(0, sizes[rows], shapes[name], generator=generator).int()
            for name, rows in self.indices.items()
        }
        return supply_arguments(kernel, arrays, {})


def _halves(x: Any, c: Any, s: Any) -> Any:
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)


def _quantised(x: Any) -> Any:
    scale = x.float().abs().amax(-1).clamp(min=1e-6) / 127
    return (x.float() / scale[:, None]).round().to(torch.int8), scale


def _attention(q: Any, k: Any, v: Any) -> Any:
    return torch.softmax(q.float() @ k.float().mT * q.shape[-1] ** -0.5, -1) @ v.float()


def _norm(x: Any) -> Any:
    return torch.nn.functional.layer_norm(x.float(), x.shape[-1:])


def _product(a: Any, b: Any) -> Any:
    return a.float() @ b.float()


def _gelu(x: Any) -> Any:
    return torch.nn.functional.gelu(x.float(), approximate="tanh")


def _residual_norm(x: Any, r: Any, w: Any) -> Any:
    a = x.float() + r.float()
    return a.half(), a * (a.square().mean(-1, True) + 1e-6).rsqrt() * w.float()


def _alibi(x: Any, slope: Any) -> Any:
    at = torch.arange(x.shape[-1])
    return x + slope[:, :1, None] * (at - at[:, None])


def _divergence(p: Any, q: Any) -> Any:
    a = p.abs() + 1e-6
    return (a * (a.log() - q)).sum(-1)


def _cosine(a: Any, b: Any) -> Any:
    return (a * b).sum(-1) / (a.square().sum(-1) * b.square().sum(-1) + 1e-6).sqrt()


def _by_groups(x: Any) -> Any:
    scale = x.float().abs().amax(-1).clamp(min=1e-6) / 127
    return (x.float() / scale[..., None]).round().to(torch.int8), scale


def _cross_entropy(x: Any, label: Any) -> Any:
    return torch.nn.functional.cross_entropy(x.float(), label.long(), reduction="none")


def _scan(a: Any, x: Any) -> Any:
    h = torch.zeros_like(x[:, 0])
    steps = []
    for t in range(x.shape[1]):
        h = a[:, t] * h + x[:, t]
        steps.append(h)
    return torch.stack(steps, 1)


def _group_norm(x: Any) -> Any:
    flat = x.float().flatten(2)
    return torch.nn.functional.layer_norm(flat, flat.shape[-1:]).view_as(x)


def _causal_conv(x: Any, w: Any) -> Any:
    channels = x.shape[-1]
    windows = torch.nn.functional.conv1d(x.float().T, w.float().T[:, None], groups=channels)
    return torch.nn.functional.silu(windows.T)


def _average_pool(x: Any) -> Any:
    return torch.nn.functional.avg_pool2d(x.float(), 2)


def _chunk_sums(x: Any) -> Any:
    b, s, h = x.shape
    return x.view(b, s // 64, 64, h).cumsum(2).view(b, s, h)


def _histogram(kind: Any) -> Any:
    return torch.nn.functional.one_hot(kind.view(-1, 1024).long(), 16).sum(1)


def _top_k(x: Any) -> Any:
    values, places = x.topk(32)
    return values, places.int()


def _barrier_norm(x: Any) -> Any:
    return x * (x.square().mean(-1, True) + 1e-6).rsqrt()


_GEMM = {"M": 96, "N": 128, "K": 64}
CORPUS = {
    slow.name: slow
    for slow in (
        Slow("elements", "cast_copy", lambda a: a.half(), {"n": 1 << 14, "block": 1 << 12}),
        Slow("rows", "softmax", lambda x: torch.softmax(x, -1), {"M": 50, "N": 104}),
        Slow("rows", "layer_norm", _norm, {"M": 99, "N": 64}),
        Slow("rows", "column_sum", lambda x: x.sum(0), {"M": 192, "N": 80}),
        Slow("rows", "log_sum_exp", lambda x: torch.logsumexp(x.float(), 1), {"M": 26, "N": 1024}),
        Slow("rows", "running_sum", lambda x: x.cumsum(1), {"M": 30, "N": 72}),
        Slow("activations", "mish", torch.nn.functional.mish, {"M": 30, "N": 96}),
        Slow("activations", "geglu", lambda a, b: _gelu(a) * b.float(), {"M": 13, "N": 200}),
        Slow("activations", "soft_cap", lambda x: 30 * torch.tanh(x.float() / 30), {"M": 30, "N": 96}),
        Slow("row_ops", "cosine", _cosine, {"M": 30, "N": 96}),
        Slow("row_ops", "group_quantise", _by_groups, {"M": 32, "N": 256}),
        Slow("products", "gemm", _product, _GEMM),
        Slow("products", "gemm_written", _product, _GEMM),
        Slow("products", "gemm_few", _product, {"M": 256, "N": 256, "K": 128}),
        Slow("products", "gemm_int8", _product, _GEMM),
        Slow("products", "gemm_last_wave", _product, {"M": 384, "N": 128, "K": 128}),
        Slow("attention", "attention", _attention, {"H": 2, "S": 128}),
        Slow("attention", "scores", lambda q, k: _product(q, k.mT) * 0.088, {"H": 2, "S": 96}),
        Slow("moves", "embed", lambda w, i: w[i.long()], {"V": 77, "N": 60, "D": 96}, {"order": "V"}),
        Slow("moves", "window_mean", lambda x: x.unfold(1, 4, 1).mean(-1), {"C": 20, "L": 192}),
        Slow("vocabulary", "argmax", lambda x: x.argmax(-1), {"M": 13, "V": 2048}),
        Slow("vocabulary", "cross_entropy", _cross_entropy, {"M": 13, "V": 1024}, {"label": "V"}),
        Slow("vocabulary", "norm_in_passes", _norm, {"M": 13, "N": 512}),
        Slow("few_blocks", "mean_pool", lambda x: x.float().mean(1), {"B": 2, "S": 48, "D": 1024}),
        Slow("few_blocks", "scan", _scan, {"B": 2, "S": 12, "D": 1024}),
        Slow("few_blocks", "narrow_product", _product, {"M": 16, "N": 256, "K": 256}),
        Slow("few_blocks", "group_norm", _group_norm, {"B": 2, "G": 2, "C": 8, "L": 96}),
        Slow("windows", "causal_conv", _causal_conv, {"L": 48, "C": 128}),
        Slow("windows", "average_pool", _average_pool, {"P": 3, "H": 12, "W": 64}),
        Slow("windows", "chunk_sums", _chunk_sums, {"B": 2, "S": 128, "H": 64}),
        Slow("windows", "histogram", _histogram, {"N": 2048}, {"kind": "E"}),
        Slow("vocabulary", "softmax_by_row", lambda x: torch.softmax(x, -1), {"M": 50, "N": 104}),
        Slow("vocabulary", "top_k", _top_k, {"M": 13, "N": 256}),
        Slow("expert", "barrier_norm", _barrier_norm, {"M": 192, "N": 128}),
        Slow("expert", "barrier_gemm", _product, {"M": 128, "N": 128, "K": 128}),
    )
}  # fmt: skip
