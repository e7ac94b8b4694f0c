"""Pairs of tokens of a chunk whose k fall each at its own rate (gates to base 2, one for each k).

A_qk[i, j] = scale * sum of q_i k_j 2^(g_i - g_j) for j <= i, and L[i, j] = beta_i * sum of
k_i k_j 2^(g_i - g_j) for j < i. Pairs of one block of 16 tokens are found first, the others later.
"""

from __future__ import annotations

from typing import Any

import torch

from conformance.references.chunks import chunk, spans, write, write_scalars
from conformance.references.deciding import leave_out
from conformance.references.gates import chunk_local_cumsum


def chunk_kda_fwd_intra_token_parallel(
    q: torch.Tensor,
    k: torch.Tensor,
    gk: torch.Tensor,
    beta: torch.Tensor,
    Aqk: torch.Tensor,
    Akk: torch.Tensor,
    scale: float,
    cu_seqlens: None = None,
    chunk_size: int = 64,
    sub_chunk_size: int = 16,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Write the pairs of each block: into its columns of `Aqk`, and alone into `Akk`."""
    for span in spans(q.shape[1], chunk_size):
        for part in spans(span.stop - span.start, sub_chunk_size):
            inside = slice(span.start + part.start, span.start + part.stop)
            reads, keys = _pairs(q, k, gk, inside, inside), _pairs(k, k, gk, inside, inside)
            factor = chunk(beta, inside)[..., None]
            write(Aqk[..., part], inside, (reads * scale).tril())
            write(Akk, inside, (keys * factor).tril(-1))
    return Aqk, Akk


def chunk_kda_fwd_inter_solve_fused(
    q: torch.Tensor,
    k: torch.Tensor,
    gk: torch.Tensor,
    beta: torch.Tensor,
    Aqk: torch.Tensor,
    Akk_diag: torch.Tensor,
    Akk: torch.Tensor,
    scale: float,
    cu_seqlens: None = None,
    chunk_size: int = 64,
    **options: Any,
) -> None:
    """Write the pairs of different blocks into `Aqk`, and (1 + L)^-1 into `Akk`; of L, `Akk_diag`
    has the pairs of one block."""
    block = Akk_diag.shape[-1]
    columns = torch.arange(chunk_size) // block
    rows = (torch.arange(q.shape[1]) % chunk_size // block)[None, :, None, None]
    leave_out(Aqk, (columns >= rows).expand(Aqk.shape))
    leave_out(Akk, (columns > rows).expand(Akk.shape))
    for span in spans(q.shape[1], chunk_size):
        length = span.stop - span.start
        lower = _pairs(k, k, gk, span, span).tril(-1) * chunk(beta, span)[..., None]
        reads = _pairs(q, k, gk, span, span) * scale
        for part in spans(length, block):
            inside = slice(span.start + part.start, span.start + part.stop)
            own = chunk(Akk_diag, inside)[..., : part.stop - part.start]
            lower[..., part, part] = own.tril(-1)
            write(Aqk[..., : part.start], inside, reads[..., part, : part.start])
        one = torch.eye(length, dtype=torch.float64)
        solved = torch.linalg.solve_triangular(
            lower + one, one.expand_as(lower), upper=False, unitriangular=True
        )
        for part in spans(length, block):
            inside = slice(span.start + part.start, span.start + part.stop)
            write(Akk, inside, solved[..., part, : part.stop])


def chunk_kda_bwd_intra(
    q: torch.Tensor,
    k: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    dAqk: torch.Tensor,
    dAkk: torch.Tensor,
    dq: torch.Tensor,
    dk: torch.Tensor,
    db: torch.Tensor,
    dg: torch.Tensor,
    cu_seqlens: None = None,
    chunk_indices: None = None,
    chunk_size: int = 64,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of q, k, beta and of gates before they are summed up, added to what is there;
    of A_qk without its scale, and of L."""
    new_q, new_k = torch.zeros_like(q), torch.zeros_like(k)
    new_b = torch.zeros_like(beta, dtype=torch.float32)
    new_g = torch.zeros_like(dg, dtype=torch.float32)
    for span in spans(q.shape[1], chunk_size):
        size = span.stop - span.start
        queries, keys, gates, factor = (chunk(x, span) for x in (q, k, g, beta))
        of_reads, of_keys = (chunk(x, span)[..., :size].tril() for x in (dAqk, dAkk))
        falls = _falls(gates, gates)
        to_q = torch.einsum("bhij,bhijk,bhjk->bhik", of_reads, falls, keys)
        to_left = torch.einsum("bhij,bhijk,bhjk->bhik", of_keys, falls, keys)
        to_right = torch.einsum("bhij,bhijk,bhik->bhjk", of_reads, falls, queries)
        scaled = keys * factor[..., None]
        to_right = to_right + torch.einsum("bhij,bhijk,bhik->bhjk", of_keys, falls, scaled)
        left = to_left * factor[..., None]
        write(new_q, span, to_q + chunk(dq, span))
        write(new_k, span, left + to_right + chunk(dk, span))
        write_scalars(new_b, span, (to_left * keys).sum(-1) + chunk(db, span))
        write(new_g, span, queries * to_q + (left - to_right) * keys + chunk(dg, span))
    return new_q, new_k, new_b, chunk_local_cumsum(new_g, chunk_size, reverse=True)


def _pairs(
    x: torch.Tensor, y: torch.Tensor, g: torch.Tensor, rows: slice, columns: slice
) -> torch.Tensor:
    falls = _falls(chunk(g, rows), chunk(g, columns))
    return torch.einsum("bhik,bhijk,bhjk->bhij", chunk(x, rows), falls, chunk(y, columns))


def _falls(later: torch.Tensor, earlier: torch.Tensor) -> torch.Tensor:
    """2^(g_i - g_j) of each k, for j <= i, [batch, heads, tokens, tokens, size of k]."""
    difference = later[..., :, None, :] - earlier[..., None, :, :]
    past = torch.ones(difference.shape[2:4], dtype=torch.bool).tril()
    return torch.where(past[..., None], torch.exp2(difference), 0.0)
