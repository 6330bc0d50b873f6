"""One rule for devices: the accelerator if there is one, unless the caller names a device."""

import pytest
import torch

from alice.errors import AliceError
from alice.model.device import choose_device, default_device


@pytest.mark.parametrize(("available", "device"), [(True, "cuda"), (False, "cpu")])
def test_the_default_is_the_accelerator_if_there_is_one(monkeypatch, available, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    assert default_device() == choose_device() == torch.device(device)


def test_a_named_device_is_taken():
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("device", ["gpu", "meta", "cuda:99"])
def test_a_device_that_cannot_be_used_is_one_sentence(device):
    with pytest.raises(AliceError, match=f"cannot compute on the device '{device}'"):
        choose_device(device)
