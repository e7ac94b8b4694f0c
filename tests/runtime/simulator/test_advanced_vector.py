"""The vector operations of the vendor's high-level API that tile compilers call, against NumPy: Clamp,
Round, Sigmoid, Silu, Sin, Cos, Xor, Arange, Broadcast and reductions along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet
from vector_kernels import PRELUDE, add, numbers

KERNELS = KernelSet(PRELUDE)
STRICT = 2
TYPES: dict[str, Any] = {"half": np.float16, "float": np.float32}
# With the temporary space of the kernel, and with what is behind its buffers.
SPACES = {"given": "temp, ", "free": ""}

for _type in TYPES:
    _types = f"{_type}, {_type}, {_type}"
    for _space, _temp in SPACES.items():
        for _name in ("ClampMax", "ClampMin"):
            add(
                KERNELS,
                f"{_name}_{_type}_{_space}",
                _types,
                f"{_name}<{_type}>(dst, src0, {_temp}({_type})1.5f, count);",
                "uint32_t count",
            )
        for _name in ("Sigmoid", "Round", "Sin", "Cos"):
            add(
                KERNELS,
                f"{_name}_{_type}_{_space}",
                _types,
                f"{_name}(dst, src0, {_temp}count);",
                "uint32_t count",
            )
        for _axis in (0, 1):
            add(
                KERNELS,
                f"Broadcast_{_axis}_{_type}_{_space}",
                _types,
                "uint32_t to[] = {rows, columns}, from[] = {src_rows, src_columns}; "
                f"Broadcast<{_type}, 2, {_axis}>(dst, src0, to, from{_temp and ', temp'});",
                "uint32_t rows, uint32_t columns, uint32_t src_rows, uint32_t src_columns",
            )
        for _op in ("Sum", "Max", "Min"):
            if _op == "Sum" and _type == "half":
                continue
            for _pattern in ("AR", "RA"):
                for _reuse in ("false", "true"):
                    add(
                        KERNELS,
                        f"{_op}_{_pattern}_{_type}_{_space}_{_reuse}",
                        _types,
                        "uint32_t shape[] = {rows, columns}; "
                        f"Reduce{_op}<{_type}, AscendC::Pattern::Reduce::{_pattern}, {_reuse}>"
                        f"(dst, src0, {_temp}shape, true);",
                        "uint32_t rows, uint32_t columns",
                    )
    add(KERNELS, f"Silu_{_type}", _types, "Silu(dst, src0, count);", "uint32_t count")
add(KERNELS, "Sin_reused", "float, float, float", "Sin<float, true>(dst, src0, temp);")
add(KERNELS, "Sigmoid_all", "float, float, float", "Sigmoid(dst, src0, temp);")
for _type in ("int16_t", "uint16_t"):
    _types = f"{_type}, {_type}, {_type}"
    add(KERNELS, f"Xor_{_type}", _types, "Xor(dst, src0, src1, temp, count);", "uint32_t count")
    add(KERNELS, f"Xor_all_{_type}", _types, "Xor(dst, src0, src1);")
for _type in ("int8_t", "uint8_t"):
    for _axis in (0, 1):
        add(
            KERNELS,
            f"Broadcast_{_axis}_{_type}",
            f"{_type}, {_type}, {_type}",
            "uint32_t to[] = {rows, columns}, from[] = {src_rows, src_columns}; "
            f"Broadcast<{_type}, 2, {_axis}>(dst, src0, to, from, temp);",
            "uint32_t rows, uint32_t columns, uint32_t src_rows, uint32_t src_columns",
        )
for _type in ("int16_t", "int32_t", "half", "float"):
    for _name in ("Arange", "ArithProgression"):
        add(
            KERNELS,
            f"{_name}_{_type}",
            f"{_type}, {_type}, {_type}",
            f"{_name}<{_type}>(dst, ({_type})first, ({_type})step, count);",
            "float first, float step, int32_t count",
        )
add(
    KERNELS,
    "Small_space",
    "float, float, float",
    "uint32_t shape[] = {8, 640}; temp.SetSize(1024); "
    "ReduceSum<float, Pattern::Reduce::AR>(dst, src0, temp, shape, true);",
)
add(
    KERNELS,
    "Rows_without_padding",
    "float, float, float",
    "uint32_t shape[] = {8, 9}; "
    "ReduceMax<float, Pattern::Reduce::RA>(dst, src0, temp, shape, false);",
)
add(
    KERNELS,
    "Array_temporaries",
    "half, half, half",
    "half kept[16]; LocalTensor<half> tensors[2] = {dst, src0}; "
    "for (int i = 0; i < 16; ++i) { kept[i] = tensors[1].GetValue(i); } "
    "for (int i = 0; i < 16; ++i) { tensors[0].SetValue(i, kept[15 - i]); }",
)


def run(name: str, dst: Any, src0: Any, src1: Any, *scalars: Any) -> Any:
    """What the kernel leaves in dst."""
    out = dst.copy()
    KERNELS.run(name, out, src0, src1, *scalars, checks=STRICT)
    return out


def arrays(dtype: Any, seed: int = 1) -> tuple[Any, Any, Any]:
    return numbers(dtype, seed), numbers(dtype, seed + 1), numbers(dtype, seed + 2)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("count", [16, 100, 5000])
def test_element_by_element(type_: str, space: str, count: int) -> None:
    dst, x, other = arrays(TYPES[type_])
    with np.errstate(over="ignore"):
        sigmoid = 1 / (1 + np.exp(-x.astype(np.float64)))
    limit = TYPES[type_](1.5)
    for name, want, tolerance in (
        ("ClampMax", np.minimum(x, limit), 0),
        ("ClampMin", np.maximum(x, limit), 0),
        ("Round", np.rint(x), 0),
        ("Sigmoid", sigmoid, 2e-3 if type_ == "half" else 1e-6),
    ):
        got = run(f"{name}_{type_}_{space}", dst, x, other, count)
        np.testing.assert_allclose(got[:count], want[:count], rtol=tolerance, err_msg=name)
        assert np.array_equal(got[count:], dst[count:]), name


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", ["Sin", "Cos"])
def test_waves(name: str, type_: str, space: str) -> None:
    dst, x, other = arrays(TYPES[type_])
    x[:4000] *= TYPES[type_](100)
    got = run(f"{name}_{type_}_{space}", dst, x, other, 5000)
    want = {"Sin": np.sin, "Cos": np.cos}[name](x.astype(np.float64))
    np.testing.assert_allclose(got[:5000], want[:5000], atol=1e-3 if type_ == "half" else 1e-6)
    assert np.array_equal(got[5000:], dst[5000:])


def test_waves_that_may_overwrite_their_source() -> None:
    dst, x, other = arrays(np.float32)
    np.testing.assert_allclose(run("Sin_reused", dst, x.copy(), other), np.sin(x), atol=1e-6)


@pytest.mark.parametrize("type_", TYPES)
def test_silu(type_: str) -> None:
    dst, x, other = arrays(TYPES[type_])
    want = x / (1 + np.exp(-x.astype(np.float64)))
    got = run(f"Silu_{type_}", dst, x, other, 777)
    np.testing.assert_allclose(got[:777], want[:777], rtol=3e-3 if type_ == "half" else 1e-6)
    assert np.array_equal(got[777:], dst[777:])


def test_without_a_count_all_elements_take_part() -> None:
    dst, x, other = arrays(np.float32)
    np.testing.assert_allclose(run("Sigmoid_all", dst, x, other), 1 / (1 + np.exp(-x)), rtol=1e-6)


@pytest.mark.parametrize("type_", ["int16_t", "uint16_t"])
def test_xor(type_: str) -> None:
    dst, x, y = arrays(np.dtype(type_.removesuffix("_t")))
    got = run(f"Xor_{type_}", dst, x, y, 9000)
    assert np.array_equal(got[:9000], (x ^ y)[:9000]) and np.array_equal(got[9000:], dst[9000:])
    assert np.array_equal(run(f"Xor_all_{type_}", dst, x, y), x ^ y)


@pytest.mark.parametrize("name", ["Arange", "ArithProgression"])
@pytest.mark.parametrize("type_", ["int16_t", "int32_t", "half", "float"])
@pytest.mark.parametrize("count", [3, 8, 40, 128, 1000])
def test_progression(type_: str, name: str, count: int) -> None:
    dtype = TYPES[type_] if type_ in TYPES else np.dtype(type_.removesuffix("_t"))
    dst, other, _ = arrays(dtype)
    got = run(f"{name}_{type_}", dst, other, other, 5.0, 2.0, count)
    assert np.array_equal(got[:count], (5 + 2 * np.arange(count)).astype(dtype))
    whole = -(-count // (32 // dst.itemsize)) * (32 // dst.itemsize)
    assert np.array_equal(got[whole:], dst[whole:])


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    ("axis", "to", "of"),
    [
        (1, (40, 64), (40, 1)),
        (1, (30, 200), (30, 1)),
        (1, (300, 16), (300, 1)),
        (1, (37, 21), (37, 1)),
        (0, (9, 48), (1, 48)),
        (0, (9, 48), (1, 1)),
        (1, (3, 48), (3, 48)),
    ],
)
def test_broadcast(
    type_: str, space: str, axis: int, to: tuple[int, int], of: tuple[int, int]
) -> None:
    dst, x, other = arrays(TYPES[type_])
    got = run(f"Broadcast_{axis}_{type_}_{space}", dst, x, other, *to, *of)
    want = np.broadcast_to(x[: of[0] * of[1]].reshape(of), to)
    count = to[0] * to[1]
    assert np.array_equal(got[:count].reshape(to), want)
    assert np.array_equal(got[count:], dst[count:])


@pytest.mark.parametrize("type_", ["int8_t", "uint8_t"])
@pytest.mark.parametrize(
    ("axis", "to", "of"),
    [(1, (40, 64), (40, 1)), (1, (37, 21), (37, 1)), (0, (9, 48), (1, 48)), (0, (9, 48), (1, 1))],
)
def test_broadcast_of_bytes(
    type_: str, axis: int, to: tuple[int, int], of: tuple[int, int]
) -> None:
    dst, x, other = arrays(np.dtype(type_.removesuffix("_t")))
    got = run(f"Broadcast_{axis}_{type_}", dst, x, other, *to, *of)
    want, count = np.broadcast_to(x[: of[0] * of[1]].reshape(of), to), to[0] * to[1]
    assert np.array_equal(got[:count].reshape(to), want)
    assert np.array_equal(got[count:], dst[count:])


@pytest.mark.parametrize("reuse", ["false", "true"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("op", "type_"), [("Sum", "float"), *((op, t) for op in ("Max", "Min") for t in TYPES)]
)
@pytest.mark.parametrize("shape", [(2, 8), (5, 5), (7, 64), (20, 100), (3, 2048), (1, 300), (6, 9)])
def test_reductions_along_an_axis(
    shape: tuple[int, int], op: str, type_: str, space: str, reuse: str
) -> None:
    dst, x, other = arrays(TYPES[type_])
    rows, columns = shape
    pitch = -(-columns // (32 // x.itemsize)) * (32 // x.itemsize)
    matrix = x[: rows * pitch].reshape(rows, pitch)[:, :columns]
    reduced = {"Sum": np.sum, "Max": np.max, "Min": np.min}[op]
    for pattern, axis in (("AR", 1), ("RA", 0)):
        want = reduced(matrix.astype(np.float64), axis=axis)
        got = run(f"{op}_{pattern}_{type_}_{space}_{reuse}", dst, x.copy(), other, *shape)
        np.testing.assert_allclose(
            got[: want.size], want, rtol=1e-5 if op == "Sum" else 0, atol=1e-5, err_msg=pattern
        )
        assert np.array_equal(got[want.size :], dst[want.size :]), pattern


def test_too_small_a_space_is_told() -> None:
    fault = KERNELS.fault("Small_space", *arrays(np.float32))
    assert fault.kind == "bad-argument"
    assert "the temporary space has 1024 bytes, of which 16384 are needed" in fault.text


def test_rows_begin_on_whole_blocks() -> None:
    fault = KERNELS.fault("Rows_without_padding", *arrays(np.float32))
    assert fault.kind == "bad-argument" and "srcInnerPad is false" in fault.text


def test_arrays_of_numbers_and_tensors() -> None:
    dst, x, other = arrays(np.float16)
    assert np.array_equal(run("Array_temporaries", dst, x, other)[:16], x[15::-1])
