"""The site's settings, but for the channel layer, which is made unreliable."""

from evalsite.settings import *  # noqa: F403
from evalsite.settings import REDIS_URL

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "tests.faults.lossy_layer.LossyLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "evalsite"},
    }
}
