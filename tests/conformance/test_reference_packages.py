"""The attention that scripts are compared with, against that of torch."""

from __future__ import annotations

import torch

from conformance.references.flash_attention import (
    flash_attn_func,
    flash_attn_varlen_func,
    flash_attn_with_kvcache,
    pad_input,
    unpad_input,
)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    found = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, enable_gqa=True
    )
    return found.transpose(1, 2)


def test_of_whole_and_of_varying_lengths() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 24, heads, 16) for heads in (4, 2, 2))
    for causal in (False, True):
        torch.testing.assert_close(
            flash_attn_func(q, k, v, causal=causal), attention(q, k, v, causal)
        )
    mask = torch.arange(24)[None] < torch.tensor([[10], [24]])
    (rows, places, begins, most), (ks, *_), (vs, *_) = (unpad_input(x, mask) for x in (q, k, v))
    found = pad_input(
        flash_attn_varlen_func(rows, ks, vs, begins, begins, most, most), places, 2, 24
    )
    torch.testing.assert_close(
        found[0, :10], attention(q[:1, :10], k[:1, :10], v[:1, :10], False)[0]
    )
    torch.testing.assert_close(found[1], attention(q, k, v, False)[1])


def test_of_a_cache_in_pages() -> None:
    torch.manual_seed(0)
    q, pages = torch.randn(2, 1, 4, 16), torch.randn(6, 8, 2, 16)
    table, lengths = torch.tensor([[3, 0, -1], [5, 1, 2]]).int(), torch.tensor([11, 24]).int()
    found = flash_attn_with_kvcache(q, pages, pages, lengths, table)
    for number, length in enumerate((11, 24)):
        rows = pages[table[number].clamp(min=0)].flatten(0, 1)[None, :length]
        torch.testing.assert_close(found[number], attention(q[number, None], rows, rows, False)[0])
