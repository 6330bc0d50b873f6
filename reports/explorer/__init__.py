"""The explorer: one offline page that runs a model in the browser and lets a reader take it apart."""
