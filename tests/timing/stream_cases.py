"""Cases of the kernels between the layers of a model with several residual streams (hyper-connections)."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, rows_of, zeros
from measures import TASK

BF16, F32 = np.uint16, np.float32  # bf16 by its bits
GUIDE = "recipes:docs/models/deepseek_v4/deepseek_v4_mHC_guide.md"
STREAMS, D = 4, 4096


def stream_cases() -> list[Case]:
    counts = {"16": 16, "32": 32, "64": 64, "128": 128, "4K": 4096, "16K": 16384, "64K": 65536}
    return [*(hc_post(name, tokens) for name, tokens in counts.items()), hc_pre(32), hc_pre(128)]


def hc_post(name: str, whole: int) -> Case:
    """Few tokens are dealt to the cores in halves; more than 4096 are modelled in part: a core takes them one
    after the other."""
    few = whole <= 128
    tokens, d = (whole * 2, D // 2) if few else (min(whole, 4096), D)
    return Case(
        f"hc_post, {name} tokens", GUIDE, "hc_post_bf16", min(tokens, 48),
        lambda: [
            zeros(tokens, d, dtype=BF16), zeros(tokens, STREAMS, d, dtype=BF16), zeros(tokens, STREAMS, dtype=BF16),
            zeros(tokens, STREAMS, STREAMS, dtype=BF16), zeros(tokens, STREAMS, d, dtype=BF16), tokens, d,
        ],
        rows_of("hc_post", f"T={name} hc4 d4096", time=TASK), soc="Ascend910_9391", part=1 if few else whole // tokens,
        hot=few, regime="d" if whole <= 64 else "",
        assumed="post and comb are bf16, as in the operator's example; where all fits into L2, a launch after others of it",
        notes="the page deals parts of a token's elements, at least 1 KB, to cores; each part is a token of its own here",
    )  # fmt: skip


def hc_pre(tokens: int) -> Case:
    """The depth of 16384 in 22 parts of 768, the last of 256: multiples of 256 for 24 cores."""
    cores, depth = 24, 768
    parts = -(-STREAMS * D // depth)

    def arguments() -> list[Any]:
        x, y = zeros(tokens, STREAMS, D, dtype=BF16), zeros(tokens, D, dtype=BF16)
        fn, scale, base = (
            zeros(24, STREAMS * D, dtype=F32),
            zeros(3, dtype=F32),
            zeros(24, dtype=F32),
        )
        post, comb = zeros(tokens, STREAMS, dtype=F32), zeros(tokens, STREAMS, STREAMS, dtype=F32)
        wide = zeros(parts, 2, tokens, 1024, dtype=F32)
        products, squares = (
            zeros(parts, tokens, 128, dtype=F32),
            zeros(parts, tokens, 16, dtype=F32),
        )
        return [x, fn, scale, base, y, post, comb, wide, products, squares, tokens, D, depth, parts]

    return Case(
        f"hc_pre, {tokens} tokens", GUIDE, "hc_pre_bf16", cores, arguments,
        rows_of("hc_pre decode", f"bs{tokens} hc4 d4096", time=TASK), soc="Ascend910_9391",
        assumed="20 rounds of normalising (the operator's default); cold inputs",
    )  # fmt: skip
