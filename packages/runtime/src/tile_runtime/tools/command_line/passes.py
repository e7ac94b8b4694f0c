"""`tile-ascend passes`: the passes in the order they run."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("passes", help="list the passes in the order they run")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tile_passes import PIPELINE

    width = max(len(p.name) for p in PIPELINE)
    for p in PIPELINE:
        gives = "" if p.gives is None else f" -> {p.gives.name}"
        phases = f"{p.needs.name}{gives}"
        print(f"{p.name:<{width}}  {phases:<22}  {p.summary}")
    return 0
