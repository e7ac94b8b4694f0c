"""How a kernel says which variants of it are built, and by which values C++ chooses one.

Says nothing about files. Mistakes are ValueError, TypeError and KeyError, as engines expect them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, TypeVar

from tile_ir.quick_dataclasses import dataclass

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KEY = re.compile(r"[A-Za-z0-9_]+\Z")
FIELD_KINDS = ("int32", "dtype")
# What an entry of SPECIALIZATIONS says besides the fields of its specialization.
_CONFIG = (
    "variant_key",
    "compile_definitions",
    "kernel_name",
    "target",
    "entry_name",
    "source_entry_symbol",
)
# The name in a compile definition that stands for the symbol of the variant's entry.
ENTRY_SYMBOL = "entry_symbol"
_MARK = "_tile_registered_kernel"

Kernel = TypeVar("Kernel", bound=type)


@dataclass(frozen=True)
class DispatchField:
    """A value that C++ chooses a variant by: a number (`int32`) or an element type (`dtype`)."""

    name: str
    kind: str

    def validate(self) -> None:
        """ValueError for what is no C identifier or no kind."""
        if not _IDENTIFIER.match(self.name):
            raise ValueError(f"dispatch field {self.name!r} is no C identifier")
        if self.kind not in FIELD_KINDS:
            known = ", ".join(FIELD_KINDS)
            raise ValueError(f"dispatch field {self.name!r}: kind {self.kind!r} is none of {known}")


@dataclass(frozen=True)
class KernelCompileSpec:
    """One variant of a kernel, with all that decides what is built."""

    target: str
    kernel_name: str
    module_name: str
    variant_key: str
    specialization: dict[str, Any]
    dispatch_values: dict[str, Any]
    entry_name: str | None
    source_entry_symbol: str
    compile_definitions: dict[str, str]

    @property
    def entry_symbol(self) -> str:
        """The C symbol of the variant's entry."""
        return f"{self.entry_name or self.kernel_name}__{self.variant_key}_call"

    def definitions(self) -> list[str]:
        """The compile definitions as `MACRO=value`."""
        return _rendered(self.compile_definitions, self.specialization, self.entry_symbol)


@dataclass(frozen=True)
class KernelSpec:
    """One entry of SPECIALIZATIONS. `compile_definitions` maps macros to the specialization's field
    they have the value of, or to `entry_symbol`."""

    variant_key: str
    specialization: dict[str, Any]
    compile_definitions: dict[str, str] = field(default_factory=dict)
    kernel_name: str | None = None
    target: str = "ascend"
    entry_name: str | None = None
    source_entry_symbol: str = "call"

    def validate(self) -> None:
        """Raise ValueError for an invalid key or name, and KeyError for a definition without a
        specialization."""
        if not isinstance(self.variant_key, str) or not _KEY.match(self.variant_key):
            raise ValueError(f"variant_key {self.variant_key!r}: letters, digits and `_` only")
        where = f"variant {self.variant_key!r}"
        if not self.specialization:
            raise ValueError(f"{where} has no specialization")
        for what in ("kernel_name", "entry_name"):
            name = getattr(self, what)
            if name is not None and not _IDENTIFIER.match(name):
                raise ValueError(f"{where}: {what} {name!r} is no C identifier")
        for macro, key in self.compile_definitions.items():
            if key not in self.specialization and key != ENTRY_SYMBOL:
                raise KeyError(f"{where}: {macro} is defined as {key!r}, which is no field")
            if key == ENTRY_SYMBOL and self.entry_name is None:
                raise KeyError(f"{where}: {macro} wants the entry's symbol, so name the entry")

    def render_compile_definitions(self, entry_symbol: str | None = None) -> list[str]:
        """The compile definitions as `MACRO=value`."""
        return _rendered(self.compile_definitions, self.specialization, entry_symbol)

    def to_compile_spec(
        self, module_name: str, dispatch_schema: Iterable[DispatchField]
    ) -> KernelCompileSpec:
        """The variant. ValueError names the dispatch fields that it says nothing of."""
        schema = list(dispatch_schema)
        missing = [f.name for f in schema if f.name not in self.specialization]
        if missing:
            raise ValueError(
                f"variant {self.variant_key!r} lacks dispatch fields: {', '.join(missing)}"
            )
        for each in schema:
            check_value(each, self.specialization[each.name], self.variant_key)
        return KernelCompileSpec(
            self.target,
            self.kernel_name or module_name.rpartition(".")[2],
            module_name,
            self.variant_key,
            dict(self.specialization),
            {f.name: self.specialization[f.name] for f in schema},
            self.entry_name,
            self.source_entry_symbol,
            dict(self.compile_definitions),
        )


