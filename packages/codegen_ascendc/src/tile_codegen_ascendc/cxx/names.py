"""C++ identifiers for IR names: keywords, our own words and `call` get a trailing underscore, and
so do those that had one already, so that different names stay different."""

from __future__ import annotations

import re
from functools import lru_cache

# C++17, tables 5 and 6 of [lex.key]: keywords and alternative tokens.
_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t class compl const const_cast constexpr continue decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int
    long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public register reinterpret_cast return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Types of the device language and the names the emitted text itself declares. `call` is the entry
# symbol: an ahead-of-time build renames it over the whole text, so it must not occur anywhere else
# (docs/language/index.md#emitted-source).
_OUR_WORDS = """
    half bfloat16_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t call
    main tile AscendC pipe ub l1 l0a l0b l0c bt fftsAddr blocks stream block_idx T1 T2 printf
    ascendc_assert
"""
RESERVED = frozenset((_KEYWORDS + _OUR_WORDS).split())
# What the emitted text adds to the name of a parameter, for what it is before its conversion.
HANDLE, GIVEN = "_handle", "_given"
# And to that of a loop variable, for a bound that is read once, before the loop.
STOP = "_stop"
ENDS = (HANDLE, GIVEN, STOP)


# Of few names and files, at every line.
@lru_cache(maxsize=4096)
def cxx_name(name: str) -> str:
    """The identifier for an IR name."""
    word = name.rstrip("_")
    return f"{name}_" if word in RESERVED or word.endswith(ENDS) else name


# What ends a line, and what joins a comment with the next one.
_LEAVES_LINE = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]|\\$")


@lru_cache(maxsize=4096)
def without_entry_word(text: str) -> str:
    """Free text (a comment, a path) in which the entry symbol is spelt so that it is no word. It
    stays in its line: a name of a file may hold anything."""
    return _LEAVES_LINE.sub("?", re.sub(r"\bcall\b", "c_all", text))


def string_literal(text: str) -> str:
    """A C++ string; the entry symbol is split in two adjacent literals."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    body = "".join(escapes.get(c, c) for c in text)
    return '"' + re.sub(r"\bcall\b", 'ca" "ll', body) + '"'
