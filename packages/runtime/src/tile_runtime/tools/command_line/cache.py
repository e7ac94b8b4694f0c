"""`tile-ascend cache`: where compiled kernels are, which, how many, whether they are whole, and
removing them."""

from __future__ import annotations

import argparse
import json
import time

from tile_runtime.cache.kernel_cache import META, KernelCache, kernel_cache


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("path", "size", "ls", "verify", "clear")
    parser.add_argument("action", nargs="?", default="size", choices=actions)


def run(options: argparse.Namespace) -> int:
    cache = kernel_cache()
    match options.action:
        case "path":
            print(cache.root)
        case "ls":
            for line in _listed(cache):
                print(line)
        case "verify":
            damaged = cache.remove_damaged()
            for key, file in damaged.items():
                print(f"{key[:12]}: {file} is damaged; removed")
            print(f"{cache.root}: {cache.size().kernels} kernels are whole")
            return 1 if damaged else 0
        case action:
            size = cache.size()
            if action == "clear":
                cache.clear()
            verb = "removed " if action == "clear" else ""
            print(f"{cache.root}: {verb}{size.kernels} kernels, {size.bytes / 1e6:.1f} MB")
    return 0


def _listed(cache: KernelCache) -> list[str]:
    """A line for each kernel, those used last first."""
    lines = []
    for entry in cache.entries():
        try:
            meta = json.loads((cache.kernels / entry.key / META).read_bytes())
            name = meta.get("name") or meta["signature"]["name"]
            target = meta["target"]
        except (OSError, ValueError, KeyError, TypeError):
            name, target = "?", "?"
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        lines.append(f"{entry.key[:12]}  {used}  {entry.bytes / 1e3:7.0f} kB  {name}  {target}")
    return lines
