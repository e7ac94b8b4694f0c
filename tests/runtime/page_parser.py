"""What a test reads from a report: elements with their attributes and text, and the columns."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np

_VOID = {"meta", "link", "br", "input", "img", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Elements inside with the tag and attributes; `data_x` stands for `data-x`."""
        wanted = {k.rstrip("_").replace("_", "-"): v for k, v in attributes.items()}
        found = []
        for element in self.inside:
            if element.tag == tag and wanted.items() <= element.attributes.items():
                found.append(element)
            found += element.all(tag, **attributes)
        return found

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found

    def words(self) -> str:
        return " ".join(self.text.split())


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {k: v or "" for k, v in attrs})
        self.stack[-1].inside.append(element)
        if tag not in _VOID:
            self.stack.append(element)
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        for element in self.stack:
            element.text += data


def parse(page: str) -> Element:
    """The document; its elements must be closed in order."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert len(parser.stack) == 1, parser.stack[-1].tag
    return parser.stack[0]


def columns(document: Element) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the script reads: the contents, and the columns by name."""
    contents = json.loads(document.one("script", id="contents").text)
    data = zlib.decompress(base64.b64decode(document.one("script", id="columns").text))
    found = {
        name: np.frombuffer(data, "<" + dtype, count, offset)
        for name, (dtype, offset, count) in contents["columns"].items()
    }
    return contents, found
