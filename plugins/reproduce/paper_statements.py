"""What the paper says of its figures in words, to stand beside ours."""

ERRORS_BY_LENGTH = {
    "texts of about 75 characters with at most one error": "over 90 %",
    "texts of 150 characters or more without an error": "about 95 %",
}
"""Section on model performance: what the figure of error counts shows for the base model."""
AROUND_75 = (70, 80)
"""Lengths that we take for "about 75 characters": from the first to below the second."""
PLATEAU = 150
"""Characters from which the paper sees a plateau."""
MOSTLY_RIGHT = 0.9
"""Share of texts of about 75 characters that "contain at most one error", at least."""
