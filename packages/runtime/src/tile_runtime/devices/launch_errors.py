"""Errors of CANN's runtime library when a kernel is queued, by its codes: what they mean, and what
to do. Source: `acl/error_codes/rt_error_codes.h` of CANN 8.1.

Not here: how they are fetched, which is the launcher's (launcher/library.h).
"""

from __future__ import annotations

from tile_ir import BuildError, Func

_EARLIER = (
    "an earlier kernel failed on the device, which is told at the next call: run all of them with "
    "TILE_TARGET=sim TILE_CHECK=strict, which names the line"
)
_MEMORY = "free tensors, or call torch.npu.empty_cache()"
_CAPTURED = "capture on one stream, and call the kernel once before the capture"
_KNOWN: dict[int, tuple[str, str | None]] = {
    107000: ("a parameter is invalid", None),
    107001: ("there is no such device", "torch.npu.device_count() tells how many there are"),
    107002: ("the thread has no device", "call torch.npu.set_device(0) in this thread first"),
    107003: ("the stream is one of another device", "give a stream of the tensors' device"),
    107022: ("the device is aborting its work", _EARLIER),
    107023: ("the stream is aborting", _EARLIER),
    107024: ("the captured stream depends on one that is not captured", _CAPTURED),
    107027: ("the stream is captured", _CAPTURED),
    107030: ("what is asked for can not be captured", _CAPTURED),
    207001: ("memory can not be allocated", _MEMORY),
    207004: ("there is no device", "`npu-smi info` lists those the driver sees"),
    207018: ("the device is out of memory", _MEMORY),
    507008: ("the kernel is for another chip", "set TILE_SOC to the chip that npu-smi shows"),
    507014: ("a core did not end in time", _EARLIER),
    507015: ("a core met an exception", _EARLIER),
    507016: ("a core was trapped", _EARLIER),
    507034: ("a vector core did not end in time", _EARLIER),
    507035: ("a vector core met an exception", _EARLIER),
    507036: ("a vector core was trapped", _EARLIER),
    507048: ("cores waited for each other too long", _EARLIER),
}


def launch_error(code: str, told: str, func: Func) -> BuildError:
    """Return the error at the kernel for an error code and a message of the library."""
    known = _KNOWN.get(int(code)) if code.isdigit() else None
    words, hint = known or ("", None)
    said = "; ".join(part for part in (words, told.strip()) if part)
    return BuildError(
        "npu-launch",
        f"the runtime of the NPU refused kernel `{func.name}`: error {code}"
        f"{f', {said}' if said else ''}",
        func.loc,
        hint or f"look up {code} in acl/error_codes/rt_error_codes.h of CANN",
        sources=func.sources,
    )
