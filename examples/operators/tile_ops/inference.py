"""Attention of inference, by the developer examples: paged, latent and linear attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from .examples import example
from .manifest import HALVES, Case, Rule, Tiles, operator
from .signature import Sizes


def _paged(s: Sizes, t: Tiles) -> Any:
    make = example("paged_attention").paged_attention
    return make(s.B, s.H, s.H // s.G, s.D, s.P, s.page, s.most, s.dtype())


def paged(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    found: torch.Tensor = example("paged_attention").reference(
        q, k, v, table, lengths, q.shape[1] // k.shape[1]
    )
    return found


def make_table(sizes: Sizes, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.randperm(sizes.P)[: math.prod(shape)].reshape(tuple(shape)).to(dtype)


def make_lengths(sizes: Sizes, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    longest = sizes.most * sizes.page
    return torch.randint(max(1, longest // 2), longest + 1, tuple(shape)).to(dtype)


def _latent(s: Sizes, t: Tiles) -> Any:
    make = example("mla").latent_attention
    return make(s.B, s.H, s.S, s.D, s.R, *t, dtype=s.dtype())


def latent(
    q: torch.Tensor, q_rope: torch.Tensor, kv: torch.Tensor, k_rope: torch.Tensor
) -> torch.Tensor:
    keys = torch.cat([kv, k_rope], -1)
    scores = torch.cat([q, q_rope], -1) @ keys.mT / math.sqrt(keys.shape[-1])
    return scores.softmax(-1) @ kv


def _latent_tiles(sizes: Sizes) -> Tiles:
    """As many heads as divide theirs, and the longest tile of keys beside them."""
    heads = math.gcd(sizes.H, 64)
    return heads, 128


def _linear_tiles(sizes: Sizes) -> Tiles:
    return (math.gcd(sizes.S, 128),)


def linear(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (q @ k.mT).tril() @ v


HEAD = Rule("D % 16 == 0", "heads are products of 16 columns: pad them with zeros")
HALF = {"float16": 4e-3, "bfloat16": 3e-2}
QKV = "q: T[B, H, S, D], k: T[B, H, S, D], v: T[B, H, S, D]"
OPERATORS = (
    operator(
        "paged_attention(q: T[B, H, D], k: T[P, G, page, D], v: T[P, G, page, D],"
        " table: int32[B, most], lengths: int32[B]) -> T[B, H, D]", {"T": HALVES},
        kernel=_paged, tiles=lambda s: (s.page,), choices=lambda s: [(s.page,)], reference=paged,
        rules=(
            HEAD, Rule("G >= 1", "there must be a head of keys"),
            Rule("H % G == 0", "give H a multiple of G"), Rule("D <= 128", "split the heads"),
            Rule("page % 16 == 0", "pages hold a multiple of 16 keys"),
            Rule("page <= 128", "take shorter pages"),
        ),
        make={"table": make_table, "lengths": make_lengths},
        workload=Case((), {
            "B": 48, "H": 32, "G": 2, "D": 128, "P": 1536, "page": 128, "most": 32, "T": "float16",
        }),
        cases=(
            Case((), {"B": 2, "H": 4, "G": 2, "D": 64, "P": 9, "page": 32, "most": 3}),
            Case((), {"B": 3, "H": 5, "G": 1, "D": 128, "P": 9, "page": 64, "most": 2}),
        ),
        summary="a new token of each sequence to keys in pages", tolerance=HALF,
    ),
    operator(
        "latent_attention(q: T[B, H, D], q_rope: T[B, H, R], kv: T[B, S, D], k_rope: T[B, S, R])"
        " -> T[B, H, D]", {"T": HALVES},
        kernel=_latent, tiles=_latent_tiles,
        choices=lambda s: [(64, 128), (64, 64), (32, 128), (16, 128)], reference=latent,
        rules=(
            Rule("H % 16 == 0", "heads are rows of products: pad them to 16"),
            Rule("D % 64 == 0", "a quarter of D is a tile"), Rule("D <= 512", "split the heads"),
            Rule("R >= 16", "turned columns are a product of their own: give at least 16"),
            Rule("R % 16 == 0", "heads are products of 16 columns: pad them with zeros"),
            Rule("R <= 64", "split the heads"), Rule("S >= 1", "attention needs a key"),
        ),
        workload=Case((), {"B": 24, "H": 64, "S": 4096, "D": 512, "R": 64, "T": "float16"}),
        cases=(
            Case((), {"B": 1, "H": 16, "S": 77, "D": 128, "R": 32}),
            Case((), {"B": 2, "H": 32, "S": 300, "D": 512, "R": 64}),
        ),
        summary="a new token of each sequence to shared latent keys (MLA)", tolerance=HALF,
    ),
    operator(
        f"linear_attention({QKV}) -> T[B, H, S, D]", {"T": HALVES},
        kernel=lambda s, t: example("linear_attention").linear_attention(
            s.B, s.H, s.S, s.D, *t, dtype=s.dtype()
        ),
        tiles=_linear_tiles, choices=lambda s: [(64,), (128,)], reference=linear,
        rules=(
            HEAD, Rule("D <= 128", "the state of wider heads does not fit"),
            Rule("S % 16 == 0", "chunks have 16 positions: pad them"),
        ),
        workload=Case((), {"B": 1, "H": 24, "S": 8192, "D": 128, "T": "float16"}),
        cases=(
            Case((), {"B": 1, "H": 1, "S": 16, "D": 64}),
            Case((), {"B": 2, "H": 3, "S": 144, "D": 128}),
        ),
        summary="causal attention without softmax, a chunk at a time", tolerance=HALF,
    ),
)  # fmt: skip
