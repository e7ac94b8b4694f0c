"""Write the files that C++ includes to find a variant: `registry.inc`, and the older
`variants.inc`.

The names in them are part of the contract with wrappers (docs/use/devices.md#registry).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tile_runtime.ahead_of_time.entry_symbols import KernelAbi
from tile_runtime.ahead_of_time.kernel_spec import DispatchField, KernelCompileSpec, check_value

_DTYPES = {
    "bf16": "kBF16",
    "bfloat16": "kBF16",
    "fp16": "kFloat16",
    "float16": "kFloat16",
    "fp32": "kFloat32",
    "float32": "kFloat32",
    "int8": "kInt8",
    "int32": "kInt32",
    "uint8": "kUInt8",
}
_CPP_TYPES = {"int32": "int32_t", "dtype": "TilelangDType"}


def registry_text(
    specs: Sequence[KernelCompileSpec], schema: Sequence[DispatchField], abi: KernelAbi
) -> str:
    """The text of `registry.inc`, for the inside of a namespace of the wrapper."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined,
        trim_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    name = _pascal(specs[0].kernel_name)
    wrappers = [f"{name}{_suffix(f)}" for f in schema]

    def values(spec: KernelCompileSpec) -> list[tuple[str, str]]:
        return [(w, _literal(f, spec)) for w, f in zip(wrappers, schema, strict=True)]

    return environment.get_template("registry.inc.jinja").render(
        kernel=specs[0].kernel_name,
        name=name,
        abi=abi,
        fields=[(f.name, _CPP_TYPES[f.kind], w) for w, f in zip(wrappers, schema, strict=True)],
        variants=[(spec, values(spec)) for spec in specs],
    )


def variants_text(specs: Sequence[KernelCompileSpec], schema: Sequence[DispatchField]) -> str:
    """A line for each variant, which a wrapper's macro makes something of."""
    macro = f"XLLM_TL_{specs[0].kernel_name.upper()}_VARIANT"
    lines = []
    for s in specs:
        values = ", ".join(_literal(f, s) for f in schema)
        lines.append(f'{macro}({values}, "{s.variant_key}", {s.entry_symbol})\n')
    return "".join(lines)


def _literal(of: DispatchField, spec: KernelCompileSpec) -> str:
    value = spec.dispatch_values[of.name]
    check_value(of, value, spec.variant_key)
    if of.kind == "int32":
        return str(value)
    if value not in _DTYPES:
        known = ", ".join(_DTYPES)
        raise ValueError(
            f"variant {spec.variant_key!r}: {of.name} = {value!r} is no element type that C++ can "
            f"ask for; known: {known}"
        )
    return f"TilelangDType::{_DTYPES[value]}"


def _pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _suffix(of: DispatchField) -> str:
    return "".join("DType" if w == "dtype" else w[:1].upper() + w[1:] for w in of.name.split("_"))
