"""Compute how much happens in each step of time: cores at work, bytes on their way."""

from __future__ import annotations

from typing import Any

import numpy as np


def amount_until(begin: Any, end: Any, amount: Any, edges: Any) -> Any:
    """The sum of amounts until each edge, where each grows evenly from its begin to its end."""
    if not len(begin):
        return np.zeros(len(edges))
    end = np.maximum(end, begin + 1e-6)
    rate = amount / (end - begin)
    at = np.concatenate([begin, end])
    order = np.argsort(at, kind="stable")
    at, slope = at[order], np.cumsum(np.concatenate([rate, -rate])[order])
    height = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(at))])
    return np.interp(edges, at, height, left=0.0, right=height[-1])


def share_of_cores(all_of_them: Any, works: Any, edges: Any) -> Any:
    """The part of the cores that work between each two edges: `all_of_them` are the events of the
    cores, `works` those that count."""
    cores = len(np.unique(all_of_them["block"].astype(np.int64) * 4 + all_of_them["core"]))
    begin, end = works["begin"], works["end"]
    busy = np.diff(amount_until(begin, end, end - begin, edges)) / np.diff(edges)
    return np.clip(busy / cores, 0.0, 1.0)
