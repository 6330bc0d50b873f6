"""Re-exports that import the module behind a name on first use, so that importing a package stays fast."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` that imports each name from its module on first use.

    Args:
        package: `__name__` of the package.
        modules: the module of each exported name, relative to the package.

    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return get
