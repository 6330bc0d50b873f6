"""Probes that read layers: what a representation holds, beside what the model makes of it.

    from alice.probes.layers import LayerProbes
    from alice.probes.tasks import tasks
    from alice.probes.tokens import TokenPairs, chosen, split_texts, stacked

    names = ctx.model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
    stored, task = ctx.store(*names), tasks(ctx.alphabet)["letter"]
    train, held_out = split_texts(count_of_texts, ctx.rng)
    probes = LayerProbes("linear").fit(TokenPairs(stored, names, [task], train), [task.classes])
    for batch, cache in stored:
        tokens = chosen(batch, held_out)  # places in the batch laid flat
        answers = probes.predict(stacked(cache, names, tokens))  # (task, layer, token)

`alice.probes.layers` trains probes of all layers together, `alice.probes.estimators` has them as scikit-learn
estimators, `alice.probes.tasks` says what they are asked for, and `alice.probes.tokens` takes tokens of some texts from
stored activations.
"""
