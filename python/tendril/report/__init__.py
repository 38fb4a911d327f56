"""Reports: `page` and `plots` for all pages; of a run (`python -m tendril.report`), of a plan, of published tables."""

from pathlib import Path

#: The look of what Matplotlib draws.
STYLE = Path(__file__).with_name("tendril.mplstyle")
