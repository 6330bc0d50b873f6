"""The plugins that come with the package; the manager loads them like any other."""
