# /// script
# requires-python = ">=3.11"
# dependencies = ["pillow>=11,<13"]
# ///
"""Draws notes as a picture of a whiteboard: `python draw_board.py notes/launch.txt boards/launch.png`.

The notes themselves go into the file too, as a text chunk named `Transcript`. A model that sees needs it not; the
rules of this example, which see nothing, read that chunk and say so.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

COLUMN, NOTE_HEIGHT, GAP, HEAD = 340, 110, 24, 150  # pixels
PAPERS = ("#fff3a3", "#bfe8c8", "#bcdcf7", "#f7c6d9")
INK, FRAME, BOARD = "#22262b", "#9aa3ab", "#fbfbf8"
KEY = "Transcript"


def draw(notes: str) -> Image.Image:
    """The picture: a title, a column for each `##`, a note for each `-`."""
    lines = [line.strip() for line in notes.splitlines() if line.strip()]
    title = next((line.removeprefix("title:").strip() for line in lines if line.startswith("title:")), "")
    columns: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("## "):
            columns.append((line[3:], []))
        elif line.startswith("- ") and columns:
            columns[-1][1].append(line[2:])
    most = max((len(texts) for _, texts in columns), default=1)
    size = (GAP + len(columns) * (COLUMN + GAP), HEAD + most * (NOTE_HEIGHT + GAP) + GAP)
    picture = Image.new("RGB", size, BOARD)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((4, 4, size[0] - 5, size[1] - 5), outline=FRAME, width=6)
    pen.text((GAP, GAP), title, font=ImageFont.load_default(40), fill=INK)
    for place, (heading, texts) in enumerate(columns):
        left = GAP + place * (COLUMN + GAP)
        pen.text((left, HEAD - 50), heading, font=ImageFont.load_default(28), fill=INK)
        for row, text in enumerate(texts):
            top = HEAD + row * (NOTE_HEIGHT + GAP)
            paper = PAPERS[place % len(PAPERS)]
            pen.rectangle((left, top, left + COLUMN, top + NOTE_HEIGHT), fill=paper, outline=FRAME)
            wrapped = "\n".join(textwrap.wrap(text, 27)[:4])
            pen.text((left + 12, top + 10), wrapped, font=ImageFont.load_default(22), fill=INK)
    return picture


def main(source: str, target: str) -> None:
    """Draws the notes of the file `source` to the PNG `target`."""
    notes = Path(source).read_text(encoding="utf-8")
    chunks = PngInfo()
    chunks.add_itxt(KEY, notes)
    draw(notes).quantize(32).save(target, pnginfo=chunks, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
