"""What all pages share: templates with escaping on, inlined style and scripts, and the policy that guards them.

The Content-Security-Policy names each inlined script by its hash, so nothing that slipped into a page could run.
It works from `file://` too: there a script file beside the page is let through by a nonce, since browsers disagree
about 'self' and refuse hashes of files.
"""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from alice.reports.plot_json import visible


@cache
def resource(name: str) -> str:
    """Return a file of this package as text."""
    return files("alice.reports").joinpath(name).read_text(encoding="utf-8")


def render(template: str, **values: Any) -> str:
    """Fill a template; every value is escaped unless the template says `safe`."""
    return visible(_environment().get_template(template).render(**values))


@cache
def script_hash(script: str) -> str:
    """Return the source expression of an inlined script for a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode('ascii')}'"


def policy(scripts: Iterable[str]) -> str:
    """Return a Content-Security-Policy that runs only the given sources and connects to nothing."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(scripts)}",
            "style-src 'unsafe-inline'",  # Plotly sets styles; without script or url() they can do no harm
            "img-src data: blob:",  # Plotly draws exported pictures through these
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FunctionLoader(resource)
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
