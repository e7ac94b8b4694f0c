"""Frames between children and their owner: a JSON object, then bytes that it describes."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any

Message = dict[str, Any]
_HEAD = struct.Struct("<QQ")
_SURROGATE = rb"\ud"
# Of the JSON part; it holds no arrays.
_MOST_JSON = 64 << 20
# What says that it has more bytes is no frame at all.
_MOST_MEANT = 1 << 48


class FrameError(Exception):
    """The bytes that arrive are no frame."""


class FrameTooLarge(FrameError):
    """A frame has more bytes than allowed."""


def write_frame(descriptor: int, message: Message, data: bytes = b"") -> None:
    """Write one frame, whole."""
    text = json.dumps(message).encode()
    rest = memoryview(_HEAD.pack(len(text), len(data)) + text + data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def read_frame(descriptor: int, deadline: float, most: int) -> tuple[Message, bytes, int] | None:
    """Read the next frame, with its size; None at the end of the stream.

    Raises TimeoutError at the deadline, a value of `time.monotonic`, FrameTooLarge for more than
    `most` bytes, and FrameError for what is no frame.
    """
    head = _read(descriptor, _HEAD.size, deadline)
    if not head:
        return None
    text_size, data_size = _HEAD.unpack(head)
    if max(text_size, data_size) > _MOST_MEANT:
        raise FrameError("an answer that is no frame")
    if text_size > _MOST_JSON or text_size + data_size > most:
        raise FrameTooLarge
    text = _read(descriptor, text_size, deadline)
    data = _read(descriptor, data_size, deadline)
    try:
        message = json.loads(text, parse_constant=_refuse_constant)
        if _SURROGATE in text.lower():  # half a character, which no output can write
            whole = json.dumps(message, ensure_ascii=False).encode(errors="replace")
            message = json.loads(whole)
    except (ValueError, RecursionError):
        raise FrameError("an answer that is no JSON") from None
    if not isinstance(message, dict):
        raise FrameError("an answer that is no object")
    return message, data, _HEAD.size + text_size + data_size


def _refuse_constant(name: str) -> None:
    """NaN and infinities are no JSON, which answers of these values are part of."""
    raise ValueError(f"{name} is no number")


def _read(descriptor: int, count: int, deadline: float) -> bytes:
    """So many bytes; none at the end of the stream. FrameError if it ends in between."""
    parts: list[bytes] = []
    left = count
    while left:
        seconds = deadline - time.monotonic()
        ready = select.select([descriptor], [], [], max(seconds, 0))[0]
        if not ready:
            raise TimeoutError
        try:
            part = os.read(descriptor, min(left, 1 << 20))
        except ConnectionResetError:
            part = b""
        if not part:
            if parts:
                raise FrameError("an answer that breaks off")
            return b""
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
