"""Manifests from anyone: read, or refused with a place; paths stay inside the folder."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from kept_cases import kept_number

from tile_ir import BuildError
from tile_runtime.ahead_of_time.read_manifest import KnownVariant, read_manifest


def manifest(**variant: Any) -> dict[str, Any]:
    told = {
        "variant_key": "k",
        "cache_key": "c",
        "generated_source": "k/k.cpp",
        "generated_source_sha256": "s",
        "compiled_binary": "k/k.o",
        "compiled_binary_sha256": "b",
        "entry_symbol": "e",
        "dispatch_values": {"n": 1, "dtype": "fp32"},
        "toolchain_options": {"device": "a2"},
    }
    fields = [{"name": "dtype", "kind": "dtype"}, {"name": "n", "kind": "int32"}]
    abi = {"return_type": "void", "parameters": [{"cpp_type": "int", "name": "n"}]}
    return {
        "schema_version": 2, "target": "sim", "kernel_name": "add", "registry_inc": "r.inc",
        "dispatch_schema": fields, "kernel_abi": abi, "variants": [{**told, **variant}],
    }  # fmt: skip


def known_variants(path: Path) -> dict[str, KnownVariant]:
    return {v.variant_key: v for v in read_manifest(path).variants}


def refused(folder: Path, text: str | bytes) -> str:
    path = folder / "manifest.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(BuildError) as caught:
        known_variants(path)
    assert caught.value.loc is not None
    assert caught.value.loc.file == str(path)
    return caught.value.message


def test_files_with_their_hashes(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(manifest()))
    found = known_variants(path)["k"]
    assert found.files == {tmp_path / "k/k.cpp": "s", tmp_path / "k/k.o": "b"}
    assert found.values == ("fp32", 1), "in the order of the schema"
    told = read_manifest(path)
    assert (told.kernel, told.target, told.abi.types()) == ("add", "sim", "int n")
    assert told.registry == tmp_path / "r.inc"
    path.write_text(json.dumps(manifest(compiled_binary="")))
    assert list(known_variants(path)["k"].files) == [tmp_path / "k/k.cpp"]


@pytest.mark.parametrize(
    "place",
    ["../k.o", "/etc/passwd", "a/../../k.o", "a\\..\\k.o", "k\0.o", "link/k.o"],
)
def test_paths_that_lead_out(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    for name in ("generated_source", "compiled_binary"):
        text = json.dumps(manifest(**{name: place}))
        assert "leads out of its folder" in refused(folder, text)
    assert "leads out" in refused(folder, json.dumps(manifest(generated_source="")))
    assert "leads out" in refused(folder, json.dumps({**manifest(), "registry_inc": place}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Expecting value"),
        ("[]", "schema_version 2"),
        ('{"schema_version": 1}', "schema_version 2"),
        ('{"schema_version": 2}', "no list of dispatch_schema"),
        (json.dumps({**manifest(), "variants": None}), "no list of variants"),
        (json.dumps({**manifest(), "variants": [3]}), "variants[0] is no object"),
        (json.dumps({**manifest(), "kernel_abi": {}}), "no list of kernel_abi.parameters"),
        (json.dumps(manifest(generated_source=3)), "variants[0].generated_source is no text"),
        (json.dumps(manifest(dispatch_values={"dtype": "fp32"})), "dispatch_values.n is neither"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "no UTF-8 text at byte 0"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, text: str | bytes, told: str) -> None:
    assert told in refused(tmp_path, text)


def test_a_variant_twice(tmp_path: Path) -> None:
    twice = manifest()
    twice["variants"] *= 2
    assert "lists variant 'k' twice" in refused(tmp_path, json.dumps(twice))


def test_mutants(tmp_path: Path) -> None:
    """Whatever became of a manifest, it is read or refused."""
    rng = random.Random(0)
    text = json.dumps(manifest(), indent=1).encode()
    path = tmp_path / "manifest.json"
    for _ in range(kept_number(2000)):
        changed = bytearray(text)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(changed))
            match rng.randrange(4):
                case 0:
                    changed[at] = rng.randrange(256)
                case 1:
                    del changed[at : at + rng.randint(1, 20)]
                case 2:
                    changed[at:at] = rng.choice([b"{", b"]", b'"', b"..", b"null", b"1e999", b"/"])
                case 3:
                    other = rng.randrange(len(changed))
                    changed[at:at] = changed[other : other + 15]
        path.write_bytes(bytes(changed))
        try:
            known = known_variants(path)
        except BuildError as error:
            assert error.loc is not None
            continue
        for variant in known.values():
            assert all(p.resolve().is_relative_to(tmp_path) for p in variant.files)
