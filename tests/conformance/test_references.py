"""The references against recurrences from token to token, and against gradients that torch finds.

A chunk of 4 tokens with blocks of 2, and 11 tokens: the last chunk and its last block are short.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from conformance.references import chunk_outputs, delta_rule_states, key_gates, wy_representation
from conformance.references.chunks import spans, square, write
from conformance.references.deciding import compare_tensors, leave_out
from conformance.references.gates import chunk_local_cumsum, l2norm_fwd, prepare_token_indices
from conformance.references.linear_attention import fused_chunk_linear_attn

BATCH, LENGTH, HEADS, SIZE_K, SIZE_V, CHUNK, BLOCK = 2, 11, 3, 5, 7, 4, 2
SCALE = 0.3
Tensors = tuple[torch.Tensor, ...]


def inputs(gate_sizes: tuple[int, ...]) -> Tensors:
    """q, k, v, beta, gates before they are summed up, and the first state."""
    torch.manual_seed(0)
    tokens = BATCH, LENGTH, HEADS
    shapes = [(*tokens, SIZE_K)] * 2 + [(*tokens, SIZE_V), tokens, (*tokens, *gate_sizes)]
    q, k, v, beta, gates = (torch.randn(s, dtype=torch.float64) for s in shapes)
    state = torch.randn(BATCH, HEADS, SIZE_K, SIZE_V, dtype=torch.float64)
    return q, k / k.norm(dim=-1, keepdim=True), v, beta.sigmoid(), -gates.abs() * 0.3, state


def recurrence(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    fall: torch.Tensor,
    state: torch.Tensor,
) -> Tensors:
    """The delta rule: each token lets the state fall, and writes what it does not say of k yet."""
    outs = []
    for t in range(q.shape[1]):
        state = state * fall[:, t, ..., None]
        said = torch.einsum("bhk,bhkv->bhv", k[:, t], state)
        new = beta[:, t, :, None] * (v[:, t] - said)
        state = state + torch.einsum("bhk,bhv->bhkv", k[:, t], new)
        outs.append(SCALE * torch.einsum("bhk,bhkv->bhv", q[:, t], state))
    return torch.stack(outs, 1), state


def truth(
    given: Tensors, of_gate: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[Tensors, Tensors]:
    """What the recurrence gives, and the gradients of its inputs for those of its outputs."""
    leaves = [x.clone().requires_grad_() for x in given]
    q, k, v, beta, gates, state = leaves
    out, final = recurrence(q, k, v, beta, of_gate(gates), state)
    torch.manual_seed(1)
    do, dht = torch.randn_like(out), torch.randn_like(final)
    grads = torch.autograd.grad((out, final), leaves, (do, dht))
    return (out.detach(), final.detach(), do, dht), grads


def near(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


def test_a_gate_for_each_token() -> None:
    given = inputs(())
    q, k, v, beta, gates, state = given
    (out, final, do, dht), grads = truth(given, lambda g: torch.exp(g)[..., None])
    g = chunk_local_cumsum(gates, CHUNK, output_dtype=None)
    lower = wy_representation.chunk_scaled_dot_kkt_fwd(
        k, beta, g, chunk_size=CHUNK, output_dtype=torch.float64
    )
    solved, weights = torch.zeros_like(lower), torch.zeros_like(lower)
    for span in spans(LENGTH, CHUNK):
        part = square(lower, span)
        write(solved, span, torch.linalg.inv(part + torch.eye(part.shape[-1])))
        falls = torch.exp(g[:, span, None] - g[:, None, span]).permute(0, 3, 1, 2)
        pairs = torch.einsum("bihk,bjhk->bhij", q[:, span], k[:, span])
        write(weights, span, (pairs * falls).tril() * SCALE)
    w, u = wy_representation.recompute_w_u_fwd(k, v, beta, g, solved)
    h, new, last = delta_rule_states.chunk_gated_delta_rule_fwd_h(
        k, w, u, g, initial_state=state, output_final_state=True, chunk_size=CHUNK
    )
    assert new is not None and last is not None
    near(last, final)
    near(chunk_outputs.chunk_fwd_o(q, k, new, h, g, SCALE, chunk_size=CHUNK), out)

    local = chunk_outputs.chunk_bwd_dv_local(q, k, do, weights)
    dh, dh0, dnew = delta_rule_states.chunk_gated_delta_rule_bwd_dhu(
        q, k, w, g, state, dht, do, local, SCALE, chunk_size=CHUNK
    )
    dq, dk, dw, dg = chunk_outputs.chunk_bwd_dqkwg(
        q, k, new, g, do, h, dh, dnew, w, chunk_size=CHUNK, scale=SCALE
    )
    assert dh0 is not None and dw is not None and dg is not None
    more_dk, dv, dbeta, more_dg = wy_representation.bwd_prepare_wy_repr(
        k, v, g, beta, solved, dw, dnew
    )
    of_gates = chunk_local_cumsum(dg + more_dg, CHUNK, reverse=True, output_dtype=None)
    found = dq, dk + more_dk, dv, dbeta, of_gates, dh0
    for one, expected in zip(found, grads, strict=True):
        near(one, expected)


def test_a_gate_for_each_k() -> None:
    given = inputs((SIZE_K,))
    q, k, v, beta, gates, state = given
    (out, final, do, dht), grads = truth(given, torch.exp2)
    gk = chunk_local_cumsum(gates, CHUNK, output_dtype=None)
    tokens = BATCH, LENGTH, HEADS
    reads, solved = torch.zeros(2, *tokens, CHUNK, dtype=torch.float64)
    diagonal = torch.zeros(*tokens, BLOCK, dtype=torch.float64)
    key_gates.chunk_kda_fwd_intra_token_parallel(
        q, k, gk, beta, reads, diagonal, SCALE, chunk_size=CHUNK, sub_chunk_size=BLOCK
    )
    key_gates.chunk_kda_fwd_inter_solve_fused(
        q, k, gk, beta, reads, diagonal, solved, SCALE, chunk_size=CHUNK
    )
    w, u, reading, writing = wy_representation.recompute_w_u_fwd_of_keys(
        k, v, beta, solved, q=q, gk=gk
    )
    assert reading is not None and writing is not None
    h, new, last = delta_rule_states.chunk_gated_delta_rule_fwd_h(
        k=writing, w=w, u=u, gk=gk, initial_state=state, output_final_state=True,
        chunk_size=CHUNK, use_exp2=True,
    )  # fmt: skip
    assert new is not None and last is not None
    near(last, final)
    near(
        chunk_outputs.chunk_gla_fwd_o_gk(
            q, new, gk, reads, h, SCALE, chunk_size=CHUNK, use_exp2=True
        ),
        out,
    )

    of_reads = chunk_outputs.chunk_gla_bwd_dA(new, do, SCALE, chunk_size=CHUNK)
    local = chunk_outputs.chunk_bwd_dv_local(q, k, do, reads)
    dh, dh0, dnew = delta_rule_states.chunk_gated_delta_rule_bwd_dhu(
        q=reading, k=writing, w=w, do=do, dv=local, gk=gk, h0=state, dht=dht, scale=SCALE,
        chunk_size=CHUNK, use_exp2=True,
    )  # fmt: skip
    dq, dk, dw, dg = chunk_outputs.chunk_kda_bwd_dqkwg(
        q, k, w, new, h, gk, do, dh, dnew, SCALE, chunk_size=CHUNK
    )
    assert dh0 is not None
    dk, dv, dbeta, dg, of_lower = wy_representation.prepare_wy_repr_bwd(
        k, v, beta, gk, solved, dk, dw, dnew, dg
    )
    dq, dk, dbeta, of_gates = key_gates.chunk_kda_bwd_intra(
        q, k, gk, beta, of_reads, of_lower, dq, dk, dbeta, dg, chunk_size=CHUNK
    )
    # Gradients of gates are those of their natural logarithms.
    found = dq, dk, dv, dbeta, of_gates * math.log(2), dh0
    for one, expected in zip(found, grads, strict=True):
        near(one, expected)


def test_gates_that_grow_are_no_pairs() -> None:
    """Scripts try random gates, which the order of the text does not bound."""
    q, k, v, *_ = inputs(())
    g = torch.randn(BATCH, LENGTH, HEADS, dtype=torch.float64)
    h = torch.zeros(BATCH, 3, HEADS, SIZE_K, SIZE_V, dtype=torch.float64)
    found = chunk_outputs.chunk_fwd_o(q, k, v, h, g, SCALE, chunk_size=CHUNK)
    expected = torch.zeros_like(v)
    for i in range(LENGTH):
        for j in range(i // CHUNK * CHUNK, i + 1):
            fall = torch.where(g[:, i] <= g[:, j], torch.exp(g[:, i] - g[:, j]), 0)
            weight = SCALE * (q[:, i] * k[:, j]).sum(-1) * fall
            expected[:, i] += weight[..., None] * v[:, j]
    near(found, expected)


@pytest.mark.parametrize("normalize", [False, True])
def test_linear_attention(normalize: bool) -> None:
    q, k, v, _, _, first = inputs(())
    q, k = q.abs(), k.abs()
    out, final = fused_chunk_linear_attn(
        q, k, v, SCALE, first, output_final_state=True, normalize=normalize
    )
    state, seen = first, torch.zeros_like(k[:, 0])
    for t in range(LENGTH):
        state, seen = state + torch.einsum("bhk,bhv->bhkv", k[:, t], v[:, t]), seen + k[:, t]
        expected = SCALE * torch.einsum("bhk,bhkv->bhv", q[:, t], state)
        weights = SCALE * (q[:, t] * seen).sum(-1, keepdim=True)
        near(out[:, t], expected / weights if normalize else expected)
    assert final is not None
    near(final, state)


def test_what_inputs_are_prepared_with() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 5, 2)
    for reverse, head_first in ((False, False), (True, True)):
        found = chunk_local_cumsum(
            x.transpose(1, 2) if head_first else x, 3, reverse, 2.0, head_first=head_first
        )
        found = found.transpose(1, 2) if head_first else found
        for t in range(5):
            of = range(t, min(t // 3 * 3 + 3, 5)) if reverse else range(t // 3 * 3, t + 1)
            near(found[:, t], 2 * sum(x[:, i].double() for i in of))
    rows, factor = l2norm_fwd(x.half().requires_grad_())
    torch.testing.assert_close(rows.float(), x / x.norm(dim=-1, keepdim=True), rtol=0, atol=2e-3)
    assert rows.dtype is torch.float16 and rows.is_leaf and factor.shape == (1, 5)
    found = prepare_token_indices(torch.tensor([0, 2, 2, 5]))
    assert found.tolist() == [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]


def test_comparisons_decide() -> None:
    torch.manual_seed(0)
    x = torch.randn(64, 64)
    compare_tensors("x", x, x.bfloat16())
    compare_tensors("x", x.bfloat16(), x)
    for wrong in (x * 1.01, torch.where(torch.arange(64) == 3, x + 1, x), x / 0):
        with pytest.raises(AssertionError):
            compare_tensors("x", x, wrong)
    partly = x.clone()
    partly[0] = torch.nan
    leave_out(partly, torch.arange(64)[:, None].expand(64, 64) == 0)
    compare_tensors("x", partly, x)
