"""Boxes and arrows as SVG, in colours that can be read on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_LINE = 18
_STYLE = (
    "rect.page{fill:#fff}rect.box{fill:#eef2fb;stroke:#4051b5}rect.ours{fill:#fdf3d8;stroke:#b07d00}"
    "path{stroke:#555;fill:none}text{font:14px sans-serif;fill:#222;text-anchor:middle}"
    "text.small{font-size:12px;fill:#555}"
    "text.beside{font-size:12px;fill:#555;paint-order:stroke;stroke:#fff;stroke-width:5px}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """A box with lines of text; `ours` are those that Penstock adds to Kubernetes."""

    x: int
    y: int
    width: int
    lines: tuple[str, ...]
    ours: bool = False

    @property
    def height(self) -> int:
        """As high as its lines need."""
        return _LINE * len(self.lines) + 20

    @property
    def bottom(self) -> tuple[int, int]:
        """Where an arrow begins that goes down."""
        return self.x + self.width // 2, self.y + self.height

    @property
    def top(self) -> tuple[int, int]:
        """Where an arrow from above ends."""
        return self.x + self.width // 2, self.y

    @property
    def right(self) -> tuple[int, int]:
        """Where an arrow begins that goes to the right."""
        return self.x + self.width, self.y + self.height // 2

    @property
    def left(self) -> tuple[int, int]:
        """Where an arrow from the left ends."""
        return self.x, self.y + self.height // 2


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line from one place to another, with a text beside its middle."""

    begin: tuple[int, int]
    end: tuple[int, int]
    text: str = ""
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """What a picture shows; `about` is for those who cannot see it."""

    width: int
    height: int
    about: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]

    def svg(self) -> str:
        """The text of its file."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img">',
            f"<title>{escape(self.about)}</title>",
            f"<style>{_STYLE}</style>",
            '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 0 8 4 0 8" style="fill:#555"/></marker></defs>',
            f'<rect class="page" width="{self.width}" height="{self.height}" rx="8"/>',
            *(_arrow(arrow) for arrow in self.arrows),
            *(_box(box) for box in self.boxes),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"


def _box(box: Box) -> str:
    middle = box.x + box.width // 2
    kind = "ours" if box.ours else "box"
    small = ' class="small"'
    lines = "".join(
        f'<text{small if number else ""} x="{middle}" y="{box.y + 24 + number * _LINE}">{escape(line)}</text>'
        for number, line in enumerate(box.lines)
    )
    return f'<rect class="{kind}" x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="6"/>{lines}'


def _arrow(arrow: Arrow) -> str:
    (x, y), (to_x, to_y) = arrow.begin, arrow.end
    dashes = ' stroke-dasharray="5 4"' if arrow.dashed else ""
    line = f'<path d="M{x} {y} {to_x} {to_y}" marker-end="url(#end)"{dashes}/>'
    text = f'<text class="beside" x="{(x + to_x) // 2}" y="{(y + to_y) // 2 - 6}">{escape(arrow.text)}</text>'
    return line + (text if arrow.text else "")
