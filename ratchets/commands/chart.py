"""The burn-down as an SVG: one band a rule, stacked, in steps, for a report that a person reads."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from confbag.ratchets.commands.history import State
from confbag.ratchets.report.words import count, in_xml, name_of

PLOT, HEIGHT = 646, 460
LEFT, TOP, BOTTOM = 64, 104, 52
# A rule keeps its colour from report to report. People who see red and green alike can tell them apart, and lines of
# white part the bands where a printer knows only greys.
COLOURS = {
    "CB100": "#4d4d4d",
    "CB101": "#0072b2",
    "CB102": "#e69f00",
    "CB103": "#8c8c8c",
    "CB104": "#44aa99",
    "CB105": "#ddcc77",
    "CB111": "#d55e00",
    "CB121": "#56b4e9",
    "CB131": "#009e73",
    "CB132": "#cc79a7",
    "CB133": "#332288",
    "CB141": "#999933",
    "CB142": "#882255",
}
_OTHERS = ("#b3b3b3", "#6699cc", "#aa4466")


def draw(states: Sequence[State], codes: Sequence[str], title: str) -> str:
    """The chart. A number holds until the next commit, so that edges are steps."""
    times = [datetime.datetime.fromisoformat(state.time.replace("Z", "+00:00")).timestamp() for state in states]
    # A committer's clock may run backwards; the order of the commits may not.
    for number in range(1, len(times)):
        times[number] = max(times[number], times[number - 1])
    first, last = times[0], times[-1]
    # What the last commit left is seen a little to the right of it.
    end = last + max((last - first) * 0.03, 3600)
    totals = [sum(state.totals.values()) for state in states]
    top, step = _scale(max(totals))
    # A rule that never had a finding says nothing; where none had, all are named.
    drawn = [code for code in codes if any(state.totals.get(code) for state in states)] or list(codes)
    words = {
        code: f"{' '.join(dict.fromkeys((code, name_of(code))))}: {states[-1].totals.get(code, 0)}" for code in drawn
    }
    width = LEFT + PLOT + 44 + 7 * max(map(len, words.values()))

    def x(time: float) -> float:
        return LEFT + (time - first) / (end - first) * PLOT

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" role="img" aria-labelledby="title summary">',
        f'<title id="title">Ratchets of {_text(title)}</title>',
        f'<desc id="summary">{_text(_summary(states, totals))}</desc>',
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="34" font-size="20" font-weight="bold" fill="#1a1a1a">Ratchets of {_text(title)}</text>',
        f'<text x="{LEFT}" y="58" font-size="14" fill="#555555">{_text(_summary(states, totals))}</text>',
        f'<text x="{LEFT - 8}" y="{TOP - 14}" font-size="12" text-anchor="end" fill="#555555">findings</text>',
        *_grid(top, step, y),
        *_dates(first, last, x),
    ]
    edges = [*times[1:], end]
    below = [0] * len(states)
    ordered = sorted(drawn, key=lambda code: -states[0].totals.get(code, 0) or -states[-1].totals.get(code, 0))
    labels = []
    for number, code in enumerate(ordered):
        above = [base + state.totals.get(code, 0) for base, state in zip(below, states, strict=True)]
        colour = COLOURS.get(code) or _OTHERS[number % len(_OTHERS)]
        upper = [
            f"{x(at):.1f},{y(value):.1f}"
            for start, end, value in zip(times, edges, above, strict=True)
            for at in (start, end)
        ]
        lower = [
            f"{x(at):.1f},{y(value):.1f}"
            for start, end, value in zip(times, edges, below, strict=True)
            for at in (start, end)
        ]
        points = " ".join([*upper, *reversed(lower)])
        parts.append(f'<polygon points="{points}" fill="{colour}" stroke="#ffffff" stroke-width="0.6">')
        parts.append(f"<title>{_text(words[code])}</title></polygon>")
        labels.append((y((above[-1] + below[-1]) / 2), words[code], colour))
        below = above
    outline = " ".join(
        f"{x(at):.1f},{y(value):.1f}"
        for start, end, value in zip(times, edges, totals, strict=True)
        for at in (start, end)
    )
    parts.append(f'<polyline points="{outline}" fill="none" stroke="#1a1a1a" stroke-width="1.5"/>')
    parts += _labels(labels)
    return "\n".join([*parts, "</svg>", ""])


def _summary(states: Sequence[State], totals: Sequence[int]) -> str:
    start, end = totals[0], totals[-1]
    span = " to ".join(dict.fromkeys((states[0].time[:10], states[-1].time[:10])))
    if len(states) == 1 or not start:
        return f"{count(end, 'finding')}, {span}"
    change = round(100 * (start - end) / start)
    direction = f"{change} % fewer" if end < start else f"{-change} % more" if end > start else "unchanged"
    return f"{count(start, 'finding')} became {end} ({direction}), {span}"


def _scale(most: int) -> tuple[int, int]:
    """The top of the axis and the distance of its lines: 1, 2 or 5 times a power of ten."""
    if most <= 0:
        return 1, 1
    rough = most / 5
    power = 10 ** max(0, math.floor(math.log10(rough)) if rough >= 1 else 0)
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return step * math.ceil(most / step), step


def _grid(top: int, step: int, y: Callable[[float], float]) -> list[str]:
    parts = []
    for value in range(0, top + 1, step):
        height = y(value)
        colour = "#888888" if value == 0 else "#e3e3e3"
        parts.append(
            f'<line x1="{LEFT}" x2="{LEFT + PLOT}" y1="{height:.1f}" y2="{height:.1f}" stroke="{colour}"/>'
            f'<text x="{LEFT - 8}" y="{height + 4:.1f}" font-size="12" text-anchor="end" fill="#555555">{value}</text>'
        )
    return parts


def _dates(first: float, last: float, x: Callable[[float], float]) -> list[str]:
    parts = []
    seen = set()
    for number in range(5):
        time = first + (last - first) * number / 4
        date = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).date().isoformat()
        if date in seen:
            continue
        seen.add(date)
        anchor = "start" if number == 0 else "end" if number == 4 else "middle"
        across, below = f"{x(time):.1f}", HEIGHT - BOTTOM
        parts.append(
            f'<line x1="{across}" x2="{across}" y1="{below}" y2="{below + 5}" stroke="#888888"/>'
            f'<text x="{across}" y="{below + 22}" font-size="12" text-anchor="{anchor}" fill="#555555">{date}</text>'
        )
    return parts


def _labels(labels: Sequence[tuple[float, str, str]]) -> list[str]:
    """Beside the last edge, moved apart where bands are thin."""
    parts = []
    lowest = HEIGHT - BOTTOM
    at = float("inf")
    places = []
    for height, words, colour in sorted(labels, key=lambda label: -label[0]):
        at = min(height, at - 18, lowest)
        places.append((at, words, colour))
    shift = max(0.0, TOP - 10 - min((place[0] for place in places), default=TOP))
    for height, words, colour in places:
        top = height + shift - 6
        parts.append(
            f'<rect x="{LEFT + PLOT + 12}" y="{top:.1f}" width="11" height="11" fill="{colour}"/>'
            f'<text x="{LEFT + PLOT + 29}" y="{top + 10:.1f}" font-size="12" fill="#1a1a1a">{_text(words)}</text>'
        )
    return parts


def _text(text: str) -> str:
    return escape(in_xml(text))
