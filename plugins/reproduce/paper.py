"""Figures printed in the paper, to stand beside ours: error rates in percent, for models of 85M parameters on a GPU."""

PAPER = "Shen and Smith, ALICE: An Interpretable Neural Architecture for Generalization in Substitution Ciphers"

MEDIAN_SER = {
    "base": ["5.88 (0.00-29.29)", "0.00 (0.00-4.88)", "0.00 (0.00-0.00)", "0.00 (0.00-0.00)", "0.00 (0.00-0.00)"],
    "dynamic": ["4.76 (0.00-32.15)", "0.00 (0.00-4.88)", "0.00 (0.00-0.00)", "0.00 (0.00-0.00)", "0.00 (0.00-0.00)"],
    "bijective": ["7.14 (0.00-39.05)", "0.00 (0.00-5.66)", "0.00 (0.00-0.89)", "0.00 (0.00-0.00)", "0.00 (0.00-0.00)"],
}
"""Table 1: median with the 16th and 84th percentile, for the five bins of length."""

MEAN_SER = {
    "base": ("1.09 ± 0.07", "0.06 ± 0.01"),
    "bijective": ("1.27 ± 0.08", "0.06 ± 0.01"),
}
"""Table 2: mean with its bootstrap error, below 128 characters and above."""

OTHER_SOLVERS = {
    "Beam + 6-gram (Nuhn et al. 2013)": ("22.00", "0.00"),
    "Beam + NLM (Kambhatla et al. 2018)": ("10.89", "0.00"),
    "Beam + NLM + Freq. (Kambhatla et al. 2018)": ("11.32", "0.00"),
    "Seq2Seq + Freq. (Aldarrab and May 2021)": ("7.68", "0.00"),
    "Causal LM + Freq. (Kambhatla et al. 2023)": ("10.56", "0.00"),
    "Causal LM + Recurrence (Kambhatla et al. 2023)": ("11.30", "0.02"),
}
"""Table 2: the solvers that the paper compares itself with, each on its own test set."""
