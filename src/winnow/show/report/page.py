"""One self-contained HTML page: styles and figures inside, nothing loaded from anywhere.

Every text is escaped here, so that a label of a schema cannot become markup. The page forbids
scripts and all loading by its own content security policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from winnow.core.notebook import escaped as text

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1c2430; background: #f5f6f8; margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1.2rem 4rem; }
h1 { font-size: 1.9rem; margin: .6rem 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .5rem; }
p { max-width: 46rem; }
.lead { font-size: 1.1rem; color: #3c4756; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr));
  gap: .8rem; margin: 1.2rem 0; }
.tile { background: #fff; border: 1px solid #dde1e7; border-radius: .6rem; padding: .7rem .9rem; }
.tile b { display: block; font-size: 1.4rem; }
.tile span { color: #596473; font-size: .88rem; }
.card { background: #fff; border: 1px solid #dde1e7; border-radius: .6rem; padding: 1rem; }
.grid { display: grid; gap: .8rem;
  grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  align-items: start; margin-bottom: 1rem; }
svg { display: block; width: 100%; height: auto; max-width: 38rem; }
h3 { font-size: 1.02rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.bars th { background: none; white-space: normal; font-weight: 500; }
.bars td.number { width: 1%; }
.bars td.bar { width: 45%; min-width: 4rem; }
.bar div { position: relative; height: 1.1rem; }
.bar b { position: absolute; inset: 0 auto 0 0; background: #0b3c6f; border-radius: .15rem; }
.bar i { position: absolute; top: calc(50% - 1.5px); height: 3px; background: #c8452c; }
.bars small { color: #596473; }
.heat thead th { white-space: normal; vertical-align: bottom; }
.heat tbody th { white-space: normal; }
.wide { grid-column: 1 / -1; }
.heat tbody th { position: sticky; left: 0; min-width: 5rem; }
details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
figure { margin: .8rem 0; }
figcaption { color: #596473; font-size: .9rem; margin-top: .4rem; max-width: 46rem; }
table { border-collapse: collapse; width: 100%; background: #fff; font-size: .92rem; }
th, td { text-align: left; padding: .38rem .6rem; border-bottom: 1px solid #e6e9ee;
  vertical-align: top; overflow-wrap: anywhere; }
th { background: #eef1f5; white-space: nowrap; overflow-wrap: break-word; }
.scroll :is(td, th):first-child:not(.number) { min-width: 6.5rem; }
thead th { position: sticky; top: 0; }
.scroll > table:not(.heat) thead :is(th, th.number) { white-space: normal; overflow-wrap: anywhere;
  min-width: 4.8rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.scroll { max-height: 28rem; overflow: auto; border: 1px solid #dde1e7; border-radius: .6rem; }
.scroll + .scroll { margin-top: .6rem; }
.warning { background: #fff3cd; border: 2px solid #b98300; border-radius: .6rem;
  padding: .8rem 1rem; font-weight: 600; }
.danger { background: #b3201b; color: #fff; padding: 1rem 1.2rem; font-size: 1.15rem;
  font-weight: 700; position: sticky; top: 0; z-index: 9; text-align: center; }
.private { border: 4px solid #b3201b; border-radius: .6rem; padding: 0 1rem 1rem;
  margin-top: 2rem; background: #fff; }
@media (max-width: 30rem) { main { padding: 1rem .7rem 3rem; } h1 { font-size: 1.5rem; }
  .card { padding: .6rem; } th, td { padding: .3rem .35rem; }
  .tiles { grid-template-columns: repeat(2, 1fr); } th, th.number { white-space: normal; } }
@media print { .scroll { max-height: none; overflow: visible; } .card { break-inside: avoid-page; }
  thead th, .heat tbody th { position: static; } body { background: #fff; } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, body: str, banner: str = "") -> bytes:
    """The whole page; ``body`` and ``banner`` are markup that was made here."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{banner}<main>\n{body}</main>\n</body>\n</html>\n"
    ).encode()


def paragraph(value: object, kind: str = "", *, ended: bool = False) -> str:
    """A paragraph, of a class of the style where one is named; ``ended``: a sentence."""
    said = f"{str(value).rstrip('.')}." if ended else value
    return f"<p{_class(kind)}>{text(said)}</p>\n"


def heading(value: object) -> str:
    """The heading of a section."""
    return f"<h2>{text(value)}</h2>\n"


def tiles(pairs: Iterable[tuple[str, str]]) -> str:
    """Numbers in boxes: (what it is, the number)."""
    inside = "".join(
        f'<div class="tile"><b>{text(number)}</b><span>{text(name)}</span></div>\n'
        for name, number in pairs
    )
    return f'<div class="tiles">\n{inside}</div>\n'


def pairs_table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what they mean."""
    lines = "".join(f"<tr><th>{text(name)}</th><td>{text(to)}</td></tr>\n" for name, to in rows)
    return f"<table>\n{lines}</table>\n"


def table(heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[object]]) -> str:
    """A table that scrolls when it is long; each head is (name, whether it holds numbers)."""
    kinds = ["number" if numeric else "" for _, numeric in heads]
    top = "".join(
        f"<th{_class(k)}>{text(name)}</th>" for (name, _), k in zip(heads, kinds, strict=True)
    )
    lines = "".join(
        "<tr>"
        + "".join(f"<td{_class(k)}>{text(cell)}</td>" for cell, k in zip(row, kinds, strict=True))
        + "</tr>\n"
        for row in rows
    )
    return scrolled(f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>")


def scrolled(markup: str) -> str:
    """Markup that scrolls where it is too large, by the keyboard, too."""
    return f'<div class="scroll" tabindex="0">{markup}</div>\n'


def figure(svg: bytes, about: str, caption: str = "") -> str:
    """A drawn figure; ``about`` says what it shows to those who cannot see it."""
    below = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
    return f'<figure class="card">{inline_svg(svg, about)}{below}</figure>\n'


def inline_svg(svg: bytes, about: str) -> str:
    """A figure file as an element of the page: no header, no names of outside documents."""
    drawn = svg.decode("utf-8")
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r"<!--.*?-->", "", drawn, flags=re.DOTALL)
    head, rest = drawn.split(">", 1)
    head = re.sub(r'\s(?:xmlns(?::\w+)?|width|height|version)="[^"]*"', "", head)
    rest = re.sub(r"\n\s*", "\n", rest)
    return f'{head} role="img" aria-label="{text(about)}">{rest}'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
