#!/usr/bin/env python3
"""Every test of a build has one tier and a time limit.

usage: tiers_test.py CTEST BUILD_FOLDER
"""

import json
import subprocess
import sys

TIERS = {"unit", "integration", "scene", "slow"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ctest, folder = sys.argv[1:]
    listed = subprocess.run(
        [ctest, "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True, text=True
    ).stdout
    tests = json.loads(listed)["tests"]
    wrong = []
    for test in tests:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if len(TIERS & set(properties.get("LABELS", []))) != 1:
            wrong.append(f"{test['name']}: must have one of the labels {', '.join(sorted(TIERS))}: tendril_tier()")
        if "TIMEOUT" not in properties:
            wrong.append(f"{test['name']}: must have a time limit: tendril_tier()")
    print("\n".join(wrong) if wrong else f"tiers_test: {len(tests)} tests, fine")
    return 1 if wrong or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
