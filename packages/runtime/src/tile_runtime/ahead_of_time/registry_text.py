"""What C++ includes to find a variant: `registry.inc`, and the older `variants.inc`.

The names in them are part of the contract with wrappers (docs/ahead_of_time.md#registry).
"""

from __future__ import annotations

from collections.abc import Sequence

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
    kernel = specs[0].kernel_name
    name = _pascal(kernel)
    spec = f"{name}Specialization"
    fields = "\n".join(f"  {_CPP_TYPES[f.kind]} {f.name};" for f in schema)
    equal = " &&\n         ".join(f"lhs.{f.name} == rhs.{f.name}" for f in schema)
    wrappers = "\n".join(
        f"struct {name}{_suffix(f)} {{\n  {_CPP_TYPES[f.kind]} value;\n}};\n" for f in schema
    )
    given = ", ".join(f"{name}{_suffix(f)} {f.name}" for f in schema)
    values = ", ".join(f"{f.name}.value" for f in schema)
    declared = "\n".join(
        f'extern "C" function_type_t<{name}KernelFn> {s.entry_symbol};' for s in specs
    )
    entries = "\n".join(f"    {_entry(s, schema, name)}," for s in specs)
    entry = f"KernelEntry<{spec}, {name}KernelFn>"
    return f"""\
// Variants of `{kernel}`, made by tile-ascend compile-kernels. Include it inside a namespace.
struct {spec} {{
{fields}
}};

constexpr bool operator==(const {spec}& lhs, const {spec}& rhs) {{
  return {equal};
}}

{wrappers}
constexpr {spec} make_{kernel}_specialization({given}) {{
  return {spec}{{{values}}};
}}

using {name}KernelFn = {abi.return_type} (*)({abi.types()});

{declared}

constexpr std::array<{entry}, {len(specs)}> k{name}Registry{{{{
{entries}
}}}};

inline const {entry}* find_{kernel}_kernel_entry(const {spec}& specialization) {{
  return find_kernel_entry(k{name}Registry, specialization);
}}

inline std::string available_{kernel}_variant_keys() {{
  return available_variant_keys(k{name}Registry);
}}
"""


def variants_text(specs: Sequence[KernelCompileSpec], schema: Sequence[DispatchField]) -> str:
    """A line for each variant, which a wrapper's macro makes something of."""
    macro = f"XLLM_TL_{specs[0].kernel_name.upper()}_VARIANT"
    lines = []
    for s in specs:
        values = ", ".join(_literal(f, s) for f in schema)
        lines.append(f'{macro}({values}, "{s.variant_key}", {s.entry_symbol})\n')
    return "".join(lines)


def _entry(spec: KernelCompileSpec, schema: Sequence[DispatchField], name: str) -> str:
    values = ", ".join(f"{name}{_suffix(f)}{{{_literal(f, spec)}}}" for f in schema)
    made = f"make_{spec.kernel_name}_specialization({values})"
    return f'{{{made}, "{spec.variant_key}", &{spec.entry_symbol}}}'


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
