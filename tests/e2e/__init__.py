import pytest

# So that its assertions, too, say what they compared.
pytest.register_assert_rewrite("tests.e2e.run_page", "tests.e2e.inspection")
