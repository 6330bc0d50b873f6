"""The bundled models."""

import numpy as np
import pytest

from alice.checkpoint.folder import WEIGHTS, bundled, read_config
from alice.model import Alice
from alice.model.config import VARIANTS
from alice.solving.evaluate import score
from alice.text.batches import Batches, EncodedTexts
from alice.text.cleaning import Cleaner
from alice.training.folder import read_description, read_metrics
from alice.training.presets import CPU_SIZES

LONG_TEXTS = [
    "THE MAN WHO LIVED NEXT TO THE OLD STATION TOLD US THAT NO TRAIN HAD STOPPED THERE FOR MORE THAN THIRTY YEARS, AND "
    "THAT HE STILL WOKE UP EVERY MORNING AT THE TIME WHEN THE FIRST ONE USED TO COME.",
    "IF YOU WANT TO UNDERSTAND HOW SOMETHING WORKS, TAKE IT APART AS SLOWLY AS YOU CAN, WRITE DOWN WHERE EVERY PIECE "
    "CAME FROM, AND DO NOT BE ASHAMED WHEN THERE IS A SCREW LEFT OVER AT THE END.",
    "MY SISTER NEVER LEARNED TO SWIM, BUT SHE LOVED THE WATER MORE THAN ANYBODY I KNOW; SHE WOULD SIT ON THE ROCKS FOR "
    "HOURS WITH HER FEET IN THE SEA AND COUNT THE SHIPS THAT WENT BY.",
    "THERE ARE TWO KINDS OF PEOPLE IN THIS TOWN: THOSE WHO REMEMBER THE FLOOD AND THOSE WHO ARE TIRED OF HEARING "
    "ABOUT IT. BOTH OF THEM KEEP THEIR BOOKS ON THE SECOND FLOOR.",
]


@pytest.fixture(params=list(bundled()))
def name(request):
    return request.param


def test_all_three_variants_come_with_the_package():
    assert {name: read_config(folder).variant for name, folder in bundled().items()}.items() >= {
        (variant, variant) for variant in VARIANTS
    }


def test_a_bundled_model_solves_long_texts_under_keys_it_never_saw(name):
    model = Alice.from_pretrained(name)
    texts = [Cleaner(model.alphabet).clean(text) for text in LONG_TEXTS]  # the multilingual one has letters only
    batches = Batches(EncodedTexts(texts * 5, model.alphabet), model.alphabet, seed=(2026,))  # five keys per text
    errors = score(model, batches).errors
    assert np.mean(errors) < 0.1


def test_a_bundled_model_is_as_deep_as_the_preset_says(name):
    config = read_config(bundled()[name])
    assert config.n_layers == CPU_SIZES["small"].n_layers >= 6


def test_a_bundled_model_has_a_card_with_its_command_and_its_log(name):
    folder = bundled()[name]
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert f"alice-interp evaluate --ckpt {name}" in card
    assert read_metrics(folder)[-1]["step"] > 0


def test_a_card_says_which_steps_are_those_of_the_weights_it_started_from(name):
    folder = bundled()[name]
    card, about = (folder / "card.md").read_text(encoding="utf-8"), read_description(folder)
    earlier = about["totals"]["steps"] - read_metrics(folder)[-1]["step"]
    start = bundled().get(about["started_from"])
    of_start = read_description(start)["totals"]["steps"] if start else None
    assert f"{about['totals']['steps']:,} steps" in card
    assert f"{earlier:,}" in card or ("including those of `base`" in card and earlier == of_start)


def test_all_bundled_models_together_are_small():
    assert sum((folder / WEIGHTS).stat().st_size for folder in bundled().values()) < 60e6
