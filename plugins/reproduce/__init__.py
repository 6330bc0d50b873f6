"""The paper's tables, figures and claims, reproduced on given models and shown on one page.

`plan` decides which analyses to run; `findings` holds their reports; `claims` lists what the paper claims, `checks`
tests it with the statistics of `verdicts`, and `evidence` reads what further analyses say about it; `items` sets the
numbers of the paper next to ours; `assemble` puts everything on the `page`. `facts` says what the results follow from.
What the paper prints is in `alice.plugins.paper`. Everything is read from reports by name, never by label.
"""
