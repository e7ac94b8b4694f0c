"""Seeded small mistakes in C++ source text: what a tired person or a bad tool would write."""

from __future__ import annotations

import random
import re

from tile_runtime.source_kernels.cxx_text import Token, tokens_of

_NUMBERS = (
    "0", "1", "-1", "7", "16", "31", "255", "256", "4095", "65535", "65536", "-32768",
    "2147483647", "-2147483648", "4294967295u", "4294967296", "0x7fffffffffffffff",
    "0xffffffffffffffffull", "1e30f",
)  # fmt: skip
_OPERATORS = {
    "+": "-*", "-": "+", "*": "+/", "/": "*%", "%": "/", "<": ">", ">": "<", "=": "=",
}  # fmt: skip
_SYNC = (
    "SetFlag", "WaitFlag", "PipeBarrier", "CrossCoreSetFlag", "CrossCoreWaitFlag", "SyncAll", "IBSet",
    "IBWait", "WaitPreBlock", "NotifyNextBlock", "Arrive", "Wait", "DataSyncBarrier", "Reset",
    "DataCacheCleanAndInvalid",
)  # fmt: skip
_EVENTS = (
    "MTE2_V", "V_MTE2", "MTE3_V", "V_MTE3", "V_S", "S_V", "MTE2_MTE1", "MTE1_MTE2", "MTE1_M",
    "M_MTE1", "M_FIX", "FIX_M", "MTE3_MTE2", "MTE2_MTE3", "S_MTE2", "MTE2_S", "V_V", "FIX_MTE2",
)  # fmt: skip
_ENUMS = {
    "HardEvent": _EVENTS,
    "TPosition": ("VECIN", "VECOUT", "VECCALC", "A1", "B1", "C1", "A2", "B2", "C2", "CO1", "GM"),
    "RoundMode": ("CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_ODD", "CAST_TRUNC"),
    "CMPMODE": ("LT", "GT", "EQ", "LE", "GE", "NE"),
    "QuantMode_t": ("NoQuant", "F322F16", "F322BF16", "QF322B8_PRE", "REQ8"),
}
_PIPES = (
    "PIPE_S",
    "PIPE_V",
    "PIPE_M",
    "PIPE_MTE1",
    "PIPE_MTE2",
    "PIPE_MTE3",
    "PIPE_FIX",
    "PIPE_ALL",
)
_KERNEL_TYPES = tuple(
    f"KERNEL_TYPE_{k}"
    for k in ("AIV_ONLY", "AIC_ONLY", "MIX_AIV_1_0", "MIX_AIC_1_0", "MIX_AIC_1_1", "MIX_AIC_1_2")
)
_TYPES = ("half", "float", "int32_t", "uint8_t", "int16_t", "bfloat16_t", "uint64_t")
_TAKEN_AS_TYPES = frozenset(_TYPES)


def mutate(text: str, generator: random.Random) -> str:
    """The text with one to three mistakes."""
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        for _ in range(20):
            changed = generator.choice(_MUTATIONS)(text, tokens_of(text), generator)
            if changed is not None and changed != text:
                text = changed
                break
    return text


def _statements(tokens: list[Token]) -> list[tuple[int, int]]:
    """Character ranges of statements inside function bodies, up to their semicolon."""
    found, depth, parentheses, begin = [], 0, 0, None
    for token in tokens:
        if token.text in "{}":
            depth += 1 if token.text == "{" else -1
            begin = None if parentheses == 0 else begin
        elif token.text in "()":
            parentheses += 1 if token.text == "(" else -1
            begin = token.start if begin is None else begin
        elif token.text == ";" and parentheses == 0:
            if begin is not None and depth > 0:
                found.append((begin, token.start + 1))
            begin = None
        elif begin is None:
            begin = token.start
    return found


