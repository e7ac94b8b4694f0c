"""Arrays named on the command line: `x=f16[8,2048]:random`, `x=data.npy`, `tiling=@file.bin`."""

from __future__ import annotations

import ast
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tile_ir import CallError, did_you_mean

# NumPy has no bfloat16; arrays of it are torch tensors.
_DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
_SHORT_NAMES = {long: short for short, long in _DTYPES.items()}
_ALIASES = {"half": "float16", "float": "float32", "bfloat16_t": "bfloat16"}
_NAME = re.compile(r"[^\W\d]\w*(\[\d+\])?")
_ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\d, ]*)\](?:[:=](?P<how>.+))?")
FILLS = ("random", "zeros", "arange")


def split_argument(text: str) -> tuple[str, str]:
    """`name=value` in two; the name may be that of one array of a list, `x[0]`. Raises CallError
    for anything else."""
    name, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(name) or not value:
        raise CallError("kernel-arguments", f"{text!r} is not of the form name=value")
    return name, value


def input_array(name: str, value: str, seed: int) -> Any:
    """An array, a tensor or bytes: by type and shape with a way to fill it, or from a file."""
    if value.startswith("@"):
        return Path(value[1:]).read_bytes()
    match = _ARRAY.fullmatch(value)
    if match is None:
        if value.endswith(".npy"):
            return _loaded(value)
        raise CallError(
            "kernel-arguments",
            f"{name}={value}: expected dtype[shape], dtype[shape]:fill, file.npy or @file.bin",
            hint="such as x=f16[8,2048]:random",
        )
    dtype, shape = _type(match["dtype"]), _shape(match["shape"])
    how = match["how"] or "random"
    if how not in FILLS and not how.endswith(".npy"):
        raise CallError(
            "kernel-arguments",
            f"{name}: {how!r} is no way to fill an array: {', '.join(FILLS)} or a .npy file",
            hint=did_you_mean(how, FILLS),
        )
    return _filled(how, dtype, shape, seed)


def output_array(name: str, value: str) -> Any:
    """An array whose bytes are all 0xFF, a NaN or -1: what the kernel does not write shows."""
    match = _ARRAY.fullmatch(value)
    if match is None or match["how"]:
        raise CallError("kernel-arguments", f"{name}={value}: expected dtype[shape]")
    dtype, shape = _type(match["dtype"]), _shape(match["shape"])
    stored = "uint16" if dtype == "bfloat16" else dtype
    array = np.zeros(shape, stored)
    array.reshape(-1).view(np.uint8)[...] = 0xFF
    if dtype == "bfloat16":
        import torch

        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return array


def number_argument(name: str, text: str) -> int | float:
    """The number of `--scalar name=text`. CallError if it is none."""
    try:
        value = ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError):
        try:
            value = float(text)  # inf, nan
        except ValueError:
            value = None
    if not isinstance(value, (int, float)):
        raise CallError("kernel-arguments", f"--scalar {name}={text}: expected a number")
    return value


def summary(name: str, value: Any) -> str:
    """One line about an output: type, shape, range, mean, NaNs and a checksum of its bytes."""
    array = as_numpy(value)
    type_ = str(value.dtype).removeprefix("torch.")
    raw = value if value is array else _words(value)
    numbers = array.astype(np.float64).reshape(-1)
    valid = numbers[~np.isnan(numbers)]
    facts = (
        f"min {valid.min():g}  max {valid.max():g}  mean {valid.mean():g}"
        if valid.size
        else "no numbers"
    )
    return (
        f"{name}  {_SHORT_NAMES.get(type_, type_)}[{','.join(map(str, array.shape))}]  {facts}  "
        f"nan {numbers.size - valid.size}  crc32 {zlib.crc32(raw.tobytes()):08x}"
    )


def as_numpy(value: Any) -> np.ndarray[Any, Any]:
    """The array for a .npy file; bfloat16 as float32."""
    array: np.ndarray[Any, Any] = value if isinstance(value, np.ndarray) else value.float().numpy()
    return array


def _words(tensor: Any) -> Any:
    import torch

    return tensor.view(torch.int16).numpy()


def _type(name: str) -> str:
    dtype = _DTYPES.get(name) or _ALIASES.get(name, name)
    if dtype not in _SHORT_NAMES:
        raise CallError(
            "kernel-arguments",
            f"no array has type {name!r}: {', '.join(_DTYPES)}",
            hint=did_you_mean(name, _DTYPES),
        )
    return dtype


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text))


def _loaded(path: str) -> np.ndarray[Any, Any]:
    try:
        array: np.ndarray[Any, Any] = np.load(path)
    except ValueError as error:
        raise CallError("kernel-arguments", f"{path} is no .npy file: {error}") from None
    return array


def _filled(how: str, dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    count = int(np.prod(shape, dtype=np.int64))
    if how == "zeros":
        numbers: np.ndarray[Any, Any] = np.zeros(count)
    elif how == "arange":
        numbers = np.arange(count)
    elif how.endswith(".npy"):
        numbers = _loaded(how)
        if numbers.size != count:
            raise CallError(
                "kernel-arguments", f"{how} has shape {numbers.shape}, which is not {shape}"
            )
    elif "float" in dtype:
        numbers = np.random.default_rng(seed).uniform(-1.0, 1.0, count)
    else:
        low = 0 if dtype.startswith("u") else -8
        numbers = np.random.default_rng(seed).integers(low, 8, count)
    numbers = numbers.reshape(shape)
    if dtype == "bfloat16":
        import torch

        return torch.from_numpy(numbers.astype(np.float32)).to(torch.bfloat16)
    return numbers.astype(dtype)
