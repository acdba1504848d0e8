"""How long tests wait for what must come: only something that hangs takes so long.

How quick something is, only tests say that are marked `alone`. The others run beside each other, on
machines that may have other things to do.
"""

PATIENCE_SECONDS = (
    240.0  # less than the `timeout` of pyproject.toml, so that tests can say what hangs
)
