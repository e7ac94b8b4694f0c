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


_GEMM = {"M": 96, "N": 128, "K": 64}
CORPUS = {
    slow.name: slow
    for slow in (
        Slow("elements", "gelu", lambda a: a.float() * torch.sigmoid(1.702 * a.float()), {"n": 5000}),
        Slow("elements", "swiglu", lambda g, u: torch.nn.functional.silu(g.float()) * u.float(), {"M": 13, "N": 200}),
        Slow("elements", "bias_relu", lambda x, b: torch.relu(x + b), {"M": 70, "N": 100}),
        Slow("elements", "tanh_chain", torch.tanh, {"M": 111, "N": 72}),
        Slow("elements", "cast_copy", lambda a: a.half(), {"n": 1 << 14, "block": 1 << 12}),
        Slow("rows", "softmax", lambda x: torch.softmax(x, -1), {"M": 50, "N": 104}),
        Slow("rows", "rms_norm", lambda x, w: x.float() * (x.float().square().mean(-1, True) + 1e-6).rsqrt() * w.float(), {"M": 51, "N": 96}),
        Slow("rows", "layer_norm", _norm, {"M": 99, "N": 64}),
        Slow("rows", "column_sum", lambda x: x.sum(0), {"M": 192, "N": 80}),
        Slow("rows", "row_sum", lambda x: x.sum(1), {"M": 50, "N": 512}),
        Slow("rows", "log_sum_exp", lambda x: torch.logsumexp(x.float(), 1), {"M": 26, "N": 1024}),
        Slow("rows", "quantise", _quantised, {"M": 30, "N": 96}),
        Slow("rows", "running_sum", lambda x: x.cumsum(1), {"M": 30, "N": 72}),
        Slow("activations", "mish", torch.nn.functional.mish, {"M": 30, "N": 96}),
        Slow("activations", "geglu", lambda a, b: _gelu(a) * b.float(), {"M": 13, "N": 200}),
        Slow("activations", "soft_cap", lambda x: 30 * torch.tanh(x.float() / 30), {"M": 30, "N": 96}),
        Slow("activations", "gated_halves", lambda x: torch.nn.functional.glu(x.float()), {"M": 30, "N": 96}),
        Slow("activations", "alibi", _alibi, {"H": 2, "S": 72}),
        Slow("row_ops", "add_rms_norm", _residual_norm, {"M": 51, "N": 96}),
        Slow("row_ops", "kl_divergence", _divergence, {"M": 30, "N": 96}),
        Slow("row_ops", "unit_rows", lambda x: torch.nn.functional.normalize(x.float(), dim=-1), {"M": 30, "N": 96}),
        Slow("row_ops", "cosine", _cosine, {"M": 30, "N": 96}),
        Slow("row_ops", "group_quantise", _by_groups, {"M": 32, "N": 256}),
        Slow("row_ops", "linear_gelu", lambda a, b, w: _gelu(_product(a, b) + w), _GEMM),
        Slow("products", "gemm", _product, _GEMM),
        Slow("products", "gemm_written", _product, _GEMM),
        Slow("products", "gemm_relu", lambda a, b, r: torch.relu(_product(a, b) + r), _GEMM),
        Slow("products", "gemm_few", _product, {"M": 256, "N": 256, "K": 128}),
        Slow("products", "gemm_int8", _product, _GEMM),
        Slow("products", "batched", _product, {"B": 3, "M": 64, "N": 96, "K": 64}),
        Slow("products", "gemm_last_round", _product, {"M": 384, "N": 128, "K": 128}),
        Slow("attention", "attention", _attention, {"H": 2, "S": 128}),
        Slow("attention", "decode", lambda q, k: (q[:, None] * k).sum(-1), {"B": 3, "S": 256}),
        Slow("attention", "scores", lambda q, k: _product(q, k.mT) * 0.088, {"H": 2, "S": 96}),
        Slow("moves", "embed", lambda w, i: w[i.long()], {"V": 77, "N": 60, "D": 96}, {"order": "V"}),
        Slow("moves", "weighted_rows", lambda x, i, w: x[i.long()].float() * w[:, None], {"N": 60, "D": 96}, {"order": "N"}),
        Slow("moves", "transpose", lambda x: x.T, {"M": 96, "N": 64}),
        Slow("moves", "rope", _halves, {"N": 90}),
        Slow("moves", "window_mean", lambda x: x.unfold(1, 4, 1).mean(-1), {"C": 20, "L": 192}),
    )
}  # fmt: skip
