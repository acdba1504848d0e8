"""A site from Python: start runs, wait for them, and get their scores as a data frame.

    from evalsite.client import Client

    client = Client("http://127.0.0.1:8000", token)
    run = client.run("evals.yaml").wait()
    run.scores().groupby("candidate_name")["value"].mean()

Needs nothing of the site, and no package but PyYAML for files in YAML; rich, pandas or polars are
used where they are installed. docs/COMMAND_LINE.md has more.
"""

from evalsite.client.client import Client
from evalsite.client.errors import ClientError, Refused, Unreachable
from evalsite.client.run import Run

__all__ = ["Client", "ClientError", "Refused", "Run", "Unreachable"]
