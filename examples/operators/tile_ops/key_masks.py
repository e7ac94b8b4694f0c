"""Hide the keys that a query does not see: behind the last one, by a causal mask or a window."""

from __future__ import annotations

import tile_frontend as T

HIDDEN = -1e30  # the score of a key that does not count


@T.macro
def fill_gaps(gaps: T.Tensor, places: T.Tensor, rows: int, columns: int) -> None:
    """Fill a tile with the distance of each key from its query: column less row."""
    for j in T.Parallel(columns):
        places[j] = j
    for i, j in T.Parallel(rows, columns):
        gaps[i, j] = places[j] - i


@T.macro
def hide_keys(
    s: T.Tensor, gaps: T.Tensor, ends: T.Tensor, query: T.int32, key: T.int32, L: T.int32,
    causal: bool, window: int, rows: int, block_N: int, columns: int,
) -> None:  # fmt: skip
    """Hide keys behind the last one, behind the query, and those before the window."""
    if key + block_N > L:
        for j in T.Parallel(block_N):
            ends[j] = T.if_then_else(key + j < L, 0.0, HIDDEN)
        for i, j in T.Parallel(rows, block_N):
            s[i, j] = s[i, j] + ends[j]
    if causal:
        for b in range(block_N // columns):
            gap = query - key - b * columns  # from the first query to the first key
            if gap < columns - 1:
                for i, j in T.Parallel(rows, columns):
                    s[i, b * columns + j] = T.if_then_else(
                        gaps[i, j] > gap, HIDDEN, s[i, b * columns + j]
                    )
            if window > 0:  # noqa: SIM102 - known while compiling
                if gap - window > -rows:
                    for i, j in T.Parallel(rows, columns):
                        s[i, b * columns + j] = T.if_then_else(
                            gaps[i, j] <= gap - window, HIDDEN, s[i, b * columns + j]
                        )
