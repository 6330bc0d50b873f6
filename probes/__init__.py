"""Probes: what can be read from a layer, independently of the model's own head.

    from alice.probes.layers import LayerProbes
    from alice.probes.tasks import tasks
    from alice.probes.tokens import TokenPairs, chosen, split_texts, stacked

    names = ctx.model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
    stored, task = ctx.store(*names), tasks(ctx.alphabet)["letter"]
    train, held_out = split_texts(count_of_texts, ctx.rng)
    probes = LayerProbes("linear").fit(TokenPairs(stored, names, [task], train), [task.classes])
    for batch, cache in stored:
        tokens = chosen(batch, held_out)  # positions in the flattened batch
        answers = probes.predict(stacked(cache, names, tokens))  # (task, layer, token)

`layers` trains the probes of all layers together, the linear ones to convergence with `linear`; `estimators` has them
as scikit-learn estimators; `tasks` defines targets and control tasks; `tokens` selects tokens of some texts from stored
activations; `scores` computes the accuracy by text, `online` the code length; `erasure` removes what a linear probe
reads.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.probes.erasure import Eraser as Eraser
    from alice.probes.erasure import fit_erasers as fit_erasers
    from alice.probes.layers import Kind as Kind
    from alice.probes.layers import LayerProbes as LayerProbes
    from alice.probes.online import OnlineCode as OnlineCode
    from alice.probes.online import losses as losses
    from alice.probes.online import online_code as online_code
    from alice.probes.scores import MostFrequent as MostFrequent
    from alice.probes.scores import Reader as Reader
    from alice.probes.scores import Shares as Shares
    from alice.probes.scores import TextScores as TextScores
    from alice.probes.scores import count_labels as count_labels
    from alice.probes.tasks import Task as Task
    from alice.probes.tasks import control as control
    from alice.probes.tokens import Shards as Shards
    from alice.probes.tokens import Splits as Splits
    from alice.probes.tokens import Texts as Texts
    from alice.probes.tokens import TokenPairs as TokenPairs
    from alice.probes.tokens import chosen as chosen
    from alice.probes.tokens import split_texts as split_texts
    from alice.probes.tokens import stacked as stacked
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "erasure": (
                "Eraser",
                "fit_erasers",
            ),
            "layers": (
                "Kind",
                "LayerProbes",
            ),
            "online": (
                "OnlineCode",
                "losses",
                "online_code",
            ),
            "scores": (
                "MostFrequent",
                "Reader",
                "Shares",
                "TextScores",
                "count_labels",
            ),
            "tasks": (
                "Task",
                "control",
            ),
            "tokens": (
                "Shards",
                "Splits",
                "Texts",
                "TokenPairs",
                "chosen",
                "split_texts",
                "stacked",
            ),
        },
    )
