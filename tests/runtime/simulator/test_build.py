"""The builder: cache, missing compiler, and readable failures."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_set import builder


def test_the_second_build_is_a_lookup() -> None:
    first = builder().build_simulator()
    stamp = first.stat().st_mtime_ns
    assert builder().build_simulator() == first
    assert first.stat().st_mtime_ns == stamp
    assert first.name == "libtile_simulator.so"


def test_variants_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    targets: list[Path] = []

    def pretend(*arguments: object) -> None:
        target = arguments[-2]  # the last one tells how far it is
        assert isinstance(target, Path)
        targets.append(target)
        target.write_bytes(b"")

    monkeypatch.setattr(builder(), "_compile_and_link", pretend)
    plain = builder().build_simulator(tmp_path)
    assert builder().build_simulator(tmp_path) == plain
    sanitized = builder().build_simulator(tmp_path, sanitize=True)
    assert targets == [plain, sanitized]
    assert plain.parent != sanitized.parent


def test_a_missing_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("TILE_CXX", raising=False)
    with pytest.raises(builder().CompilerMissing, match=r"apt-get install g\+\+"):
        builder().find_compiler()
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(builder().CompilerMissing, match="no-such-compiler"):
        builder().find_compiler()


def test_the_cache_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path))
    assert builder().default_cache_dir() == tmp_path


def test_a_compile_error_shows_the_compiler_output(tmp_path: Path) -> None:
    source = tmp_path / "broken.cpp"
    source.write_text("int broken = ;\n")
    target = tmp_path / "out" / "libbroken.so"
    target.parent.mkdir()
    compiler, progress = builder().find_compiler(), builder()._BuildProgress("host", 1)
    with pytest.raises(builder().SimulatorBuildError, match="broken.cpp:1"):
        builder()._compile_and_link(compiler, [source], ["-fPIC"], [], target, progress)
    assert not target.exists()
