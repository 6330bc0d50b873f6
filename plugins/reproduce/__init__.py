"""The paper's tables, figures and claims, reproduced on the models at hand and shown on one page."""