def _delete(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    places = _statements(tokens)
    if not places:
        return None
    begin, end = generator.choice(places)
    return text[:begin] + ";" + text[end:]


def _delete_sync(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    places = [(b, e) for b, e in _statements(tokens) if any(s in text[b:e] for s in _SYNC)]
    if not places:
        return None
    begin, end = generator.choice(places)
    return text[:begin] + ";" + text[end:]


def _duplicate(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    places = _statements(tokens)
    if not places:
        return None
    begin, end = generator.choice(places)
    return text[:end] + " " + text[begin:end] + text[end:]


def _exchange(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    places = _statements(tokens)
    if len(places) < 2:
        return None
    i = generator.randrange(len(places) - 1)
    (b0, e0), (b1, e1) = places[i], places[i + 1]
    return text[:b0] + text[b1:e1] + text[e0:b1] + text[b0:e0] + text[e1:]


def _number(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    numbers = [t for t in tokens if t.text[0].isdigit()]
    if not numbers:
        return None
    chosen = generator.choice(numbers)
    plain = re.fullmatch(r"\d+", chosen.text)
    near = [str(int(chosen.text) + d) for d in (-1, 1)] if plain else ["0"]
    twice = [str(int(chosen.text) * 2)] if plain else []
    new = generator.choice([*near, *near, *twice, *_NUMBERS])
    return _replaced(text, chosen, new)


def _operator(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    signs = [t for t in tokens if t.text in _OPERATORS]
    if not signs:
        return None
    chosen = generator.choice(signs)
    return _replaced(text, chosen, generator.choice(_OPERATORS[chosen.text]))


def _loop_bound(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    loops = [m for m in re.finditer(r"for \([^;]*;([^;]*);([^)]*)\)", text)]
    if not loops:
        return None
    loop = generator.choice(loops)
    if generator.random() < 0.3:  # the counter stands still or runs away
        step = generator.choice(["", "--", "+= 1000000"])
        variable = re.search(r"\w+", loop[2].replace("++", ""))
        name = variable[0] if variable else ""
        return text[: loop.start(2)] + f" {name} {step}" + text[loop.end(2) :]
    bound = generator.choice(["true", "false", loop[1].replace("<", "<="), loop[1] + " * 3 + 1"])
    return text[: loop.start(1)] + f" {bound}" + text[loop.end(1) :]


def _identifier(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    """A name where another stands, among lower-case ones: variables, mostly."""
    names = [t for t in tokens if re.fullmatch(r"[a-z]\w*", t.text)]
    if len(names) < 2:
        return None
    chosen = generator.choice(names)
    near = [t.text for t in names if abs(t.start - chosen.start) < 400]
    return _replaced(text, chosen, generator.choice(near))


def _enumerator(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    places = []
    for before, colons, token in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if colons.text == "::" and before.text in _ENUMS:
            places.append((token, _ENUMS[before.text]))
    places += [(t, _PIPES) for t in tokens if t.text in _PIPES]
    places += [(t, _KERNEL_TYPES) for t in tokens if t.text in _KERNEL_TYPES]
    if not places:
        return None
    chosen, words = generator.choice(places)
    return _replaced(text, chosen, generator.choice(words))


def _type(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    types = [t for t in tokens if t.text in _TAKEN_AS_TYPES]
    return _replaced(text, generator.choice(types), generator.choice(_TYPES)) if types else None


def _condition(text: str, tokens: list[Token], generator: random.Random) -> str | None:
    conditions = [t for t in tokens if t.text == "if"]
    if not conditions:
        return None
    chosen = generator.choice(conditions)
    return _replaced(text, chosen, generator.choice(["if (false) ; else if", "while"]))


def _replaced(text: str, token: Token, new: str) -> str:
    return text[: token.start] + new + text[token.start + len(token.text) :]


_MUTATIONS = (
    _delete, _delete_sync, _delete_sync, _duplicate, _exchange, _number, _number, _number, _number,
    _operator, _loop_bound, _identifier, _identifier, _enumerator, _enumerator, _type, _condition,
)  # fmt: skip
