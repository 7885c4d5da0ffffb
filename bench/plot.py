"""Plots: an SVG that is the same for the same figures."""

from contextlib import contextmanager
from pathlib import Path


@contextmanager
def svg(path, **options):
    """A figure and its axes, saved at the end."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "aerogram"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(**options)
    yield figure, axes
    figure.tight_layout()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
