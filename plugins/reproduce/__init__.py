"""The paper's tables, figures and claims, reproduced on given models and shown on one page.

`plan` decides which analyses to run; `findings` holds their reports; `claims` tests what the paper claims, with the
statistics of `verdicts`; `items` sets the numbers of the paper next to ours; `assemble` puts everything on the `page`.
What the paper prints is in `alice.plugins.paper`. Everything is read from reports by name, never by label.
"""
