"""The translation unit of a hand-written kernel: its source as it is, and a host stub behind it."""

from __future__ import annotations

from tile_runtime.source_kernel.declaration import KernelDeclaration

# The name compilers and debuggers show for the lines of the stub.
STUB_NAME = "<host stub>"


def translation_unit(
    text: str, name: str, kernel: KernelDeclaration, expression: str, given: int
) -> str:
    """C++ that defines `tile_stub_run`. The first `given` parameters get an argument, the others
    take their default. Lines of the source keep their file and number."""
    type_ = f"::{kernel.type}" if kernel.type else "tile_host::type_from_kernel"
    invoke = f"[](auto... values) {{ {expression}(values...); }}"
    arguments = ", ".join(["*call", f'"{kernel.name}"', type_, f"&{expression}", invoke])
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '#include "tile_host_stub.h"\n'
        f'#line 1 "{quoted}"\n'
        f"{text}\n"
        f'#line 1 "{STUB_NAME}"\n'
        'extern "C" __attribute__((visibility("default")))\n'
        "bool tile_stub_run(tile_host::Call* call)\n"
        f"{{ return tile_host::launch<{given}>({arguments}); }}\n"
    )
