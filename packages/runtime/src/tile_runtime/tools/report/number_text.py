"""Numbers as they stand on the page."""

from __future__ import annotations

_LARGE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def short(value: float) -> str:
    """Three digits, with a letter for thousands and up: 1234567 is 1.23M."""
    return "".join(_scaled(value))


def microseconds(time: float) -> str:
    """Two decimals; three digits for times below 0.1 µs."""
    return f"{time:.2f} µs" if time >= 0.1 or time == 0 else f"{time:.3g} µs"


def rate(value: float, unit: str) -> str:
    """Three digits and a unit with its prefix: 1.3e14 FLOP/s are 130 TFLOP/s."""
    digits, letter = _scaled(value)
    return f"{digits} {letter}{unit}"


def binary(size: float) -> str:
    """Bytes in KiB and MiB."""
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= limit:
            return f"{size / limit:.4g} {unit}"
    return f"{size:.0f} bytes"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 else "none"


def cut(text: str, longest: int) -> str:
    """The text, with an ellipsis in place of the letters beyond `longest`."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _scaled(value: float) -> tuple[str, str]:
    """Three digits, and the letter of the unit they count."""
    for size, letter in _LARGE:
        if abs(value) >= size:
            return _three(value / size), letter
    return _three(value), ""


def _three(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"
