"""The look of what Matplotlib draws."""

from pathlib import Path

STYLE = Path(__file__).with_name("tendril.mplstyle")
