"""Find the factories of `script.py:name` whose kernels `tile-ascend bench --vary` measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir import CallError, KernelError, did_you_mean
from tile_runtime.scripts.module import load_script
from tile_runtime.tools.command_line.kernel_argument import names_a_kernel

if TYPE_CHECKING:
    from tile_runtime.tools.report.perf_report import Contestant


def varied_kernels(names: Sequence[str]) -> list[Contestant]:
    """Return a contestant for each name, called after its factory; after its script too where
    factories of several scripts have one name. KernelError or CallError for what is no factory."""
    from tile_runtime.tools.report.perf_report import contestant

    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CallError("kernel-arguments", f"{twice} is named twice")
    parts = [_parts(name) for name in names]
    plain = [attribute for _, attribute in parts]
    found = []
    for script, attribute in parts:
        module = load_script(Path(script))
        factory = getattr(module, attribute, None)
        if factory is None:
            hint = did_you_mean(attribute, vars(module))
            raise KernelError("no-such-kernel", f"{script} has no `{attribute}`", hint=hint)
        several = plain.count(attribute) > 1
        called = f"{Path(script).stem}:{attribute}" if several else attribute
        found.append(contestant(called, factory))
    return found


def _parts(name: str) -> tuple[str, str]:
    if not names_a_kernel(name):
        raise CallError("kernel-arguments", f"{name!r} is no kernel, expected script.py:name")
    script, _, attribute = name.rpartition(":")
    return script, attribute
