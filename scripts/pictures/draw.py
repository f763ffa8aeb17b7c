#!/usr/bin/python3
"""Draws the pictures that docs/pictures/*.txt describe: NAME.txt becomes NAME-light.svg and NAME-dark.svg beside it.

A description has one thing a line; what is drawn first lies below.  Words come after " : ", their lines parted by " | ".

    size WIDTH HEIGHT
    title : what the picture shows, for readers who cannot see it
    frame NAME X Y WIDTH HEIGHT COLOUR : words in its upper left corner
    box NAME X Y WIDTH HEIGHT COLOUR : title | smaller line | ...         or drum, for what keeps things
    bar NAME X Y WIDTH HEIGHT COLOUR : title | smaller words beside it
    stack NAME X Y WIDTH HEIGHT COLOUR : as a box, of which there are several
    cells X Y COLOUR FULL EMPTY                                           a queue, with its first cell at the right
    turn X Y COLOUR                                                       a loop
    arrow END END COLOUR [ring] [both] [below] [via X,Y ...] : words      ring: on its longest line; both: ends; below: the words
    note X Y start|middle|end : words
    key X Y COLOUR : what things of this colour are

An END is X,Y, or NAME.SIDE, with +N or -N for so far from the side's middle, to the right or down.
"""

import collections
import glob
import math
import os
import re
import sys
from xml.sax.saxutils import escape

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "pictures")

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
# Of each colour: its surface, its border, and its lines.
PALETTES = {
    "light": {"ink": "#1f2328", "muted": "#59636e", "empty": "#ffffff",
              "blue": ("#eaf2ff", "#9dbdf0", "#2460c8"), "green": ("#e4f5ea", "#8fcaa5", "#1b7a43"),
              "amber": ("#fdf2da", "#dfba6c", "#8a5300"), "grey": ("#f5f7f9", "#cdd4dc", "#59636e")},
    "dark": {"ink": "#e6edf3", "muted": "#9aa7b4", "empty": "#0d1117",
             "blue": ("#142743", "#36609f", "#6ea6ff"), "green": ("#11301f", "#2f7a4e", "#5ccb8c"),
             "amber": ("#33270f", "#8a6a2b", "#e5ae4e"), "grey": ("#161c24", "#364150", "#9aa7b4")},
}
TITLE, SMALL, LINE = 14, 12, 17  # sizes of text, and from line to line
CELL, ROUND, HEAD, BEHIND = 9, 8, 7, 8  # a cell's side, a corner's radius, an arrow's head, how far a stack shows its rear

Thing = collections.namedtuple("Thing", "kind words text")
Area = collections.namedtuple("Area", "x y width height")


def parse(description):
    """The things of a picture, in order."""
    for line in description.splitlines():
        if line.strip() and not line.startswith("#"):
            words, _, text = line.partition(" : ")
            kind, *words = words.split()
            yield Thing(kind, words, [part.strip() for part in text.split(" | ")] if text else [])


def area(thing):
    return Area(*map(float, thing.words[1:5]))


def outline(thing):
    """The area of a thing with those behind it."""
    at = area(thing)
    return at if thing.kind != "stack" else Area(at.x, at.y - BEHIND, at.width + BEHIND, at.height + BEHIND)


def areas(things):
    """{name: (area, outline)} of what has one."""
    placed = (thing for thing in things if thing.kind in ("frame", "box", "bar", "stack", "drum"))
    return {thing.words[0]: (area(thing), outline(thing)) for thing in placed}


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def points(*pairs):
    return " ".join(f"{number(x)},{number(y)}" for x, y in pairs)


