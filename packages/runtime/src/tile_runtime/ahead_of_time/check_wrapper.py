"""Check that a C++ wrapper calls kernels as they were built.

The host's compiler checks its types against the registries of a tree. Nothing is linked, and no
device is needed. The check covers types only: two swapped arguments of one type pass, and only the
running program shows whether it uses a variant.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tile_ir import BuildError, did_you_mean
from tile_runtime.ahead_of_time.read_manifest import Manifest
from tile_runtime.devices.compile_host import find_compiler, run_compiler
from tile_runtime.simulator.build_simulator import include_directory

_ASKED = re.compile(r"\bXLLM_TL_(\w+)_REGISTRY_INC\b")
_HEADERS = Path(__file__).parent / "include"


def check_wrapper(
    wrapper: Path, manifests: Sequence[Manifest], flags: Sequence[str] = ()
) -> tuple[Manifest, ...]:
    """Return the kernels whose registries a wrapper includes. `flags` are those the project
    compiles it with.

    Raises BuildError with the compiler's message if a call does not fit, and for a wrapper that
    includes no registry, or one of a kernel that was not built.
    """
    macros = {f"XLLM_TL_{m.kernel.upper()}_REGISTRY_INC": m for m in manifests}
    for asked in _ASKED.finditer(wrapper.read_text("utf-8", errors="replace")):
        if asked[0] not in macros:
            kernel = asked[1].lower()
            raise BuildError(
                "aot-wrapper",
                f"{wrapper.name} includes the registry of `{kernel}`, which was not built",
                hint=did_you_mean(kernel, [m.kernel for m in manifests]),
            )
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "included"
        # Headers of the simulator stand in for those of CANN, unless the project names these.
        stand_in = include_directory() / "host_headers"
        run_compiler(
            [
                *find_compiler(), "-std=c++17", "-fsyntax-only", "-MD", "-MF", str(noted), *flags,
                *(f'-D{name}="{m.registry.resolve()}"' for name, m in macros.items()),
                f"-I{_HEADERS}", "-idirafter", str(stand_in), str(wrapper),
            ],
            wrapper.name,
        )  # fmt: skip
        included = noted.read_text().replace("\\\n", " ").replace("\\ ", "\0").split()
    files = {Path(name.replace("\0", " ")).resolve() for name in included}
    found = tuple(m for m in manifests if m.registry.resolve() in files)
    if not found:
        raise BuildError(
            "aot-wrapper", f"{wrapper.name} includes the registry of no kernel",
            hint="#include XLLM_TL_<KERNEL>_REGISTRY_INC inside a namespace",
        )  # fmt: skip
    return found
