"""The options of strategies that learn which operator to apply, by the names that such trainers
usually have."""

from typing import Annotated

from pydantic import Field, model_validator

from workers.engine.spec.model_choice import Strict
from workers.engine.spec.parts import NotSwitch

MOST_TRANSITIONS = 16_384  # of an update: while it learns from them, nothing is planned
MOST_WORK = 2_500_000_000  # multiplications to learn from an update: 3 s, a quarter of a lease
UPDATES = 20  # where neither updates nor num_env_steps is given


class TrainingOptions(Strict):
    num_processes: Annotated[int, Field(ge=1, le=1024), NotSwitch] = Field(
        16,
        title="Environments",
        description="Environments that go on at once. Each plays one segment in an update.",
    )
    num_steps: Annotated[int, Field(ge=1, le=256), NotSwitch] = Field(
        32, title="Steps", description="Steps of each environment in an update: a segment."
    )
    num_env_steps: Annotated[int, Field(ge=1, le=10_000_000), NotSwitch] | None = Field(
        None,
        title="Steps in all",
        description="Steps of all environments in all updates. Instead of updates.",
    )
    updates: Annotated[int, Field(ge=1, le=10_000), NotSwitch] | None = Field(
        None,
        description="How often the policy is changed. Empty: num_env_steps // num_steps // "
        f"num_processes, at least 1; without num_env_steps {UPDATES}.",
    )

    @model_validator(mode="after")
    def check_updates(self) -> "TrainingOptions":
        if self.updates is not None and self.num_env_steps is not None:
            raise ValueError("Give updates or num_env_steps, not both.")
        if (steps := self.num_processes * self.num_steps) > MOST_TRANSITIONS:
            raise ValueError(
                f"{steps:,} transitions in an update are more than the {MOST_TRANSITIONS:,} that "
                "can be learnt from at once. Lower num_processes or num_steps."
            )
        return self

    @property
    def count_updates(self) -> int:
        if self.updates is not None:
            return self.updates
        if self.num_env_steps is None:
            return UPDATES
        return max(1, self.num_env_steps // self.num_steps // self.num_processes)


class UcbOptions(TrainingOptions):
    exploration: Annotated[float, Field(ge=0, le=10), NotSwitch] = Field(
        1.0, description="How much an operator that was used little is preferred."
    )


class PpoOptions(TrainingOptions):
    ppo_epoch: Annotated[int, Field(ge=1, le=100), NotSwitch] = Field(
        4, title="Epochs", description="How often each update goes over its transitions."
    )
    num_mini_batch: Annotated[int, Field(ge=1, le=1024), NotSwitch] = Field(
        4, title="Mini-batches", description="Into how many parts an epoch cuts them."
    )
    lr: Annotated[float, Field(gt=0, le=1), NotSwitch] = Field(
        5e-4, title="Learning rate", description="Of Adam."
    )
    eps: Annotated[float, Field(gt=0, le=1), NotSwitch] = Field(
        1e-5, title="Adam's epsilon", description="Added to the denominator of Adam's steps."
    )
    gamma: Annotated[float, Field(ge=0, le=1), NotSwitch] = Field(
        0.95, title="Discount", description="What a reward one step later is worth."
    )
    gae_lambda: Annotated[float, Field(ge=0, le=1), NotSwitch] = Field(
        0.95, title="GAE lambda", description="How far advantages look ahead."
    )
    clip_param: Annotated[float, Field(gt=0, le=1), NotSwitch] = Field(
        0.2, title="Clip", description="How far an update may move a probability or a value."
    )
    value_loss_coef: Annotated[float, Field(ge=0, le=100), NotSwitch] = Field(
        0.5, title="Value loss", description="The weight of the critic's loss."
    )
    entropy_coef: Annotated[float, Field(ge=0, le=10), NotSwitch] = Field(
        0.03, title="Entropy", description="The weight of the policy's entropy."
    )
    max_grad_norm: Annotated[float, Field(gt=0, le=1000), NotSwitch] = Field(
        0.5, title="Gradient norm", description="Longer gradients are shortened to this."
    )
    use_clipped_value_loss: bool = Field(
        True, description="Clip the critic's loss as the policy's."
    )
    use_linear_lr_decay: bool = Field(
        False, description="Let the learning rate fall to zero over the updates."
    )
    hidden_size: Annotated[int, Field(ge=1, le=512), NotSwitch] = Field(
        64, title="Hidden size", description="Of each of the two hidden layers, ReLU."
    )
