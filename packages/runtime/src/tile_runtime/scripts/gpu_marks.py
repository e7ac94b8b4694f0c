"""Accept the marks that kernels set for a tracer of GPUs; they change no result, and none is kept.

`tile-ascend report` and the timeline show the actions of a kernel and their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tile_frontend._language.kernel_frames import sblock


def _mark(name: str = "", payload: Any = None) -> None:
    """A point of a kernel, or an end of a range."""


def _range(name: str, payload: Any = None) -> Any:
    """A part of a kernel: `with iket.range(name):`."""
    return sblock(name)


def _payload(expr: Any, dtype: str | None = None) -> Any:
    """The value that a mark would carry."""
    return expr


@contextmanager
def _session(*options: Any, **named: Any) -> Iterator[None]:
    """Run the block without collecting marks."""
    yield


def _no_files(directory: Any = None) -> list[Path]:
    """Files with marks that were collected: none."""
    return []


def _output_dir(default: Any = None) -> Path | None:
    return None if default is None else Path(default)


def _output_path(name: str, *, directory: Any = None) -> Path:
    """Where a script may put a file; the folder is made."""
    folder = Path(directory or ".")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


iket = SimpleNamespace(
    mark=_mark, range=_range, range_push=_mark, range_pop=_mark, range_start=_mark,
    range_end=_mark, payload=_payload, session=_session, event_table=list, reset=_mark,
    trace_files=_no_files, output_dir=_output_dir, output_path=_output_path,
    runtime_payloads_enabled=bool,
)  # fmt: skip
