"""`tile-ascend passes`: the passes in the order they run."""

from __future__ import annotations

import argparse

from tile_runtime.scripts.columns import columns


def run(options: argparse.Namespace) -> int:
    from tile_passes import PIPELINE

    rows = []
    for p in PIPELINE:
        gives = "" if p.gives is None else f" -> {p.gives.name}"
        rows.append((p.name, f"{p.needs.name}{gives}", p.summary))
    print(columns(rows))
    return 0
