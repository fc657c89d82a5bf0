"""How the charts look."""

import matplotlib

matplotlib.use("svg")
# The same input gives the same file, and text stays text.
matplotlib.rcParams.update({
    "svg.hashsalt": "nagare",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
})

from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)
from matplotlib.ticker import FuncFormatter  # noqa: E402

from bench import DOCS, ROOT, note  # noqa: E402

# Apart in brightness too, for readers who see no colours.
COLOURS = {"nagare": "#0b5394", "plain SDK": "#e69138", "by hand": "#999999", "PostgreSQL": "#666666"}
THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}")


def figure(title, across, up):
    """An empty chart."""
    drawing, axes = pyplot.subplots(figsize=(7.2, 3.8), layout="constrained")
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.yaxis.set_major_formatter(THOUSANDS)
    return drawing, axes


def save(drawing, name):
    """Writes a chart beside the page that shows it."""
    path = DOCS / name
    drawing.savefig(path, format="svg", metadata={"Date": None}, facecolor="white")
    pyplot.close(drawing)
    note(f"drew {path.relative_to(ROOT)}")