class Drawing:
    """One picture in one palette: a method for each kind of thing, which yields elements of SVG."""

    def __init__(self, things, palette):
        self.palette = palette
        self.areas = areas(things)

    def colours(self, name):
        return self.palette[name]

    def words(self, x, y, text, anchor="middle", colour="ink", size=SMALL, weight=400):
        return (f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
                f'fill="{self.palette[colour]}">{escape(text)}</text>')

    def rectangle(self, at, colour, radius=ROUND):
        surface, border, _ = self.colours(colour)
        x, y, width, height = map(number, at)
        return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}" fill="{surface}" stroke="{border}"/>'

    def lines(self, at, text):
        """A title and smaller lines below it, as a block in the middle of the area."""
        x, top = at.x + at.width / 2, at.y + at.height / 2 - LINE * len(text) / 2
        for n, line in enumerate(text):
            style = {"colour": "muted"} if n else {"size": TITLE, "weight": 600}
            yield self.words(x, top + LINE * n + LINE * .76, line, **style)

    def frame(self, thing):
        at = area(thing)
        yield self.rectangle(at, thing.words[5], ROUND + 4)
        for line in thing.text:
            yield self.words(at.x + 12, at.y + 21, line, "start", size=TITLE, weight=600)

    def box(self, thing):
        yield self.rectangle(area(thing), thing.words[5])
        yield from self.lines(area(thing), thing.text)

    def bar(self, thing):
        at = area(thing)
        title, *rest = map(escape, thing.text)
        x, y = number(at.x + 12), number(at.y + at.height / 2 + TITLE * .36)
        yield self.rectangle(at, thing.words[5])
        yield (f'<text x="{x}" y="{y}" font-size="{SMALL}" fill="{self.palette["muted"]}">'
               f'<tspan font-size="{TITLE}" font-weight="600" fill="{self.palette["ink"]}">{title}</tspan>'
               f'<tspan dx="10">{" ".join(rest)}</tspan></text>')

    def stack(self, thing):
        at = area(thing)
        for shift in (BEHIND, BEHIND / 2):
            yield self.rectangle(at._replace(x=at.x + shift, y=at.y - shift), thing.words[5])
        yield from self.box(thing)

    def drum(self, thing):
        at = area(thing)
        surface, border, _ = self.colours(thing.words[5])
        left, right, low, flat = number(at.x), number(at.x + at.width), number(at.y + at.height - 7), number(at.width / 2)
        lid = f"M {left} {number(at.y + 7)} A {flat} 7 0 0 1 {right} {number(at.y + 7)}"
        yield (f'<path d="{lid} V {low} A {flat} 7 0 0 1 {left} {low} Z" fill="{surface}" stroke="{border}"/>')
        yield f'<path d="{lid} A {flat} 7 0 0 1 {left} {number(at.y + 7)}" fill="{surface}" stroke="{border}"/>'
        yield from self.lines(at._replace(y=at.y + 7, height=at.height - 7), thing.text)

    def row_of_cells(self, x, y, colour, full, empty):
        """From the left: the empty ones, then the full ones, which leave at the right."""
        for n in range(full + empty):
            fill = self.palette["empty"] if n < empty else self.colours(colour)[2]
            yield (f'<rect x="{number(x + n * CELL)}" y="{number(y)}" width="{CELL}" height="{CELL}" rx="2" fill="{fill}" '
                   f'stroke="{self.colours(colour)[2]}"/>')

    def cells(self, thing):
        x, y, colour, full, empty = thing.words
        yield from self.row_of_cells(float(x), float(y), colour, int(full), int(empty))

    def turn(self, thing):
        x, y = map(float, thing.words[:2])
        colour = self.colours(thing.words[2])[2]
        begin, end = points((x + 6, y - 2)), points((x + 5, y + 4))
        yield f'<path d="M {begin} A 6.5 6.5 0 1 0 {end}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        yield self.head((x + 2.5, y - 3), (x + 7.5, y + 1), colour)

    def note(self, thing):
        x, y, anchor = thing.words
        for n, line in enumerate(thing.text):
            yield self.words(float(x), float(y) + LINE * n, line, anchor, "muted")

    def key(self, thing):
        x, y, colour = float(thing.words[0]), float(thing.words[1]), thing.words[2]
        yield self.rectangle(Area(x, y, 18, 18), colour, 5)
        yield self.words(x + 26, y + 13, " ".join(thing.text), "start", "muted")

    def end(self, word):
        """Where an arrow begins or ends."""
        if "," in word:
            return tuple(map(float, word.split(",")))
        name, side, shift = re.fullmatch(r"(.+)\.(left|right|top|bottom)([+-]\d+)?", word).groups()
        (at, around), shift = self.areas[name], float(shift or 0)
        if side in ("left", "right"):
            return around.x + around.width * (side == "right"), at.y + at.height / 2 + shift
        return at.x + at.width / 2 + shift, around.y + around.height * (side == "bottom")

    def head(self, before, tip, colour):
        """The head of an arrow that comes from `before`."""
        turned = math.atan2(tip[1] - before[1], tip[0] - before[0])
        corners = [(tip[0] - HEAD * math.cos(turned + side), tip[1] - HEAD * math.sin(turned + side)) for side in (-.48, .48)]
        return f'<polygon points="{points(tip, *corners)}" fill="{colour}"/>'

    def arrow(self, thing):
        begin, end, colour, *more = thing.words
        corners = [tuple(map(float, word.split(","))) for word in more if "," in word]
        path = [self.end(begin), *corners, self.end(end)]
        stroke = self.colours(colour)[2]
        yield f'<path d="{rounded(path)}" fill="none" stroke="{stroke}" stroke-width="1.6"/>'
        yield self.head(path[-2], path[-1], stroke)
        if "both" in more:
            yield self.head(path[1], path[0], stroke)
        (ax, ay), (bx, by) = max(zip(path, path[1:]), key=lambda line: math.dist(*line))
        x, y = (ax + bx) / 2, (ay + by) / 2
        if "ring" in more:
            yield from self.ring(x - 2 * math.copysign(1, bx - ax), y, colour, bx < ax)
        if ax == bx:
            yield from (self.words(x + 8, y + 4 + LINE * n, line, "start", "muted") for n, line in enumerate(thing.text))
        else:
            first = y + 20 if "below" in more else y - 10 - LINE * (len(thing.text) - 1)
            yield from (self.words(x, first + LINE * n, line, colour="muted") for n, line in enumerate(thing.text))

    def ring(self, x, y, colour, backwards):
        """Four cells, of which those in front are full, in the middle of a line."""
        cells = list(self.row_of_cells(x - 2 * CELL, y - CELL / 2, colour, 2, 2))
        turn = f' transform="rotate(180 {number(x)} {number(y)})"' if backwards else ""
        yield f"<g{turn}>{''.join(cells)}</g>"


