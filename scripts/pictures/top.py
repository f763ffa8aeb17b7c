#!/usr/bin/python3
"""Draws docs/pictures/top-light.svg and top-dark.svg: a terminal with `ergon top` while a server works."""

import fcntl
import os
import re
import struct
import subprocess
import termios
import time
from xml.sax.saxutils import escape

import draw
import shop

ROWS, COLUMNS = 31, 100
LOOKS = 8  # the last but one is drawn: rates are there, and percentiles
HOME = "\033[H"  # before each picture that `ergon top` paints

FONT = "ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
WIDE, HIGH, SIZE = 8, 18, 13.2  # of a cell, and the text in it
EDGE, HEAD = 15, 34  # around the cells; the window's head
# The numbers are codes of terminals: cyan and red.
PALETTES = {
    "light": {"paper": "#ffffff", "edge": "#d0d7de", "head": "#f3f5f7", "text": "#1f2328", "muted": "#59636e",
              "36": "#0b6b78", "31": "#c2261c"},
    "dark": {"paper": "#0d1117", "edge": "#30363d", "head": "#161b22", "text": "#e6edf3", "muted": "#9aa7b4",
             "36": "#5fd3e0", "31": "#ff7b72"},
}


def looks(url):
    """What `ergon top` writes to a terminal of its own until it has painted LOOKS pictures."""
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, **shop.harness.NO_CONTEXTS, "TERM": "xterm-256color", "NO_COLOR": ""}
    with subprocess.Popen([shop.harness.ERGON, "-s", url, "top"], stdin=slave, stdout=slave, env=environment) as top:
        os.close(slave)
        written = b""
        while written.count(HOME.encode()) < LOOKS:
            written += os.read(master, 1 << 16)
        top.terminate()
    os.close(master)
    return written.decode().split(HOME)[1:]


def runs(line):
    """(column, text, codes that are set) of each run of a line."""
    column, codes = 0, set()
    for code, kind, text in re.findall(r"\033\[([?\d;]*)([A-Za-z])|([^\033]+)", line):
        if kind == "m":
            codes = codes | set(code.split(";")) if code not in ("", "0") else set()
        elif text:
            yield column, text, codes
            column += len(text)


def run(row, column, text, codes, palette):
    """The elements of one run."""
    x, y, width = EDGE + column * WIDE, HEAD + EDGE + row * HIGH, len(text) * WIDE
    colour = next((palette[code] for code in codes if code in palette), palette["text"])
    if "7" in codes:
        yield f'<rect x="{x}" y="{y}" width="{width}" height="{HIGH}" rx="2" fill="{colour}"/>'
        colour = palette["paper"]
    weight = ' font-weight="700"' if "1" in codes else ""
    # The length keeps columns below each other, whatever font there is.
    yield f'<text x="{x}" y="{y + 13}" fill="{colour}"{weight} textLength="{width}" xml:space="preserve">{escape(text)}</text>'


def window(screen, palette):
    """The SVG of a window with these lines."""
    width, height = 2 * EDGE + COLUMNS * WIDE, HEAD + 2 * EDGE + ROWS * HIGH
    frame = f'x=".5" y=".5" width="{width - 1}" rx="10"'
    cells = [element for row, line in enumerate(screen) for each in runs(line) for element in run(row, *each, palette)]
    return "\n".join([
        draw.opening(width, height, FONT, "ergon top: rates, memory, handlers, queues and executors of a server at work."),
        f'<rect {frame} height="{height - 1}" fill="{palette["paper"]}" stroke="{palette["edge"]}"/>',
        f'<path d="M .5 {HEAD} V 10.5 a 10 10 0 0 1 10 -10 H {width - 10.5} a 10 10 0 0 1 10 10 V {HEAD} Z" '
        f'fill="{palette["head"]}" stroke="{palette["edge"]}"/>',
        *(f'<circle cx="{20 + 18 * n}" cy="{HEAD / 2}" r="5.5" fill="{palette["edge"]}"/>' for n in range(3)),
        f'<g font-size="{SIZE}">',
        f'<text x="{width / 2}" y="{HEAD / 2 + 4.5}" text-anchor="middle" fill="{palette["muted"]}">ergon top</text>',
        *cells, "</g>", "</svg>", ""])


def main():
    with shop.at_work() as (url, _):
        time.sleep(25)  # until a report or two are done
        screen = re.split(r"\r*\n", looks(url)[-2])
    for mode, palette in PALETTES.items():
        with open(os.path.join(draw.FOLDER, f"top-{mode}.svg"), "w", encoding="utf-8") as out:
            out.write(window(screen, palette))


if __name__ == "__main__":
    main()
