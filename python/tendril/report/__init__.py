"""Reports: `page` and `plots` for all pages; of a run (`python -m tendril.report`), of a plan, of published tables."""

from tendril.report.style import STYLE

__all__ = ["STYLE"]
