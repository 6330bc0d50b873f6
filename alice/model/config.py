"""The configuration of a model: a frozen dataclass, checked on construction, strict about unknown keys."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

from alice.errors import AliceError, nearest
from alice.fields import with_floats
from alice.text import ENGLISH, RELABELS, Alphabet, Relabel

Variant = Literal["base", "bijective", "dynamic"]
QueryInit = Literal["symbol", "random"]
LONGEST_TEXT = 1_000_000
MOST_ITERATIONS = 1000
MOST_LAYERS = 1000
"""A block costs time and memory even if it has few weights."""
LARGEST_TABLES = 2**25
"""Bound of the numbers in all rotary tables, 128 MB."""
LARGEST_SIZE = 10**9
"""Bound of every size, far beyond any model."""
LARGEST_NUMBER = 1e30
"""Bound of every real-valued setting, well inside single precision."""
VARIANTS: tuple[str, ...] = get_args(Variant)
QUERY_INITS: tuple[str, ...] = get_args(QueryInit)


@dataclass(frozen=True)
class ModelConfig:
    """Architecture of one ALICE model; names follow TransformerLens where it has one."""

    variant: Variant = "base"
    """Decoding head and embedding: linear head, permutation head, or embeddings from a hypernetwork."""
    d_model: int = 128
    """Width of the residual stream."""
    n_layers: int = 6
    """Transformer blocks of the backbone."""
    n_heads: int = 4
    """Attention heads of each block; must divide d_model into an even d_head."""
    d_mlp: int = 384
    """Hidden width of the SwiGLU feed-forward layer."""
    symbols: str = ENGLISH.symbols
    """The alphabet, in the order of its ids; padding comes first and is not listed."""
    n_ctx: int = 1024
    """Longest text the model accepts."""
    norm_eps: float = 1e-5
    """Added to the mean square in RMSNorm."""
    rope_theta: float = 10_000.0
    """Base of the rotary frequencies."""
    dropout: float = 0.0
    """Dropout on what attention and feed-forward add to the residual stream."""
    attention_dropout: float = 0.0
    """Dropout on the attention patterns of the blocks."""
    stochastic_depth: float = 0.0
    """Probability of skipping a whole branch for a text, in training."""
    stochastic_depth_linear: bool = False
    """Whether that probability rises linearly from 0 in the first block to its value in the last one."""
    init_std: float = 0.02
    """Standard deviation of the initial weights."""
    query_init: QueryInit = "symbol"
    """How queries start (bijective, dynamic): as the embedding of their symbol in the bijective head and like any other
    weight in the hypernetwork, or as normal random numbers, of standard deviation d_model ** -0.5 and 1."""
    cross_heads: int = 1
    """Heads of the cross-attention in the bijective head."""
    cross_skip: bool = False
    """Whether a symbol's own pooled vector is added to what its query gathered (bijective)."""
    sinkhorn_tau: float = 4.75
    """Temperature of the Gumbel-Sinkhorn relaxation (bijective)."""
    sinkhorn_iters: int = 6
    """Row and column normalisations in training (bijective)."""
    gumbel_noise: float = 1.0
    """Scale of the Gumbel noise in training (bijective)."""
    hyper_layers: int = 2
    """Transformer blocks of the embedding hypernetwork (dynamic)."""
    hyper_heads: int = 4
    """Attention heads of the hypernetwork (dynamic)."""
    hyper_skip: bool = False
    """Whether a symbol's fixed embedding is added to what its query gathered (dynamic)."""
    hyper_mlp: int = 0
    """Hidden width of the hypernetwork's feed-forward layers; 0 for that of the backbone (dynamic)."""
    hyper_dropout: bool = True
    """Whether dropout and stochastic depth act in the hypernetwork, too (dynamic)."""
    hyper_sees_padding: bool = False
    """Whether the hypernetwork reads padding as if it were text, in training only, as in the authors' code (dynamic).
    Answers never depend on padding."""
    whole_vocab: bool = False
    """Whether any id can be an answer, also padding, as in the authors' code; the bijective head then permutes all ids.
    Otherwise padding is never an answer, and the bijective head permutes letters only."""
    hyper_rope_truncated: bool = False
    """Whether the hypernetwork's rotary table is truncated to whole numbers, a bug of the authors' code (dynamic)."""
    relabel: Relabel = "none"
    """How the model renames the letters of a text before it reads them: not at all, by frequency, or by first
    appearance. Ids and answers keep their own names outside of the model; only weights by symbol have the new ones."""

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise AliceError(
                f"variant {self.variant!r:.60} is not one of {', '.join(VARIANTS)}{nearest(self.variant, VARIANTS)}"
            )
        if self.query_init not in QUERY_INITS:
            raise AliceError(f"query_init {self.query_init!r:.60} is not one of {', '.join(QUERY_INITS)}")
        if self.relabel not in RELABELS:
            raise AliceError(f"relabel {self.relabel!r:.60} is not one of {', '.join(RELABELS)}")
        self._check_sizes()
        self._check_numbers()
        Alphabet(self.symbols)

    def _check_sizes(self) -> None:
        sizes = ("d_model", "n_layers", "n_heads", "d_mlp", "n_ctx", "cross_heads", "hyper_layers", "hyper_heads")
        for name in (*sizes, "sinkhorn_iters"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise AliceError(f"{name}={getattr(self, name)!r:.60} must be a whole number of at least 1")
        if not isinstance(self.hyper_mlp, int) or self.hyper_mlp < 0:
            raise AliceError(f"hyper_mlp={self.hyper_mlp!r:.60} must be a whole number of at least 0")
        limits = dict.fromkeys(("d_model", "d_mlp", "hyper_mlp"), LARGEST_SIZE)
        limits |= {"n_ctx": LONGEST_TEXT, "sinkhorn_iters": MOST_ITERATIONS}
        for name, limit in (limits | dict.fromkeys(("n_layers", "hyper_layers"), MOST_LAYERS)).items():
            if getattr(self, name) > limit:
                raise AliceError(f"{name}={getattr(self, name)!r:.60} is above the limit of {limit:,}; lower it")
        for name in ("n_heads", "hyper_heads"):
            self._check_heads(name, even=True)
        self._check_heads("cross_heads", even=False)
        if (numbers := self._rotary_numbers()) > LARGEST_TABLES:
            raise AliceError(
                f"n_ctx={self.n_ctx} needs rotary tables of {numbers:,} numbers, above the limit of "
                f"{LARGEST_TABLES:,}; lower it, or use more heads or fewer layers"
            )

    def _rotary_numbers(self) -> int:
        """Return the size of the rotary tables of all blocks."""
        hyper = (self.n_blocks - self.n_layers) * self.d_model // self.hyper_heads
        return self.n_ctx * (self.n_layers * self.d_head + hyper)

    def _check_numbers(self) -> None:
        for name in ("dropout", "attention_dropout", "stochastic_depth"):
            if not 0 <= getattr(self, name) < 1:
                raise AliceError(f"{name}={getattr(self, name)!r:.60} must be at least 0 and less than 1")
        for name in ("sinkhorn_tau", "norm_eps", "rope_theta", "init_std"):
            if not 0 < getattr(self, name) < LARGEST_NUMBER:  # also refuses NaN
                raise AliceError(
                    f"{name}={getattr(self, name)!r:.60} must be positive and less than {LARGEST_NUMBER:g}"
                )
        if not 0 <= self.gumbel_noise < LARGEST_NUMBER:
            raise AliceError(
                f"gumbel_noise={self.gumbel_noise!r:.60} must be at least 0 and less than {LARGEST_NUMBER:g}"
            )

    def _check_heads(self, name: str, *, even: bool) -> None:
        heads = getattr(self, name)
        if self.d_model % heads:
            raise AliceError(
                f"d_model={self.d_model!r:.60} does not divide into {name}={heads!r:.60}; change one of them"
            )
        if even and (self.d_model // heads) % 2:
            raise AliceError(
                f"d_model / {name} = {self.d_model // heads!r:.60} must be even for rotary embeddings; "
                "change one of them"
            )

    @property
    def d_head(self) -> int:
        """Width of one attention head."""
        return self.d_model // self.n_heads

    def skip_rates(self, blocks: int) -> list[float]:
        """Return the probability of skipping a branch of each of `blocks` blocks, in training."""
        if not self.stochastic_depth_linear:
            return [self.stochastic_depth] * blocks
        return [self.stochastic_depth * number / max(1, blocks - 1) for number in range(blocks)]

    @property
    def d_vocab(self) -> int:
        """Number of ids, padding included."""
        return len(self.symbols) + 1

    @property
    def n_blocks(self) -> int:
        """Number of Transformer blocks, the hypernetwork's included."""
        return self.n_layers + (self.hyper_layers if self.variant == "dynamic" else 0)

    @property
    def block_weights(self) -> int:
        """Number of weights in the matrices of all blocks, the hypernetwork's included."""
        mlp = self.n_layers * self.d_mlp + (self.n_blocks - self.n_layers) * (self.hyper_mlp or self.d_mlp)
        return self.d_model * (4 * self.d_model * self.n_blocks + 3 * mlp)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for config.json."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any], *, where: str = "config") -> Self:
        """Build from plain values; an unknown key or a value of the wrong type is an error naming it."""
        known = {f.name: f.default for f in fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise AliceError(f"{where}: unknown key {name!r:.60}{nearest(name, known)}")
            wanted = (int, float) if isinstance(known[name], float) else type(known[name])
            if not isinstance(value, wanted) or (isinstance(value, bool) and not isinstance(known[name], bool)):
                raise AliceError(f"{where}: {name} should be {type(known[name]).__name__}, not {value!r:.60}")
        numbers = {name for name, default in known.items() if isinstance(default, float)}
        try:
            return cls(**with_floats(values, numbers))
        except AliceError as error:
            raise AliceError(f"{where}: {error}") from error
