"""Names of a user that C++ keeps for itself; the C++ compiler is the judge."""

from __future__ import annotations

import subprocess

import pytest

from tile_codegen_ascendc.cxx.names import GIVEN, HANDLE, STOP, cxx_name, without_entry_word

# Valid Python identifiers; C++17 makes keywords or alternative tokens of them.
WORDS = """
    alignas alignof and_eq asm auto bitand bitor bool case catch char char16_t char32_t compl const
    const_cast constexpr decltype default delete do double dynamic_cast enum explicit export extern
    float friend goto inline int long mutable namespace new noexcept not_eq nullptr operator or_eq
    private protected public register reinterpret_cast short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw typedef typeid typename union
    unsigned using virtual void volatile wchar_t xor xor_eq
"""


def test_every_cxx_word_is_a_usable_name() -> None:
    declarations = "".join(f"int {cxx_name(word)};\n" for word in WORDS.split())
    built = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", "-xc++", "-"],
        input=declarations,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr


def test_different_names_stay_different() -> None:
    names = [
        "int",
        "int_",
        "int__",
        "x",
        "x_",
        "x_handle",
        "x_handle_",
        "x_given",
        "x_stop",
        "call",
        "call_",
    ]
    parameters = [f"{name}{end}" for name in names for end in (HANDLE, GIVEN, STOP)]
    assert len({*map(cxx_name, names), *parameters}) == len(names) + len(parameters)


@pytest.mark.parametrize("end", ["\n", "\r", "\v", "\u2028", "\\"])
def test_free_text_stays_in_its_comment(end: str) -> None:
    """A name of a file may hold what would end a comment, or join it with the next line."""
    assert without_entry_word(f"call{end}") == "c_all?"
