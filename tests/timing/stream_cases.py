"""Cases of the kernels between the layers of a model with several residual streams (hyper-connections)."""

from __future__ import annotations

import numpy as np
from case import Case, rows_of, zeros
from measures import TASK

BF16 = np.uint16  # its bits
GUIDE = "recipes:docs/models/deepseek_v4/deepseek_v4_mHC_guide.md"
STREAMS, D = 4, 4096


def stream_cases() -> list[Case]:
    counts = {"16": 16, "32": 32, "64": 64, "128": 128, "4K": 4096, "16K": 16384, "64K": 65536}
    return [hc_post(name, tokens) for name, tokens in counts.items()]


def hc_post(name: str, whole: int) -> Case:
    """More than 4096 tokens in parts: a core takes them one after the other."""
    tokens = min(whole, 4096)
    return Case(
        f"hc_post, {name} tokens", GUIDE, "hc_post_bf16", min(whole, 48),
        lambda: [
            zeros(tokens, D, dtype=BF16), zeros(tokens, STREAMS, D, dtype=BF16), zeros(tokens, STREAMS, dtype=BF16),
            zeros(tokens, STREAMS, STREAMS, dtype=BF16), zeros(tokens, STREAMS, D, dtype=BF16), tokens, D,
        ],
        rows_of("hc_post", f"T={name} hc4 d4096", time=TASK), soc="Ascend910_9391", part=whole // tokens,
        assumed="post and comb are bf16, as in the operator's example; cold inputs",
        notes="the page also deals parts of a token's elements to cores where there are few tokens, the operator's source does not",
    )  # fmt: skip
