"""The person that most stories are about."""

import pytest
from django.contrib.auth.models import User

from tests.runs.page_parts import make_person


@pytest.fixture
def alice(db: None) -> User:
    return make_person("alice")