def rounded(path):
    """The lines through these points, with round corners."""
    parts = [f"M {points(path[0])}"]
    for before, corner, after in zip(path, path[1:], path[2:]):
        near = [toward(corner, other) for other in (before, after)]
        parts.append(f"L {points(near[0])} Q {points(corner)} {points(near[1])}")
    return " ".join([*parts, f"L {points(path[-1])}"])


def toward(corner, other):
    """The point at a corner's radius from the corner, towards the other end of its line."""
    far = math.dist(corner, other)
    part = min(ROUND, far / 2) / far
    return corner[0] + (other[0] - corner[0]) * part, corner[1] + (other[1] - corner[1]) * part


def opening(width, height, font, title):
    """How an SVG begins; the title is for readers who cannot see it."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" font-family="{font}">\n<title>{escape(title)}</title>')


def draw(description, palette):
    """The text of an SVG."""
    things = list(parse(description))
    facts = {thing.kind: thing for thing in things if thing.kind in ("size", "title")}
    drawing = Drawing(things, palette)
    elements = [element for thing in things if thing.kind not in facts for element in getattr(drawing, thing.kind)(thing)]
    return "\n".join([opening(*facts["size"].words, FONT, " ".join(facts["title"].text)), *elements, "</svg>", ""])


def drawn(folder):
    """(path, content) of each SVG that belongs into the folder."""
    for path in sorted(glob.glob(os.path.join(folder, "*.txt"))):
        with open(path, encoding="utf-8") as f:
            description = f.read()
        for mode, palette in PALETTES.items():
            yield path.removesuffix(".txt") + f"-{mode}.svg", draw(description, palette)


if __name__ == "__main__":
    for target, content in drawn(sys.argv[1] if len(sys.argv) > 1 else FOLDER):
        with open(target, "w", encoding="utf-8") as out:
            out.write(content)
