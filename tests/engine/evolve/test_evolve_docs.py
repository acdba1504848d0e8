"""What docs/EVOLVE.md shows can be run."""

import re
from pathlib import Path
from typing import Any

import yaml

from workers.engine.kinds import read_configuration
from workers.engine.kinds.evolve import Evolution
from workers.engine.kinds.evolve.options import GeneticOptions

GUIDE = Path(__file__).parents[3] / "docs" / "EVOLVE.md"


def test_the_example_of_the_guide_is_a_configuration() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    found = read_configuration(yaml.safe_load(example))
    assert isinstance(found, Evolution)
    assert isinstance(found.options, GeneticOptions)
    assert (found.options.kinship, found.options.max_generations) == (0.03, 8)
    assert len(found.make_candidates()) == len(found.prompts)


def test_the_notebook_of_the_guide_prefers_the_prompt_that_the_critic_likes() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "EVOLVE.md", "exec"), names)
    assert "Check" in names["flow"].best
    assert [step.query for step in names["steps"]] == [f"What is {n} + 2?" for n in range(24)]
    assert names["steps"][0].response_shown == "42, checked"
