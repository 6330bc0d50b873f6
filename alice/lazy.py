"""Re-exports that import the module behind a name on first use, so that importing a package stays fast."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` that imports each name from its module on first use.

    Args:
        package: `__name__` of the package.
        modules: the exported names of each module of the package.

    """
    owners = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in owners:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{owners[name]}"), name)

    return get
