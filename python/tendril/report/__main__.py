"""`python -m tendril.report DIR`: report.html of the results of one run."""

import sys

from tendril.report.run import main

sys.exit(main())
