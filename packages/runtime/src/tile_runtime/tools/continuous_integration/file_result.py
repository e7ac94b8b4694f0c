"""The result of running the kernels of one file, as data and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field

from tile_ir import Loc
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.command_line.finding_formats import Found, as_json, found_in


@dataclass(frozen=True, slots=True)
class KernelTime:
    """The modelled time of a kernel on the device, the mean of `launches` launches.

    `sizes` are the shapes of the inputs of a kernel with symbolic sizes. `line` is where the kernel
    is defined, `source` the hash of its emitted source.
    """

    kernel: str
    sizes: str
    file: str
    line: int
    column: int
    source: str
    microseconds: float
    launches: int

    @property
    def loc(self) -> Loc:
        return Loc(self.file, self.line, self.column)


@dataclass(frozen=True, slots=True)
class FileResult:
    """The findings in a file and the times of its kernels. `read` has the hash of every file of
    the checkout that the run read. An incomplete one ended before its end."""

    file: str
    kernels: tuple[KernelTime, ...] = ()
    found: tuple[Found, ...] = ()
    read: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True


def result_text(result: FileResult) -> str:
    """A result as JSON; its findings are as `tile-ascend sim --json` prints them."""
    more = {
        "kernels": [asdict(kernel) for kernel in result.kernels],
        "read": dict(result.read),
        "complete": result.complete,
    }
    return as_json(result.found, result.file, "strict", 0, **more)


def result_from(text: str) -> FileResult:
    """Read the text of `result_text`. ValueError, KeyError or TypeError if it is something else."""
    whole = json.loads(text)
    kernels = tuple(KernelTime(**kernel) for kernel in whole["kernels"])
    found = tuple(found_in(whole))
    return FileResult(whole["kernel"], kernels, found, whole["read"], whole["complete"])
