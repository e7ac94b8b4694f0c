"""The translation unit of a hand-written kernel: its source as it is, and a host stub behind it."""

from __future__ import annotations

import re

from tile_runtime.source_kernels.declaration import KernelDeclaration

# The name compilers and debuggers show for the lines of the stub.
STUB_NAME = "<host stub>"
STUB_SYMBOL = "tile_stub_run"
# Words of the device's language, which a source may define for another compiler.
_WORDS = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+__(?:aicore|global|gm|ubuf|cbuf|ca|cb|cc)__(?!\w)[^\n]*",
    re.MULTILINE,
)


def translation_unit(
    text: str,
    name: str,
    kernel: KernelDeclaration,
    expression: str,
    given: int,
    before: str = "",
    behind: str = "",
) -> str:
    """C++ of a source and its stub. Lines of the source keep their file and number; `before` and
    `behind` it goes what it needs from other files."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    text, behind = _WORDS.sub("", text), _WORDS.sub("", behind)
    stub = stub_function(kernel, expression, given, STUB_SYMBOL)
    return f'#include "tile_host_stub.h"\n{before}#line 1 "{quoted}"\n{text}\n{behind}\n{stub}'


def stub_function(kernel: KernelDeclaration, expression: str, given: int, symbol: str) -> str:
    """C++ that defines the function the runner calls. The first `given` parameters get an
    argument, the others take their default."""
    type_ = f"::{kernel.type}" if kernel.type else "tile_host::type_from_kernel"
    invoke = f"[](auto... values) {{ {expression}(values...); }}"
    arguments = ", ".join(["*call", f'"{kernel.name}"', type_, f"&{expression}", invoke])
    return (
        f'#line 1 "{STUB_NAME}"\n'
        'extern "C" __attribute__((visibility("default")))\n'
        f"bool {symbol}(tile_host::Call* call)\n"
        f"{{ return tile_host::launch<{given}>({arguments}); }}\n"
    )
