"""Settings `key=value` of command lines, as the program reads them. Standard library alone."""

from __future__ import annotations

import re
from typing import Any

from tendril._errors import ModelError
from tendril._meant import meant
from tendril._reading import parse_toml

PREFIXES = ("robot.", "controller.", "option.", "body.", "geom.", "motion.", "fault.")


def parse_setting(text: str) -> tuple[str, Any]:
    """`key=value` of `--set`: a TOML value or bare words."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not key or not value:
        raise ModelError(f"--set: {text}: must be key=value, for example option.timestep=0.002")
    check_key("--set", key)
    try:
        return key, parse_toml(f"value = {value}", "--set")["value"]
    except ModelError:
        if re.search(r"[\"'\[\]{}=#,\n\r\t]", value):
            quoted = "" if re.search("[\"']", value) else f", such as '\"{value}\"'"
            raise ModelError(f"--set: {key}: {value}: must be a TOML value or bare words{quoted}") from None
        return key, value


def check_key(where: str, key: str) -> None:
    """Throws ModelError for a key that is no setting's."""
    if not key.startswith(PREFIXES) or key in PREFIXES:
        first = key.split(".")[0] + "."
        raise ModelError(f"{where}: {key}: unknown key{meant(first, PREFIXES)}, must begin with {', '.join(PREFIXES)}")
