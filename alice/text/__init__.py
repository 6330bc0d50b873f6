"""Texts before a model reads them: alphabets, keys and ciphers, cleaning, corpora, batches, counterfactual texts.

Everything from a file or dataset to an encrypted batch of ids belongs here, also the split into training,
validation and test texts. This room imports no other.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.text.alphabet import ALPHABETS as ALPHABETS
    from alice.text.alphabet import ENGLISH as ENGLISH
    from alice.text.alphabet import LETTERS as LETTERS
    from alice.text.alphabet import LETTERS_AND_SPACE as LETTERS_AND_SPACE
    from alice.text.alphabet import PAD as PAD
    from alice.text.alphabet import Alphabet as Alphabet
    from alice.text.alphabet import Ids as Ids
    from alice.text.batches import Batch as Batch
    from alice.text.batches import Batches as Batches
    from alice.text.batches import BatchLimit as BatchLimit
    from alice.text.batches import BatchStream as BatchStream
    from alice.text.batches import EncodedTexts as EncodedTexts
    from alice.text.batches import KeySource as KeySource
    from alice.text.batches import text_keys as text_keys
    from alice.text.cipher import N_LETTERS as N_LETTERS
    from alice.text.cipher import RELABELS as RELABELS
    from alice.text.cipher import Key as Key
    from alice.text.cipher import KeyArray as KeyArray
    from alice.text.cipher import Relabel as Relabel
    from alice.text.cipher import encrypt_ids as encrypt_ids
    from alice.text.cipher import invert as invert
    from alice.text.cipher import key_pool as key_pool
    from alice.text.cipher import random_keys as random_keys
    from alice.text.cleaning import Cleaner as Cleaner
    from alice.text.cleaning import Folding as Folding
    from alice.text.cleaning import Reason as Reason
    from alice.text.corpus import QUOTES as QUOTES
    from alice.text.corpus import Corpus as Corpus
    from alice.text.corpus import Tally as Tally
    from alice.text.corpus import open_corpus as open_corpus
    from alice.text.counterfactuals import KINDS as KINDS
    from alice.text.counterfactuals import Counterfactuals as Counterfactuals
    from alice.text.counterfactuals import Pair as Pair
    from alice.text.counterfactuals import Words as Words
    from alice.text.frequencies import LEWAND as LEWAND
    from alice.text.frequencies import lewand as lewand
    from alice.text.multilingual import segments as segments
    from alice.text.overlap import SHARED as SHARED
    from alice.text.overlap import overlapping as overlapping
    from alice.text.split import Split as Split
    from alice.text.split import is_test as is_test
    from alice.text.split import letters_of as letters_of
    from alice.text.split import split_of as split_of
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "alphabet": (
                "ALPHABETS",
                "Alphabet",
                "ENGLISH",
                "Ids",
                "LETTERS",
                "LETTERS_AND_SPACE",
                "PAD",
            ),
            "batches": (
                "Batch",
                "BatchLimit",
                "BatchStream",
                "Batches",
                "EncodedTexts",
                "KeySource",
                "text_keys",
            ),
            "cipher": (
                "Key",
                "KeyArray",
                "N_LETTERS",
                "RELABELS",
                "Relabel",
                "encrypt_ids",
                "invert",
                "key_pool",
                "random_keys",
            ),
            "cleaning": (
                "Cleaner",
                "Folding",
                "Reason",
            ),
            "corpus": (
                "Corpus",
                "QUOTES",
                "Tally",
                "open_corpus",
            ),
            "counterfactuals": (
                "Counterfactuals",
                "KINDS",
                "Pair",
                "Words",
            ),
            "frequencies": (
                "LEWAND",
                "lewand",
            ),
            "multilingual": ("segments",),
            "overlap": (
                "SHARED",
                "overlapping",
            ),
            "split": (
                "Split",
                "is_test",
                "letters_of",
                "split_of",
            ),
        },
    )
