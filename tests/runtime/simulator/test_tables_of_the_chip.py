"""The simulator's own tables of the chip agree with those of the compiler: two hands wrote them, from
the same documents. They are read from the sources, so that nothing is built or run."""

from __future__ import annotations

import re
from pathlib import Path

import tile_runtime
from tile_ir import DEFAULT_TARGET, Memory
from tile_ir.ops.cast import DEQUANTIZING

SIMULATOR = next(Path(tile_runtime.__file__).parent.glob("**/vector_cast.cpp")).parents[1]
TYPES = {
    "i4": "int4", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32",
}  # fmt: skip
MODES = {"N": ("NONE",), "O": ("ODD",), "RFCAT": ("RINT", "FLOOR", "CEIL", "ROUND", "TRUNC")}
MEMORIES = {
    "UB": Memory.UB,
    "L1": Memory.L1,
    "L0A": Memory.L0A,
    "L0B": Memory.L0B,
    "L0C": Memory.L0C,
    "BT": Memory.BT,
}


def numbers(text: str, name: str) -> list[str]:
    (found,) = re.findall(rf"{name}\[\w+\] = \{{(.*?)\}};", text)
    return [word.strip(' "') for word in found.split(",")]


def test_conversions_and_their_modes() -> None:
    text = (SIMULATOR / "src/vector_cast.cpp").read_text()
    rows = re.findall(r"\{DataType::(\w+), DataType::(\w+), ([\w| ]+), ", text)
    found = {}
    for source, dst, modes in rows:
        pair = (TYPES[source], TYPES[dst])
        if pair not in DEQUANTIZING:
            found[pair] = {m for word in modes.split(" | ") for m in MODES[word]}
    assert found == {pair: set(modes) for pair, modes in DEFAULT_TARGET.conversions.items()}


def test_sizes_of_memories() -> None:
    text = (SIMULATOR / "src/memory.h").read_text()
    sizes = dict(
        zip(numbers(text, "memory_names"), map(int, numbers(text, "memory_bytes")), strict=True)
    )
    assert {MEMORIES[name]: sizes[name] for name in MEMORIES} == DEFAULT_TARGET.capacity


def test_flags_have_a_name_in_the_interface() -> None:
    text = (SIMULATOR / "include/ascend_c/enums.h").read_text()
    (names,) = re.findall(r"enum class HardEvent : uint8_t \{(.*?)\}", text, re.S)
    events = set(re.findall(r"\w+_\w+", names))
    for pairs in DEFAULT_TARGET.flag_pairs.values():
        assert {f"{a.value}_{b.value}".upper() for a, b in pairs} <= events
