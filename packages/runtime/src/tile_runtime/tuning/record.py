"""What a tuner found, on disk, under everything the result depends on."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tile_ir import TileError, print_func
from tile_ir.switches import switch
from tile_runtime.cache.fingerprint import sources_digest
from tile_runtime.cache.kernel_cache import get_cache_dir
from tile_runtime.devices.choose_device import current_device


@dataclass(frozen=True, slots=True)
class TuningRecord:
    """Position of the best configuration, and milliseconds."""

    best: int
    latency: float
    ref_latency: float | None


def record_key(
    factory: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    configs: Sequence[Mapping[str, Any]],
    options: object,
) -> str:
    """Hash of the traced function of every configuration, the compiler, the chip, the device, and
    how candidates are judged."""
    plain = inspect.unwrap(factory)
    parts = [sources_digest(), str(switch("soc")), current_device().identity(), _judged(options)]
    for config in configs:
        try:
            func = plain(*args, **kwargs, **config)
            parts.append(print_func(func))
        except (TileError, AssertionError) as error:
            parts.append(f"{type(error).__name__}: {error}")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_record(key: str) -> TuningRecord | None:
    """The result of an earlier tuning, if there is one and the cache is used."""
    if not switch("cache"):
        return None
    try:
        return TuningRecord(**json.loads(_path(key).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_record(key: str, record: TuningRecord) -> None:
    """Keep a result; it appears whole or not at all."""
    if not switch("cache"):
        return
    path = _path(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump(asdict(record), file)
    os.replace(file.name, path)


def _path(key: str) -> Path:
    return get_cache_dir() / "tuned" / f"{key}.json"


def _judged(options: object) -> str:
    """Options as text; a function counts by its source, if Python knows it."""
    texts = []
    for name in sorted(getattr(options, "__dataclass_fields__", ())):
        value = getattr(options, name)
        if callable(value) and not isinstance(value, type):
            try:
                value = inspect.getsource(value)
            except (OSError, TypeError):
                value = getattr(value, "__qualname__", type(value).__name__)
        texts.append(f"{name}={value}")
    return "\n".join(texts)
