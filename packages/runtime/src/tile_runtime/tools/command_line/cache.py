"""`tile-ascend cache`: where compiled kernels are, how many, and removing them."""

from __future__ import annotations

import argparse
from typing import Any

from tile_runtime.cache.kernel_cache import KernelCache, get_cache_dir


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("cache", help="show or clear the compiled kernels on disk")
    parser.add_argument("action", nargs="?", default="size", choices=("path", "size", "clear"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    cache = KernelCache(get_cache_dir())
    if options.action == "path":
        print(cache.root)
        return 0
    size = cache.size()
    verb = ""
    if options.action == "clear":
        cache.clear()
        verb = "removed "
    print(f"{cache.root}: {verb}{size.kernels} kernels, {size.bytes / 1e6:.1f} MB")
    return 0
