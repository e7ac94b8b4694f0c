"""Reference operations of torch_npu that inference engines use, against loops and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tile_runtime.host_npu.reference_ops.inference import (
    npu_add_rms_norm,
    npu_advance_step_flashattn,
    npu_apply_rotary_pos_emb,
    npu_attention_update,
    npu_clipped_swiglu,
    npu_dynamic_quant,
    npu_scatter_pa_kv_cache,
)
from tile_runtime.host_npu.torch_npu_module import npu_operations


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_norm_of_a_sum(dtype: torch.dtype) -> None:
    x1, x2, gamma = torch.randn(3, 8).to(dtype), torch.randn(3, 8).to(dtype), torch.rand(8)
    y, scale, total = npu_add_rms_norm(x1, x2, gamma.to(dtype))
    sums = x1.double() + x2.double()
    want = sums / np.sqrt((sums**2).mean(1, keepdim=True) + 1e-6)
    torch.testing.assert_close(y.double(), want * gamma.to(dtype), rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(total, (x1.float() + x2.float()).to(dtype))
    assert y.dtype == dtype and scale.shape == (3, 1) and scale.dtype == torch.float32


def test_quantised_rows() -> None:
    x = torch.randn(2, 3, 16)
    x[1, 2] = 0
    q, step = npu_dynamic_quant(x)
    assert q.dtype == torch.int8 and step.shape == (2, 3) and step.dtype == torch.float32
    torch.testing.assert_close(step, x.abs().amax(-1) / 127)
    torch.testing.assert_close(q * step[..., None], x, rtol=0, atol=float(step.max()))
    assert (q[1, 2] == 0).all() and q.abs().max() == 127


def test_quantised_rows_of_groups() -> None:
    x, smooth = torch.ones(5, 4), torch.tensor([[1.0] * 4, [2.0] * 4])
    _, step = npu_dynamic_quant(x, smooth_scales=smooth, group_index=torch.tensor([2, 5]))
    torch.testing.assert_close(step * 127, torch.tensor([1.0, 1, 2, 2, 2]))
    _, step = npu_dynamic_quant(x, smooth_scales=smooth[1])
    torch.testing.assert_close(step * 127, torch.full((5,), 2.0))
    with pytest.raises(NotImplementedError, match="npu_dynamic_quant with dst_type"):
        npu_dynamic_quant(x, dst_type=torch.quint4x2)


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_clipped_gates(interleaved: bool, dim: int) -> None:
    x = torch.randn(4, 6, 8) * 9
    got = npu_clipped_swiglu(x, dim=dim, limit=3.0, alpha=1.5, bias=0.5, interleaved=interleaved)
    shape = list(x.shape)
    shape[dim] //= 2
    assert list(got.shape) == shape
    rows = x.numpy().reshape(int(np.prod(x.shape[: dim % 3])), -1)
    half = rows.shape[1] // 2
    gate = rows[:, 0::2] if interleaved else rows[:, :half]
    value = rows[:, 1::2] if interleaved else rows[:, half:]
    gate, value = np.minimum(gate, 3.0), np.clip(value, -3.0, 3.0)
    want = gate / (1 + np.exp(-1.5 * gate)) * (value + 0.5)
    np.testing.assert_allclose(got.numpy().reshape(want.shape), want, rtol=1e-5, atol=1e-6)


def test_clipped_gates_of_groups() -> None:
    x = torch.randn(5, 4)
    got = npu_clipped_swiglu(x, group_index=torch.tensor([1, 2]))
    torch.testing.assert_close(got[:3], npu_clipped_swiglu(x[:3]))
    assert (got[3:] == 0).all()


def test_keys_and_values_go_to_their_slots() -> None:
    key, value = torch.randn(3, 2, 16), torch.randn(3, 2, 32)
    slots = torch.tensor([5, -1, 2], dtype=torch.int32)
    plain = torch.zeros(2, 4, 2, 16), torch.zeros(2, 4, 2, 32)
    npu_scatter_pa_kv_cache(key, value, *plain, slots, cache_mode="Norm")
    parts = torch.zeros(2, 2, 4, 16), torch.zeros(2, 4, 4, 16)
    npu_scatter_pa_kv_cache(key, value, *parts, slots)
    for tokens, cache, cut in zip((key, value), plain, parts, strict=True):
        want = torch.zeros_like(cache)
        want[1, 1], want[0, 2] = tokens[0], tokens[2]
        torch.testing.assert_close(cache, want)
        rows = cut.permute(0, 2, 1, 3).reshape(want.shape)
        torch.testing.assert_close(rows, want)
    with pytest.raises(NotImplementedError, match="npu_scatter_pa_kv_cache with cache_mode"):
        npu_scatter_pa_kv_cache(key, value, *plain, slots, cache_mode="other")


def test_parts_of_an_attention() -> None:
    scores, values = torch.randn(6, 20), torch.randn(20, 8)
    parts = [(0, 5), (5, 20)]
    lse = [scores[:, a:b].logsumexp(1) for a, b in parts]
    out = [scores[:, a:b].softmax(1) @ values[a:b] for a, b in parts]
    merged, total = npu_attention_update(lse, out, 1)
    torch.testing.assert_close(merged, scores.softmax(1) @ values)
    torch.testing.assert_close(total, scores.logsumexp(1))
    assert npu_attention_update(lse, out, 0)[1].numel() == 0


def test_turned_queries_and_keys() -> None:
    q, k = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 1, 8)
    angle = torch.randn(2, 3, 1, 4)
    cos, sin = (torch.cat([f(angle)] * 2, -1) for f in (torch.cos, torch.sin))
    for got, x in zip(npu_apply_rotary_pos_emb(q, k, cos, sin, "BSND"), (q, k), strict=True):
        a, b = x.chunk(2, -1)
        want = torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)
        torch.testing.assert_close(got, want)


def test_the_step_to_the_next_token() -> None:
    tokens, positions = torch.arange(3), torch.zeros(3, dtype=torch.int64)
    lengths, slots = torch.tensor([5, 2, 9]), torch.zeros(3, dtype=torch.int64)
    tables = torch.tensor([[7, 8, 9], [1, 2, 3], [4, 5, 6]])
    npu_advance_step_flashattn(
        tokens, torch.tensor([[30], [40]]), positions, lengths, slots, tables, 3, 2, 4
    )
    assert tokens.tolist() == [30, 40, 2] and positions.tolist() == [5, 2, 0]
    assert lengths.tolist() == [6, 3, 9] and slots.tolist() == [8 * 4 + 1, (7 + 3) * 4 + 2, 0]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("npu_ffn", "compute the reference with torch"), ("npu_rms_nrm", "`npu_rms_norm`")],
)
def test_an_operation_that_is_not_there_is_named(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=rf"torch\.ops\.npu\.{name} is not computed.*{hint}"):
        getattr(npu_operations(), name)
