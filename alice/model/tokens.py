"""Texts, ids and single characters: the tokenizer methods of TransformerLens, with one character as one token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from alice.errors import AliceError
from alice.text import PAD
from alice.text.alphabet import pad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alice.text import Alphabet, Ids

    Rows = Tensor | Ids | Sequence[int] | Sequence[Sequence[int]]

PADDING = "<PAD>"
"""What stands for padding where every position needs a string."""


class Tokens:
    """Mixin for a model that has an `alphabet`."""

    alphabet: Alphabet

    def to_tokens(self, texts: str | Sequence[str], prepend_bos: bool | None = None) -> Tensor:
        """Return the ids of one text or several on the model's device, (batch, pos), padded on the right."""
        _refuse_bos(prepend_bos)
        texts = [texts] if isinstance(texts, str) else list(texts)
        if not texts or not all(texts):
            raise AliceError("there is an empty text; give texts of at least one character")
        ids = pad([self.alphabet.encode(text) for text in texts]).astype("int64")
        return torch.from_numpy(ids).to(next(cast(nn.Module, self).parameters()).device)

    def to_string(self, tokens: Rows) -> str | list[str]:
        """Return the text of ids, (pos,), or the texts of a batch of ids, (batch, pos); padding is left out."""
        ids = _array(tokens)
        rows = [self.alphabet.decode(row) for row in np.atleast_2d(ids)]
        return rows if ids.ndim == 2 else rows[0]

    def to_str_tokens(
        self, texts: str | Sequence[str] | Rows, prepend_bos: bool | None = None
    ) -> list[str] | list[list[str]]:
        """Return one string for each position of a text or of ids, or a list of them for each of several texts.

        A batch of one text gives a flat list, as in TransformerLens; padding is `<PAD>`.
        """
        _refuse_bos(prepend_bos)
        if isinstance(texts, str):
            texts = self.alphabet.encode(texts)
        elif not isinstance(texts, Tensor | np.ndarray) and any(isinstance(text, str) for text in texts):
            return [list(self.alphabet.decode(self.alphabet.encode(str(text)))) for text in texts]
        rows = [[self._symbol(int(token)) for token in row] for row in np.atleast_2d(_array(texts))]
        return rows[0] if len(rows) == 1 else rows

    def to_single_token(self, symbol: str) -> int:
        """Return the id of one character."""
        if len(symbol) != 1:
            raise AliceError(f"{symbol!r} has {len(symbol)} characters; a token of this model is exactly one")
        return int(self.alphabet.encode(symbol)[0])

    def to_single_str_token(self, token: int) -> str:
        """Return the character of one id."""
        return self._symbol(int(token))

    def get_token_position(
        self,
        single_token: str | int,
        text: str | Tensor,
        mode: Literal["first", "last"] = "first",
        prepend_bos: bool | None = None,
    ) -> int:
        """Return the first or last position of a character in a text or in ids, (pos,) or (1, pos)."""
        _refuse_bos(prepend_bos)
        if mode not in ("first", "last"):
            raise AliceError(f"mode={mode!r} is unknown; give 'first' or 'last'")
        ids = np.atleast_2d(self.alphabet.encode(text) if isinstance(text, str) else _array(text))
        if len(ids) != 1:
            raise AliceError(f"there are {len(ids)} texts; give one")
        token = self.to_single_token(single_token) if isinstance(single_token, str) else int(single_token)
        found = np.flatnonzero(ids[0] == token)
        if not len(found):
            raise AliceError(f"{self._symbol(token)!r} does not occur in the text")
        return int(found[0] if mode == "first" else found[-1])

    def _symbol(self, token: int) -> str:
        return PADDING if token == PAD else self.alphabet.decode(np.array([token]))


def _refuse_bos(prepend_bos: bool | None) -> None:
    if prepend_bos:
        raise AliceError("this model has no token for the beginning of a text; leave prepend_bos out")


def _array(tokens: Any) -> NDArray[np.int64]:
    """Return ids as an array, (pos,) or (batch, pos); raise if they are not."""
    try:
        ids = tokens.detach().cpu().numpy() if isinstance(tokens, Tensor) else np.asarray(tokens)
    except ValueError as error:
        raise AliceError("the texts have different lengths; convert them one by one, or pad them with 0") from error
    if ids.ndim not in (1, 2) or not (np.issubdtype(ids.dtype, np.integer) or ids.size == 0):
        raise AliceError(
            f"ids of shape {ids.shape} and type {ids.dtype} are not texts; give integers, (pos) or (batch, pos)"
        )
    return ids.astype(np.int64)
