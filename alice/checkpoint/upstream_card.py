"""The card of an imported checkpoint: where it came from, what was assumed, and how it did on known text."""

from alice.checkpoint.known_text import Check
from alice.checkpoint.upstream import Upstream


def card(name: str, file: str, found: Upstream, checked: Check) -> str:
    """Return the card as Markdown."""
    config = found.config
    trained = f" after {found.step:,} steps" if found.step is not None else ""
    slip = (
        "- The hypernetwork's rotary table is cut to whole numbers, as in the authors' code.\n"
        if config.hyper_rope_truncated
        else ""
    )
    verdict = "" if checked.decodes else " **It does not decode: the order of the symbols is probably another.**"
    return f"""# {name}

A `{config.variant}` ALICE model of the authors' code (al-jshen/alice), imported with `alice-interp ckpt import` from
`{file}`: the weights in `{found.source}`{trained}.

## What was assumed

- The symbols in the order of their ids, after padding: `{config.symbols}`. The authors' tokeniser is not published.
- Any id can be an answer, padding and punctuation included, as in the authors' code.
{slip}
## Check

{checked}.{verdict}
"""
