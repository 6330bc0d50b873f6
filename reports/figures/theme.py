"""The theme of all figures: a palette for colour-blind readers, and Plotly templates for light and dark pages.

Backgrounds are transparent. The page swaps the templates when the reader changes the theme or prints, so a figure uses
only colours that are readable on both.
"""

from typing import Any, Literal

Mode = Literal["light", "dark"]

PALETTE = ("#2b7bba", "#d9601a", "#189b74", "#b8629a", "#c08a0c", "#4aa3dc", "#7d8790")
"""Blue, vermilion, green, purple, amber, sky, grey: after Okabe and Ito, each readable on white and on near-black."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
"""Markers in the order of the palette, so that colour is never the only difference."""
FONT = "ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
CLEAR = "rgba(0,0,0,0)"

_INK: dict[Mode, dict[str, Any]] = {
    "light": {
        "text": "#333a41",
        "grid": "#e7e7e1",
        "axis": "#a9b0b6",
        "surface": "#ffffff",
        "sequential": ["#f5f8fb", "#c5dbed", "#82b4da", "#3b80b9", "#0c3f70"],
        "diverging": ["#8a2f06", "#d9601a", "#f0b48c", "#f7f7f4", "#8fbce0", "#2b7bba", "#0c3f70"],
    },
    "dark": {
        "text": "#cdd3d9",
        "grid": "#2b3138",
        "axis": "#59636d",
        "surface": "#1b1f24",
        "sequential": ["#1c2128", "#1d4363", "#2b74a8", "#6db3e0", "#e4f2fc"],
        "diverging": ["#ffd9bf", "#e8803f", "#7a3511", "#20252b", "#1d4363", "#3f8fce", "#cfe7fa"],
    },
}


def with_alpha(color: str, alpha: float) -> str:
    """Return a `#rrggbb` colour with an opacity."""
    red, green, blue = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def template(mode: Mode = "light") -> dict[str, Any]:
    """Return the Plotly template for a light or a dark page."""
    ink = _INK[mode]
    colorbar = {"thickness": 12, "outlinewidth": 0, "ticks": "", "tickfont": {"size": 12}}
    sequential = {"colorscale": _scale(ink["sequential"]), "colorbar": colorbar}
    return {
        "layout": {
            **_layout(ink),
            "coloraxis": sequential,
            "colorscale": {
                "sequential": _scale(ink["sequential"]),
                "sequentialminus": _scale(ink["sequential"][::-1]),
                "diverging": _scale(ink["diverging"]),
            },
        },
        "data": {
            "heatmap": [{"type": "heatmap", **sequential}],
            "bar": [{"type": "bar", "marker": {"line": {"width": 0}}, "error_y": {"color": ink["text"]}}],
            "scatter": [{"type": "scatter", "error_y": {"color": ink["axis"]}}],
        },
    }


def _layout(ink: dict[str, Any]) -> dict[str, Any]:
    axis = {
        "gridcolor": ink["grid"],
        "zerolinecolor": ink["grid"],
        "linecolor": ink["axis"],
        "tickcolor": ink["axis"],
        "zerolinewidth": 1,
        "automargin": True,
        "title": {"standoff": 10, "font": {"size": 13}},
    }
    return {
        "font": {"family": FONT, "size": 13, "color": ink["text"]},
        "title": {"font": {"size": 15}, "x": 0, "xref": "paper", "xanchor": "left"},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "colorway": list(PALETTE),
        "xaxis": axis,
        "yaxis": axis,
        "margin": {"l": 56, "r": 16, "t": 48, "b": 48},
        "legend": {"bgcolor": CLEAR, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
        "hoverlabel": {"bgcolor": ink["surface"], "bordercolor": ink["axis"], "font": {"color": ink["text"]}},
        "modebar": {"bgcolor": CLEAR, "color": ink["text"], "activecolor": ink["text"]},
        "sliderdefaults": {
            "bgcolor": ink["axis"],
            "activebgcolor": PALETTE[0],
            "bordercolor": ink["axis"],
            "borderwidth": 0,
            "tickcolor": ink["axis"],
            "font": {"color": ink["text"], "size": 12},
        },
        "updatemenudefaults": {"bgcolor": ink["surface"], "bordercolor": ink["axis"]},
        "annotationdefaults": {"font": {"color": ink["text"]}, "arrowcolor": ink["axis"]},
    }


def _scale(colors: list[str]) -> list[list[Any]]:
    return [[place / (len(colors) - 1), color] for place, color in enumerate(colors)]
