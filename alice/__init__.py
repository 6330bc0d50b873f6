"""ALICE, a Transformer that solves cryptograms, instrumented so that every layer can be looked into."""