def _rendered(
    definitions: Mapping[str, str], specialization: Mapping[str, Any], entry_symbol: str | None
) -> list[str]:
    values = {**specialization, ENTRY_SYMBOL: entry_symbol}
    return [f"{macro}={values[key]}" for macro, key in definitions.items()]


def check_value(of: DispatchField, value: object, variant: str) -> None:
    """TypeError for a value that is not of the field's kind."""
    if of.kind == "int32":
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"variant {variant!r}: {of.name} is int32, found {value!r}")
        if not -(2**31) <= value < 2**31:
            raise TypeError(f"variant {variant!r}: {of.name} = {value} is more than int32 holds")
    elif not isinstance(value, str):
        raise TypeError(f"variant {variant!r}: {of.name} is the name of a type, found {value!r}")


class TilelangKernel:
    """A kernel that is built ahead of time: a subclass says its dispatch schema and its variants,
    and has `generate_source(**specialization) -> str` as a static or class method."""

    TARGET: ClassVar[str] = "ascend"
    KERNEL_NAME: ClassVar[str | None] = None
    ENTRY_NAME: ClassVar[str | None] = None
    COMPILE_DEFINITIONS: ClassVar[Mapping[str, str]] = {}
    SOURCE_ENTRY_SYMBOL: ClassVar[str] = "call"
    DISPATCH_SCHEMA: ClassVar[list[DispatchField]] = []
    SPECIALIZATIONS: ClassVar[list[Any]] = []

    @classmethod
    def dispatch_schema(cls) -> list[DispatchField]:
        """The fields in order. NotImplementedError if there are none."""
        return schema_of(cls)

    @classmethod
    def specs(cls) -> list[KernelSpec]:
        """The variants in order."""
        return specs_of(cls)


# Our own name for it.
TileKernel = TilelangKernel


def register_kernel(cls: Kernel) -> Kernel:
    """Mark a class as one that `tile-ascend compile-kernels` builds; subclasses are not marked."""
    setattr(cls, _MARK, True)
    return cls


def is_registered(cls: type) -> bool:
    """Whether this very class is marked."""
    return bool(cls.__dict__.get(_MARK, False))


def schema_of(cls: Any) -> list[DispatchField]:
    schema = list(cls.DISPATCH_SCHEMA)
    if not schema:
        raise NotImplementedError(f"{cls.__name__} has no DISPATCH_SCHEMA")
    seen: set[str] = set()
    for each in schema:
        if not isinstance(each, DispatchField):
            raise TypeError(f"{cls.__name__}: DISPATCH_SCHEMA has {each!r}, no DispatchField")
        each.validate()
        if each.name in seen:
            raise ValueError(f"{cls.__name__}: dispatch field {each.name!r} is there twice")
        seen.add(each.name)
    return schema


def specs_of(cls: Any) -> list[KernelSpec]:
    if not cls.SPECIALIZATIONS:
        raise NotImplementedError(f"{cls.__name__} has no SPECIALIZATIONS")
    return [_spec_of(cls, entry) for entry in cls.SPECIALIZATIONS]


def _spec_of(cls: Any, entry: object) -> KernelSpec:
    if isinstance(entry, KernelSpec):
        entry.validate()
        return entry
    if not isinstance(entry, Mapping):
        raise TypeError(f"{cls.__name__}: SPECIALIZATIONS has {entry!r}, no dict or KernelSpec")
    if "variant_key" not in entry:
        raise KeyError(f"{cls.__name__}: an entry of SPECIALIZATIONS has no variant_key: {entry!r}")
    rest = {name: value for name, value in entry.items() if name not in _CONFIG}
    if "specialization" in rest:
        own = rest.pop("specialization")
        if rest:
            unknown = ", ".join(rest)
            raise KeyError(f"variant {entry['variant_key']!r}: {unknown} beside `specialization`")
        rest = dict(own)
    spec = KernelSpec(
        entry["variant_key"],
        rest,
        {**cls.COMPILE_DEFINITIONS, **entry.get("compile_definitions", {})},
        entry.get("kernel_name", cls.KERNEL_NAME),
        entry.get("target", cls.TARGET),
        entry.get("entry_name", cls.ENTRY_NAME),
        entry.get("source_entry_symbol", cls.SOURCE_ENTRY_SYMBOL),
    )
    spec.validate()
    return spec


__all__ = [
    "DispatchField",
    "KernelCompileSpec",
    "KernelSpec",
    "TileKernel",
    "TilelangKernel",
    "register_kernel",
]
