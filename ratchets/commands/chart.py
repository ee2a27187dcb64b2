"""The burn-down as an SVG: one band a rule, stacked, in steps, for a report that a person reads."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from confbag.ratchets.commands.history import State
from confbag.ratchets.report.words import name_of

WIDTH, HEIGHT = 920, 460
LEFT, RIGHT, TOP, BOTTOM = 64, 210, 84, 52
# Told apart by people who see red and green alike (Okabe and Ito), then by lightness.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c00", "#7f7f7f")


def draw(states: Sequence[State], codes: Sequence[str], title: str) -> str:
    """The chart. A number holds until the next commit, so that edges are steps."""
    times = [datetime.datetime.fromisoformat(state.time.replace("Z", "+00:00")).timestamp() for state in states]
    # A committer's clock may run backwards; the order of the commits may not.
    for number in range(1, len(times)):
        times[number] = max(times[number], times[number - 1])
    first, last = times[0], times[-1]
    if last == first:
        last = first + 86400
    totals = [sum(state.totals.values()) for state in states]
    top, step = _scale(max(totals))

    def x(time: float) -> float:
        return LEFT + (time - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" role="img" aria-labelledby="title summary">',
        f'<title id="title">Ratchets of {_text(title)}</title>',
        f'<desc id="summary">{_text(_summary(states, totals))}</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="34" font-size="20" font-weight="bold" fill="#1a1a1a">Ratchets of {_text(title)}</text>',
        f'<text x="{LEFT}" y="58" font-size="14" fill="#555555">{_text(_summary(states, totals))}</text>',
        *_grid(top, step, y),
        *_dates(first, last, x),
    ]
    edges = [*times[1:], last]
    below = [0] * len(states)
    ordered = sorted(codes, key=lambda code: -states[0].totals.get(code, 0) or -states[-1].totals.get(code, 0))
    labels = []
    for number, code in enumerate(ordered):
        above = [base + state.totals.get(code, 0) for base, state in zip(below, states, strict=True)]
        colour = COLOURS[number % len(COLOURS)]
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
        parts.append(f'<polygon points="{points}" fill="{colour}" fill-opacity="0.85"><title>{code}</title></polygon>')
        labels.append((y((above[-1] + below[-1]) / 2), code, states[-1].totals.get(code, 0), colour))
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
    span = f"{states[0].time[:10]} to {states[-1].time[:10]}"
    if not start:
        return f"{end} findings left, {span}"
    change = round(100 * (start - end) / start)
    direction = f"{change} % fewer" if end < start else f"{-change} % more" if end > start else "unchanged"
    return f"{start} findings became {end} ({direction}), {span}"


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
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="{colour}"/>'
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
        parts.append(
            f'<text x="{x(time):.1f}" y="{HEIGHT - BOTTOM + 22}" font-size="12" text-anchor="{anchor}" '
            f'fill="#555555">{date}</text>'
        )
    return parts


def _labels(labels: Sequence[tuple[float, str, int, str]]) -> list[str]:
    """Beside the last edge, moved apart where bands are thin."""
    parts = []
    lowest = HEIGHT - BOTTOM
    at = float("inf")
    places = []
    for height, code, total, colour in sorted(labels, key=lambda label: -label[0]):
        at = min(height, at - 18, lowest)
        places.append((at, code, total, colour))
    shift = max(0.0, TOP - 10 - min((place[0] for place in places), default=TOP))
    for height, code, total, colour in places:
        top = height + shift - 6
        words = f"{code} {name_of(code)}: {total}"
        parts.append(
            f'<rect x="{WIDTH - RIGHT + 12}" y="{top:.1f}" width="11" height="11" fill="{colour}"/>'
            f'<text x="{WIDTH - RIGHT + 29}" y="{top + 10:.1f}" font-size="12" fill="#1a1a1a">{_text(words)}</text>'
        )
    return parts


def _text(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode())
