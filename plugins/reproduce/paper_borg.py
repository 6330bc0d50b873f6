"""The paper's figures on the Borg cipher (its appendix on multilingual decryption): error rates in percent."""

MEAN_SER = {
    "Seq2Seq (Aldarrab and May 2021)": 5.47,
    "Causal LM (Kambhatla et al. 2023)": 4.10,
    "ALICE base, multilingual, 85M": 2.80,
}
"""Mean error rate; the first was measured on page 0002r, the others on 256 characters of page 0011v."""
ALICE = "ALICE base, multilingual, 85M"
RUNS, LOWEST, HIGHEST = 100, 0.00, 6.25
"""Random relabellings that the paper's mean is over, and its best and worst one."""
LENGTH = 256
"""Characters of the paper's passage."""
