"""`tile-ascend where`: print folders and files that builds in other languages need."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def _simulator() -> Path:
    from tile_runtime.simulator.build_simulator import build_simulator

    return build_simulator()


def _include() -> Path:
    from tile_runtime.simulator.build_simulator import include_directory

    return include_directory()


def _ahead_of_time() -> Path:
    import tile_runtime.ahead_of_time

    return Path(tile_runtime.ahead_of_time.__file__).parent


_PLACES: dict[str, tuple[str, Callable[[], Path]]] = {
    "cmake": ("the folder of TileAscendConfig.cmake", lambda: _ahead_of_time() / "cmake"),
    "include": ("the folder of dispatch_registry.h", lambda: _ahead_of_time() / "include"),
    "simulator": ("the simulator's library, built if it is not there yet", _simulator),
    "simulator-include": ("the folder of the simulator's headers", _include),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    told = "; ".join(f"{name}: {what}" for name, (what, _) in _PLACES.items())
    parser.add_argument("what", choices=tuple(_PLACES), help=told)


def run(options: argparse.Namespace) -> int:
    print(_PLACES[options.what][1]())
    return 0
