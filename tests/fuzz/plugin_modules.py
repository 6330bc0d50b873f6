"""Plugin files assembled from harmless pieces: whatever they contain, they are listed, with an error if they fail.

The pieces only define, return and raise, because a fuzzer must not write programs of its own.
"""

import io
from contextlib import redirect_stderr
from unittest.mock import patch

from fuzz.pieces import Choices, Finding, new_folder

from alice.cli.options import dataclass_options
from alice.plugins import manager
from alice.plugins.analysis import help_of, summary_of

SEEDS = (b"\x00", bytes(range(30)), bytes(range(60, 0, -1)))
BUILTIN = ("alice.plugins.builtin.early_exit",)
"""One built-in plugin; loading all of them would take most of the time."""
FOLDER = new_folder()
HEADS = (
    "from dataclasses import dataclass, field\nfrom pathlib import Path\nfrom typing import Any, Literal\n"
    "from alice.plugins import Result, hookimpl\n",
    "from dataclasses import dataclass\nfrom alice.plugins import hookimpl\n",
    "",
    "import no_such_module\n",
    "\0",
    "# -*- coding: no-such-coding -*-\n",
    "alice_interp_api = 99\n",
    "class Odd(Exception):\n    def __str__(self): raise ValueError('no text')\nraise Odd\n",
    "class Odd(Exception):\n    def __str__(self): return 5\nraise Odd\n",
    "class Other(BaseException): pass\nraise Other('not an exception')\n",
    "raise SystemExit('bye')\n",
    "raise GeneratorExit\n",
    "import sys\ndel sys.modules[__name__]\nraise ValueError\n",
    "def __getattr__(name): raise RuntimeError(name)\n",
    "class Odd:\n    def __ne__(self, other): raise ValueError('odd')\nalice_interp_api = Odd()\n",
)
DECORATORS = ("@dataclass(frozen=True)\n", "@dataclass\n", "", "@dataclass(frozen=True, slots=True)\n")
BODIES = (
    '    """Count things."""', '    name = "count"', '    name = "early-exit"', '    name = "all"', "    name = 5",
    '    name = "a b"', "    n: int = 5", "    n: int", '    n: int = "x"', "    ckpt: str = ''", "    x: Any = None",
    "    xs: tuple[int, ...] = ()", "    xs: list[int] = None", "    w: Literal['a', 'b'] = 'c'",
    "    p: Path = Path()",
    "    f: float = float('nan')", "    no_n: bool = False", "    _n: int = 1", "    y: 'Missing' = 1",
    "    def run(self, ctx): return Result('T')", "    def run(self): pass", "    run = 5", "    needs = ('n',)",
    "    needs = [[]]", "    checkpoints = 'none'", "    checkpoints = []",
    "    def __post_init__(self): raise KeyError",
    "    def __post_init__(self): self.n = 2", "    __doc__ = 5", "    name = property(lambda self: 'x')",
    "    run: int = 3",
    "    n: int = field(default=5, metadata={'help': 5})", "    n: bool | None = None", "    __slots__ = ()",
)  # fmt: skip
HOOKS = (
    "@hookimpl\ndef register_analyses(): return [Count]\n",
    "@hookimpl\ndef register_analyses(): return Count\n",
    "@hookimpl\ndef register_analyses(): return [Count, Count]\n",
    "@hookimpl\ndef register_analyses(): return 'Count'\n",
    "@hookimpl\ndef register_analyses(): yield Count\n",
    "@hookimpl\ndef register_analyses(extra): return []\n",
    "@hookimpl\ndef register_analyses(): raise ValueError('a\\nb')\n",
    "@hookimpl\ndef register_analysis(): return []\n",
    "@hookimpl\ndef register_corpora(): return {'mine': lambda alphabet: None, 'x\\ny': print}\n",
    "@hookimpl\ndef register_corpora(): return {5: print}\n",
    "@hookimpl\ndef register_solvers(): return {'mine': 5}\n",
    "@hookimpl\ndef register_solvers(): return [1]\n",
    "@hookimpl(hookwrapper=True)\ndef register_solvers(): return {}\n",
    "@hookimpl(wrapper=True)\ndef register_solvers():\n    yield\n    return 5\n",
    "register_analyses = 5\n",
)


def try_input(data: bytes) -> None:
    """Write a plugin and load it among the built-in ones."""
    choices = Choices(data)
    file = FOLDER / choices.pick(["plugin.py", "a plugin.py", "json.py", "plugin.txt"])
    file.write_bytes(_source(choices).encode(errors="surrogatepass"))
    with redirect_stderr(io.StringIO()), patch.object(manager, "BUILTIN", BUILTIN):
        found = manager.build(third_party=False, files=[file])
    file.unlink()
    *builtin, plugin = found.all
    if any(one.error for one in builtin) or len(builtin) != len(BUILTIN):
        raise Finding(f"a plugin breaks others: {[one for one in builtin if one.error]}")
    if plugin.error is not None and (not plugin.error or "\n" in plugin.error):
        raise Finding(f"the error is {plugin.error!r}")
    if plugin.error is not None and (plugin.analyses or plugin.corpora or plugin.solvers):
        raise Finding(f"{plugin} failed and is used")
    for cls in plugin.analyses:  # what `run --help` does with it
        help_of(cls), summary_of(cls)
        dataclass_options(cls)(lambda **options: None)
        if found.find(str(cls.name))[0] is not cls:
            raise Finding(f"{cls} is not found by its name")


def _source(choices: Choices) -> str:
    head = choices.pick(HEADS) if not choices.below(4) else HEADS[0]
    usual = [BODIES[0], BODIES[1], BODIES[19]] if choices.below(4) else []
    body = usual + [choices.pick(BODIES) for _ in range(choices.below(4))]
    hooks = [choices.pick(HOOKS) for _ in range(1 + choices.below(2))]
    if choices.below(8) == 7:
        body.append(f"    # {choices.text()}")
    return (
        head + choices.pick(DECORATORS) + "class Count:\n" + "\n".join([*body, "    pass"]) + "\n\n" + "\n".join(hooks)
    )
