"""Modelled times of the examples in developer style and of those that are written as for a GPU:
which kernels, at which sizes, and what a run says about the pipes. The page and its pictures are
made of it elsewhere.

Sizes keep all cores busy and take seconds to run. Tensors are small random numbers, but for those
that choose what a kernel does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from pages.markdown import ROOT
from tile_ir.chips import chosen_target
from tile_ir.switches import override
from tile_runtime.jit_kernels.tensor_supply import supply_arguments
from tile_runtime.scripts.module import load_script
from tile_runtime.tools.report.roofline import Roofline, roofline
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs

FOLDER = ROOT / "examples" / "developer"
GPU_FOLDER = ROOT / "examples" / "gpu"
SOC = "Ascend910B2"
# Kind of core and pipe, in the order in which work passes through them.
PIPES = (
    ("aic", "MTE2"), ("aic", "MTE1"), ("aic", "M"), ("aic", "FIX"),
    ("aiv", "MTE2"), ("aiv", "V"), ("aiv", "MTE3"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A factory of a script and its arguments; `given` are inputs that are not any numbers."""

    name: str
    script: str
    factory: str
    size: str
    arguments: Mapping[str, Any]
    given: Mapping[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: microseconds on the device, the share of them each pipe is busy, and the roofline.
    `cube_peak` and `vector_peak` are those of 16-bit products and of float32, in operations per
    second."""

    case: Case
    microseconds: float
    busy: Mapping[tuple[str, str], float]
    roofline: Roofline
    cube_peak: float
    vector_peak: float
    hbm: float


def _attention(**more: Any) -> dict[str, Any]:
    return {"B": 1, "H": 12, "S": 1024, "D": 128, "block_M": 128, "block_N": 128, **more}


def _scattered(count: int, rows: int) -> torch.Tensor:
    """Numbers below `rows`, each another one, in no order that memory likes."""
    step = 7919  # a prime
    return (torch.arange(count) * step % rows).int()


CASES = (
    Case("gemm", "gemm", "gemm", "1536 x 2048 x 1024 float16",
         {"M": 1536, "N": 2048, "K": 1024, "block_M": 128, "block_N": 256, "block_K": 64}),
    Case("gemm, bias, relu", "gemm_epilogue", "gemm_bias_relu", "1536 x 1024 x 1024 float16",
         {"M": 1536, "N": 1024, "K": 1024, "block_M": 128, "block_N": 128, "block_K": 64}),
    Case("int8 gemm", "dequantised_gemm", "int8_gemm", "1536 x 1024 x 1024",
         {"M": 1536, "N": 1024, "K": 1024, "block_M": 128, "block_N": 128, "block_K": 128}),
    Case("w4a8 gemm", "w4a8_gemm", "w4a8_gemm", "1536 x 1024 x 1024",
         {"M": 1536, "N": 1024, "K": 1024, "block_M": 128, "block_N": 128, "block_K": 128}),
    Case("w4a8 gemm", "w4a8_gemm", "w4a8_gemm", "2048 x 4096 x 4096",
         {"M": 2048, "N": 4096, "K": 4096, "block_M": 128, "block_N": 256, "block_K": 128}),
    Case("grouped gemm", "grouped_gemm", "grouped_gemm", "8 experts, 1024 x 1024 x 1024 float16",
         {"tokens": 1024, "experts": 8, "N": 1024, "K": 1024, "block_M": 128, "block_N": 128,
          "block_K": 64},
         {"sizes": torch.tensor([128, 300, 20, 64, 256, 0, 129, 127], dtype=torch.int32)}),
    Case("grouped gemm", "grouped_gemm", "grouped_gemm", "8 experts, 4096 x 4096 x 2048 float16",
         {"tokens": 4096, "experts": 8, "N": 4096, "K": 2048, "block_M": 128, "block_N": 256,
          "block_K": 64},
         {"sizes": torch.tensor([512, 700, 420, 464, 656, 300, 529, 515], dtype=torch.int32)}),
    Case("convolution", "convolution", "convolution", "8 x 64 x 28 x 28, 64 of 3 x 3 float16",
         {"B": 8, "channels": 64, "height": 28, "width": 28, "outputs": 64, "size": 3, "stride": 1,
          "pad": 1, "block_M": 112, "block_N": 64}),
    Case("convolution", "convolution", "convolution", "64 x 64 x 56 x 56, 64 of 3 x 3 float16",
         {"B": 64, "channels": 64, "height": 56, "width": 56, "outputs": 64, "size": 3, "stride": 1,
          "pad": 1, "block_M": 224, "block_N": 64}),
    Case("convolution", "convolution", "convolution", "64 x 256 x 14 x 14, 256 of 3 x 3 float16",
         {"B": 64, "channels": 256, "height": 14, "width": 14, "outputs": 256, "size": 3,
          "stride": 1, "pad": 1, "block_M": 208, "block_N": 128}),
    Case("convolution", "convolution", "convolution", "64 x 512 x 7 x 7, 512 of 3 x 3 float16",
         {"B": 64, "channels": 512, "height": 7, "width": 7, "outputs": 512, "size": 3,
          "stride": 1, "pad": 1, "block_M": 64, "block_N": 128, "images": 4}),
    Case("attention", "flash_attention", "flash_attention", "1 x 12 x 1024 x 128 float16",
         _attention()),
    Case("causal attention", "flash_attention", "flash_attention", "1 x 12 x 1024 x 128 float16",
         _attention(causal=True)),
    Case("grouped queries", "flash_attention", "flash_attention",
         "1 x 12 x 1024 x 128, 4 a key, float16", _attention(groups=4)),
    Case("attention", "flash_attention", "flash_attention", "1 x 12 x 4096 x 128 float16",
         _attention(S=4096, block_N=1024)),
    Case("causal attention", "flash_attention", "flash_attention", "1 x 12 x 4096 x 128 float16",
         _attention(S=4096, block_N=512, causal=True)),
    Case("attention", "flash_attention", "flash_attention",
         "1 x 12 x 4096 x 128 float16, scores handed on in float16",
         _attention(S=4096, block_N=1024, handed="float16")),
    Case("causal attention", "flash_attention", "flash_attention",
         "1 x 12 x 4096 x 128 float16, scores handed on in float16",
         _attention(S=4096, block_N=512, causal=True, handed="float16")),
    Case("paged attention", "paged_attention", "paged_attention",
         "12 x 32 heads of 128, 16 a key, 1024 long, float16",
         {"B": 12, "H": 32, "groups": 16, "D": 128, "pages": 96, "page": 128, "most": 8},
         {"table": _scattered(96, 96).reshape(12, 8),
          "lengths": torch.full((12,), 1024, dtype=torch.int32)}),
    Case("paged attention", "paged_attention", "paged_attention",
         "48 x 32 heads of 128, 16 a key, 4096 long, float16",
         {"B": 48, "H": 32, "groups": 16, "D": 128, "pages": 1536, "page": 128, "most": 32},
         {"table": _scattered(1536, 1536).reshape(48, 32),
          "lengths": torch.full((48,), 4096, dtype=torch.int32)}),
    Case("latent attention", "mla", "latent_attention",
         "12 x 128 heads of 512 + 64, 1024 long, float16",
         {"B": 12, "H": 128, "S": 1024, "D": 512, "R": 64, "block_H": 64, "block_N": 128}),
    Case("latent attention", "mla", "latent_attention",
         "24 x 64 heads of 512 + 64, 4096 long, float16",
         {"B": 24, "H": 64, "S": 4096, "D": 512, "R": 64, "block_H": 64, "block_N": 128}),
    Case("latent attention", "mla", "attention_of_many_heads",
         "24 x 128 heads of 512 + 64, 4096 long, float16",
         {"B": 24, "H": 128, "S": 4096, "D": 512, "R": 64, "block_H": 128, "block_N": 512}),
    Case("sparse attention", "sparse_attention", "sparse_attention",
         "48 tokens, 64 heads of 512 + 64, 512 of 4096, float16",
         {"tokens": 48, "H": 64, "S": 4096, "D": 512, "R": 64, "chosen": 512, "block_N": 112},
         {"indices": _scattered(48 * 512, 4096).reshape(48, 512)}),
    Case("sparse attention", "sparse_attention", "sparse_attention",
         "96 tokens, 64 heads of 512 + 64, 1024 of 8192, float16",
         {"tokens": 96, "H": 64, "S": 8192, "D": 512, "R": 64, "chosen": 1024, "block_N": 112},
         {"indices": _scattered(96 * 1024, 8192).reshape(96, 1024)}),
    Case("lightning indexer", "lightning_indexer", "lightning_indexer",
         "768 tokens, 16 heads of 64, 256 of 2048, float16",
         {"tokens": 768, "H": 16, "S": 2048, "D": 64, "chosen": 256, "block_M": 16,
          "block_N": 128, "block_H": 128}),
    Case("lightning indexer", "lightning_indexer", "lightning_indexer",
         "768 tokens, 64 heads of 128, 256 of 4096, float16",
         {"tokens": 768, "H": 64, "S": 4096, "D": 128, "chosen": 256, "block_M": 16,
          "block_N": 128, "block_H": 64}),
    Case("linear attention", "linear_attention", "linear_attention", "2 x 12 x 1024 x 128 float16",
         {"B": 2, "H": 12, "S": 1024, "D": 128, "chunk": 64}),
    Case("linear attention", "linear_attention", "linear_attention", "1 x 24 x 8192 x 128 float16",
         {"B": 1, "H": 24, "S": 8192, "D": 128, "chunk": 128}),
    Case("top-k routing", "top_k_routing", "route", "768 tokens of 2048, 8 of 64 float16",
         {"tokens": 768, "D": 2048, "experts": 64, "K": 8, "rows": 32, "block_K": 256}),
    Case("top-k routing", "top_k_routing", "route", "4096 tokens of 4096, 8 of 64 float16",
         {"tokens": 4096, "D": 4096, "experts": 64, "K": 8, "rows": 176, "block_K": 256}),
    Case("top-k routing", "top_k_routing", "route", "8192 tokens of 7168, 8 of 256 float16",
         {"tokens": 8192, "D": 7168, "experts": 256, "K": 8, "rows": 120, "block_K": 256}),
    Case("softmax", "softmax", "softmax", "3072 x 4096 float32", {"M": 3072, "N": 4096, "rows": 8}),
    Case("rms norm", "rms_norm", "rms_norm", "6144 x 2048 float16",
         {"M": 6144, "N": 2048, "rows": 8}),
    Case("layer norm, add", "layer_norm_add", "layer_norm_add", "3072 x 1024 float32",
         {"M": 3072, "N": 1024, "rows": 8}),
    Case("rope", "rope", "rope", "3072 tokens, 16 heads of 128 float32",
         {"tokens": 3072, "heads": 16, "D": 128}),
    Case("cross entropy", "cross_entropy", "cross_entropy", "3072 x 4096 float32",
         {"M": 3072, "N": 4096, "rows": 8}, {"labels": _scattered(3072, 4096)}),
)  # fmt: skip

GPU_CASES = (
    Case("matmul, relu", "matmul_relu", "matmul_relu", "1536 x 1024 x 1024 float16",
         {"M": 1536, "N": 1024, "K": 1024}),
    Case("dequantised matmul", "dequantised_matmul", "dequantised_matmul",
         "1536 x 1024 x 1024, weights of int8", {"M": 1536, "N": 1024, "K": 1024}),
    Case("split-k matmul", "split_k_matmul", "split_k_matmul", "256 x 512 x 8192 float16",
         {"M": 256, "N": 512, "K": 8192}),
    Case("softmax", "softmax", "softmax", "3072 x 4096 float32", {"M": 3072, "N": 4096}),
    Case("rms norm", "rms_norm", "rms_norm", "3072 x 2048 float32", {"M": 3072, "N": 2048}),
    Case("layer norm", "layer_norm", "layer_norm", "3072 x 2048 float16", {"M": 3072, "N": 2048}),
    Case("rotary embedding", "rotary", "rotary", "3072 tokens, 16 heads of 128 float16",
         {"tokens": 3072, "heads": 16, "dim": 128}),
    Case("attention", "attention", "attention", "1 x 12 x 1024 x 128 float16",
         {"batch": 1, "heads": 12, "length": 1024, "dim": 128}),
    Case("flash decode", "flash_decode", "flash_decode",
         "6 x 32 heads of 128, 16 a key, 2048 long, float16",
         {"batch": 6, "heads": 32, "groups": 2, "length": 2048, "dim": 128}),
    Case("linear attention", "linear_attention", "linear_attention", "2 x 12 x 1024 x 128 float16",
         {"batch": 2, "heads": 12, "length": 1024, "dim": 128}),
)  # fmt: skip


def measured(cases: Iterable[Case], folder: Path) -> Iterator[Measured]:
    """A run of every case of the scripts in a folder, in their order."""
    for case in cases:
        with override(soc=SOC, time=True, check="off", timeout=0):
            yield _measured(case, folder)


def _measured(case: Case, folder: Path) -> Measured:
    factory = getattr(load_script(folder / f"{case.script}.py"), case.factory)
    # A function that is a kernel itself takes its sizes by `compile`.
    build = factory.compile if getattr(factory, "mode", "") == "eager" else factory
    kernel = build(**case.arguments)
    runs: list[TimedRun] = []
    with watch_timed_runs(runs.append):
        results = kernel(*supply_arguments(kernel, case.given, {}))
    line = runs[0].timeline
    microseconds, whole = time_and_roofline(runs, results)
    busy: defaultdict[tuple[str, str], float] = defaultdict(float)
    for run in runs:
        for pipe, us in run.timeline.busy().items():
            busy[pipe] += us
    return Measured(
        case,
        microseconds,
        {pipe: us / microseconds for pipe, us in busy.items()},
        whole,
        line.peak_flops,
        line.vector_cores * 64 * line.mhz * 1e6,
        line.hbm_bandwidth * 1e9,
    )


def time_and_roofline(runs: list[TimedRun], results: Any) -> tuple[float, Roofline]:
    """Microseconds and roofline of launches one after the other; of their results, L2 keeps what
    it can hold."""
    made = results if isinstance(results, (list, tuple)) else [results]
    kept = min(sum(t.numel() * t.element_size() for t in made), chosen_target().l2_bytes)
    whole = _one_after_another([roofline(run) for run in runs])
    hbm = runs[0].timeline.hbm_bandwidth * 1e9
    return sum(run.timeline.microseconds for run in runs), _without(kept, whole, hbm)


def _one_after_another(launches: list[Roofline]) -> Roofline:
    """The roofline of a kernel of several launches: all work and all time of them."""
    parts = launches[0].least
    return Roofline(
        sum(r.operations for r in launches),
        sum(r.bytes for r in launches),
        sum(r.seconds for r in launches),
        {part: sum(r.least[part] for r in launches) for part in parts},
    )


def _without(kept: int, whole: Roofline, hbm: float) -> Roofline:
    """The roofline of a run that ends while so many bytes of its results are still in L2."""
    needed = max(0.0, whole.bytes - kept)
    return replace(whole, bytes=needed, least={**whole.least, "HBM": needed / hbm})
