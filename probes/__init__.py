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

`layers` trains the probes of all layers together, `estimators` has them as scikit-learn estimators, `tasks` defines
targets and control tasks, `tokens` selects tokens of some texts from stored activations, and `scores` computes the
accuracy by text.
"""
