"""Workbooks read as a spreadsheet would: by the format's own rules, with nothing of the library that wrote them."""

import io
import zipfile
from datetime import datetime, timedelta
from typing import NamedTuple
from xml.etree import ElementTree

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
EPOCH = datetime(1899, 12, 30)  # day 0, by the days after February 1900


class Figure(NamedTuple):
    """A number, and the format it is shown in."""

    value: float
    shown: str

    @property
    def date(self) -> datetime:
        return EPOCH + timedelta(days=self.value)


class Book:
    def __init__(self, file: bytes):
        self.archive = zipfile.ZipFile(io.BytesIO(file))
        assert self.archive.testzip() is None
        self.sheet = self.part("xl/worksheets/sheet1.xml")
        styles = self.part("xl/styles.xml")
        named = {one.get("numFmtId"): one.get("formatCode") for one in styles.iter(f"{SPACE}numFmt")}
        self.shown = [named.get(one.get("numFmtId"), "") for one in styles.find(f"{SPACE}cellXfs")]
        self.rows = [
            {cell.get("r").rstrip("0123456789"): self.value(cell) for cell in row} for row in self.sheet.iter(f"{SPACE}row")
        ]

    def part(self, name: str) -> ElementTree.Element:
        return ElementTree.fromstring(self.archive.read(name))

    def value(self, cell: ElementTree.Element) -> str | Figure:
        if cell.get("t") == "inlineStr":
            return "".join(text.text or "" for text in cell.iter(f"{SPACE}t"))
        assert cell.get("t") is None, cell.attrib
        return Figure(float(cell.find(f"{SPACE}v").text), self.shown[int(cell.get("s", 0))])

    @property
    def lines(self) -> list[dict[str, str | Figure]]:
        """-> what stands in the rows below the head, by the names of their columns."""
        head, *rows = self.rows
        return [{head[column]: value for column, value in row.items()} for row in rows]

    @property
    def calculates(self) -> bool:
        """Whether anything in it is a formula or leads elsewhere."""
        told = [part for part in self.archive.namelist() if part.startswith("xl/worksheets/_rels") or "externalLink" in part]
        return bool(told) or any(one.tag in (f"{SPACE}f", f"{SPACE}hyperlink") for one in self.sheet.iter())
