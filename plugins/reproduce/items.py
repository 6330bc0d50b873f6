"""Every table and figure of the paper, in its order: which analysis gives it, or why none does."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from alice.plugins.builtin.ngram.readings import READERS
from alice.plugins.reproduce import rows
from alice.plugins.reproduce.claims import link, outcome_of
from alice.plugins.reproduce.found import Found, Ran
from alice.plugins.reproduce.paper import GENERALIZATION_STEPS
from alice.reports.reproduce import Check, Claim, Item, Row


@dataclass(frozen=True)
class Printed:
    """A table or figure of the paper, and where ours comes from."""

    label: str
    title: str
    analysis: str = ""
    """What gives ours; nothing if no analysis does."""
    rows: Callable[[Ran], Iterable[Row]] | None = None
    """Reads values off its result."""
    claim: str = ""
    """Key of the claim that it bears on."""
    variant: str = ""
    """Variant of the model that the figure is of; nothing for all."""
    reader: str = ""
    """Kind of probe that the figure is of; nothing for all."""
    note: str = ""
    absent: str = ""
    """Why there is nothing of ours, if no analysis gives it."""

    def is_about(self, check: Check, ran: Ran) -> bool:
        """Say whether a test is on what this item shows."""
        names = [model.name for model in ran.models if model.variant == self.variant]
        of_variant = not self.variant or check.subject.partition(", ")[0] in names
        return of_variant and (not self.reader or check.subject.endswith(READERS[self.reader]))


def _ngram(label: str, title: str, variant: str, reader: str) -> Printed:
    read = partial(rows.gains, variant=variant, reader=reader)
    return Printed(label, title, "ngram", read, "ngrams", variant=variant, reader=reader)


_CHAT = "A conversation with a chat service; there is nothing to run here."
_EXAMPLES = "The report follows examples through the layers; --text of early-exit takes the paper's."
ITEMS = (
    Printed("Figure 1", "Overview of the architecture", absent="A drawing; there is nothing to compute."),
    Printed("Section 2", "Pooling makes outputs consistent", "key-recovery", claim="consistent",
            note="Measured on the outputs at every place of every text."),
    Printed("Section 2.1", "Structurally valid outputs", "key-recovery", claim="valid"),
    Printed("Table 1", "Median error by length of the text", "errors-by-length", rows.medians, "worse",
            note="The paper's models have 85M parameters, and its texts are others."),
    Printed("Figure 2", "Number of errors by length of the text", "errors-by-length", rows.error_counts,
            "one-error"),
    Printed("Table 2", "Mean error of short and long texts", "errors-by-length", rows.means, "sigmas",
            note="The paper's models have 85M parameters, and its texts are others."),
    Printed("Figure 3", "Training loss and accuracy on unseen ciphers", "generalization", rows.pools, "pools",
            note=f"The paper trained a model of 85M parameters for {GENERALIZATION_STEPS:,} steps on each pool."),
    Printed("Figure 4", "The key, recovered by the bijective head", "key-recovery", rows.keys),
    Printed("Figure 5", "Texts at every exit of the base model", "early-exit", note=_EXAMPLES),
    Printed("Figure 6", "Error at every exit", "early-exit", rows.layers, "layers"),
    _ngram("Figure 7", "N-grams by layer, linear probes, base", "base", "linear"),
    Printed("Table 3", "Configurations for scaling", rows=lambda ran: rows.configurations(),
            note="The presets of this package; they are compared with what the models are built with."),
    Printed("Figure 8", "Error against training operations", "scaling", rows.sizes, "compute"),
    Printed("Table 4", "The historical Borg cipher", "borg", rows.borg),
    Printed("Appendix F", "Other names of the cipher symbols change the answer", "relabelling", rows.metrics,
            "relabelling",
            note="The paper says so of its multilingual model on the Borg cipher; here it is measured on these texts."),
    Printed("Figure 9", "Attention maps", "attention", note="The paper prints maps without numbers."),
    Printed("Figure 10", "Error of each letter against its frequency", "letter-frequency", rows.slopes, "letters"),
    Printed("Figure 11", "Texts at every exit of the bijective model", "early-exit", note=_EXAMPLES),
    Printed("Figure 12", "Permutations at every exit, first part", "early-exit", note="In the report of early-exit."),
    Printed("Figure 13", "Permutations at every exit, second part", "early-exit", note="In the report of early-exit."),
    Printed("Appendix H", "Decoding speed", "speed", rows.speeds, "slower",
            note="The paper's CPU is another, and its models are of 85M parameters: compare models of one run only."),
    Printed("Figure 14", "A chat model fails, short reasoning", absent=_CHAT),
    Printed("Figure 15", "A chat model fails, long reasoning", absent=_CHAT),
    _ngram("Figure 16", "N-grams by layer, MLP probes, base", "base", "mlp"),
    _ngram("Figure 17", "N-grams by layer, linear probes, bijective", "bijective", "linear"),
    _ngram("Figure 18", "N-grams by layer, MLP probes, bijective", "bijective", "mlp"),
    Printed("Table 5", "Similarity of n-grams at the last layer", "ngram", rows.last_layer, "probes",
            note="The paper does not say whether it takes the mean over texts or counts all texts together."),
)  # fmt: skip


def fill(printed: Printed, found: Found, claims: Iterable[Claim]) -> Item:
    """Put our values beside the paper's."""
    ran = found[printed.analysis]
    claim = next((claim for claim in claims if claim.key == printed.claim), None)
    bare = Item(
        printed.label, printed.title, claim=printed.claim, note=printed.note, outcome="not tested" if claim else None
    )
    if not printed.analysis:
        return replace(bare, rows=tuple(printed.rows(ran)) if printed.rows else (), absent=printed.absent)
    if ran.stored is None:
        return replace(bare, absent=ran.why_absent)
    if printed.variant and ran.first(printed.variant) is None:
        return replace(bare, absent=f"It takes a {printed.variant} model: give one with `--ckpt`.")
    if claim is not None:
        bare = replace(bare, outcome=outcome_of([check for check in claim.checks if printed.is_about(check, ran)]))
    return replace(bare, rows=tuple(printed.rows(ran)) if printed.rows else (), reports=(link(ran),))
