"""Bytecode of templates is kept for other processes, and never stands for another text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from tile_codegen_ascendc.template_bytecode import TemplateBytecode


class Compiling(Environment):
    """Counts what it compiles."""

    compiled = 0

    def _compile(self, source: str, filename: str) -> object:  # as jinja2 lets one extend it
        Compiling.compiled += 1
        return super()._compile(source, filename)


@pytest.fixture
def rendered(tmp_path, monkeypatch):
    """What a new environment makes of a text, and whether it compiled that."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept = tmp_path / "kept"
    kept.mkdir()

    def render(text: str, **settings: bool) -> tuple[str, bool]:
        (tmp_path / "a.jinja").write_text(text)
        cache = TemplateBytecode(settings)
        cache.directory = str(kept)
        loader = FileSystemLoader(tmp_path)
        before = Compiling.compiled
        made = Compiling(loader=loader, bytecode_cache=cache, **settings).get_template("a.jinja")
        return made.render(x=1), Compiling.compiled > before

    return render


def test_a_text_is_compiled_once(rendered):
    assert rendered("{{ x }}\n.") == ("1\n.", True)
    assert rendered("{{ x }}\n.") == ("1\n.", False)


def test_another_text_or_setting_is_another(rendered):
    text = "{% if x %}\n{{ x }}\n{% endif %}"
    assert rendered(text) == ("\n1\n", True)
    assert rendered(text, trim_blocks=True) == ("1\n", True)
    assert rendered(text) == ("\n1\n", False)
    assert rendered("{{ x + 1 }}") == ("2", True)


def test_without_room_it_is_compiled_every_time(rendered, tmp_path: Path):
    (tmp_path / "kept").rmdir()
    assert rendered("{{ x }}") == ("1", True)
    assert rendered("{{ x }}") == ("1", True)


def test_nothing_is_kept_where_python_keeps_nothing(rendered, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered("{{ x }}") == ("1", True)
    assert not list((tmp_path / "kept").iterdir())
