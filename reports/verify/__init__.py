"""Whether a page shows what its data say, and whether two results agree; without torch and without a model."""
