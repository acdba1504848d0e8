"""Proximal policy optimisation in numpy: advantages, losses with their gradients, Adam.

After John Schulman and others, "Proximal Policy Optimization Algorithms" (arXiv:1707.06347), with
the clipped value loss and normalised advantages that are usual since.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from workers.engine.kinds.mutate.networks import Network, Shape, log_softmax
from workers.engine.kinds.mutate.options import PpoOptions

BETAS = (0.9, 0.999)  # of Adam
LEAST_DEVIATION = 1e-5  # of advantages: where all are alike, none is better than the others
LAST_SCALE = 0.01  # of the actor's last layer at first


class Trajectory(NamedTuple):
    """What one environment did, in order. An episode that ends goes on in value, unless it is
    terminated: reaching its last step says nothing about the query."""

    observations: Any  # (steps, inputs)
    actions: Any
    rewards: Any
    after: Any  # (steps, inputs): the observations that the actions led to
    ends: Any  # the episode ended there, or the segment did
    terminated: Any  # nothing comes after it, for good


class Batch(NamedTuple):
    observations: Any
    actions: Any
    returns: Any
    advantages: Any
    log_probabilities: Any  # as when the actions were chosen
    values: Any

    def take(self, places: Any) -> "Batch":
        return Batch(*(part[places] for part in self))


class Learned(NamedTuple):
    """What an update came to: means over its mini-batches, the divergence of the whole."""

    samples: int
    policy_loss: float
    value_loss: float
    entropy: float
    kl: float  # of the policy before from the one after it
    clipped: float  # the share of the transitions whose ratio was clipped
    gradient_norm: float


class Losses(NamedTuple):
    total: float
    policy: float
    value: float
    entropy: float
    clipped: float


class Adam:
    def __init__(self, parameters: Sequence[Any], eps: float) -> None:
        self._parameters = parameters
        self._eps = eps
        self._means = [np.zeros_like(part) for part in parameters]
        self._squares = [np.zeros_like(part) for part in parameters]
        self._steps = 0

    def step(self, gradients: Sequence[Any], rate: float) -> None:
        self._steps += 1
        first, second = BETAS
        scale = rate / (1.0 - first**self._steps)
        correction = 1.0 - second**self._steps
        for place, gradient in enumerate(gradients):
            mean, square = self._means[place], self._squares[place]
            mean[...] = first * mean + (1.0 - first) * gradient
            square[...] = second * square + (1.0 - second) * gradient * gradient
            part = self._parameters[place]
            part[...] = part - scale * mean / (np.sqrt(square / correction) + self._eps)


class Ppo:
    """Actor and critic, each a network of its own, and how they learn."""

    def __init__(self, options: PpoOptions, inputs: int, actions: int, seed: int) -> None:
        random = np.random.default_rng([seed, 0])
        hidden = options.hidden_size
        self.options = options
        self.actor = Network.drawn(Shape(inputs, hidden, actions), random, LAST_SCALE)
        self.critic = Network.drawn(Shape(inputs, hidden, 1), random)
        self._seed = seed
        self._updates = 0
        self._adam = Adam([*self.actor.parameters, *self.critic.parameters], options.eps)

    def values(self, observations: Any) -> Any:
        return self.critic.run(observations).outputs[:, 0]

    def log_probabilities(self, observations: Any) -> Any:
        return log_softmax(self.actor.run(observations).outputs)

    def learn(self, trajectories: Sequence[Trajectory], progress: float = 0.0) -> Learned | None:
        """One update. None, and nothing is changed, where there is nothing to learn from.
        `progress`: how much of the training is done, from 0 to 1."""
        self._updates += 1
        if not trajectories:
            return None
        batch = self._batch(trajectories)
        rate = self.options.lr * (1.0 - progress if self.options.use_linear_lr_decay else 1.0)
        seen = [self._improve(part, rate) for part in self._mini_batches(batch)]
        for network in (self.actor, self.critic):
            network.round()
        losses, norms = [one for one, _ in seen], [norm for _, norm in seen]
        return Learned(
            samples=len(batch.actions),
            policy_loss=mean_of([one.policy for one in losses]),
            value_loss=mean_of([one.value for one in losses]),
            entropy=mean_of([one.entropy for one in losses]),
            kl=self._divergence(batch),
            clipped=mean_of([one.clipped for one in losses]),
            gradient_norm=mean_of(norms),
        )

    def _batch(self, trajectories: Sequence[Trajectory]) -> Batch:
        parts = []
        for one in trajectories:
            values = self.values(one.observations)
            advantages = self._advantages(one, values)
            rows = np.arange(len(one.actions))
            logs = self.log_probabilities(one.observations)[rows, one.actions]
            returns = advantages + values
            parts.append(Batch(one.observations, one.actions, returns, advantages, logs, values))
        whole = Batch(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        spread = whole.advantages - whole.advantages.mean()
        return whole._replace(advantages=spread / (whole.advantages.std() + LEAST_DEVIATION))

    def _advantages(self, one: Trajectory, values: Any) -> Any:
        """Generalised advantage estimates, from the last step back."""
        gamma, decay = self.options.gamma, self.options.gamma * self.options.gae_lambda
        goes_on = 1.0 - one.terminated.astype(np.float64)
        surprises = one.rewards + gamma * self.values(one.after) * goes_on - values
        advantages, ahead = np.zeros(len(values)), 0.0
        for step in reversed(range(len(values))):
            ahead = surprises[step] + (0.0 if one.ends[step] else decay * ahead)
            advantages[step] = ahead
        return advantages

    def _mini_batches(self, batch: Batch) -> Iterator[Batch]:
        samples = len(batch.actions)
        size = max(1, samples // self.options.num_mini_batch)
        for epoch in range(self.options.ppo_epoch):
            order = np.random.default_rng([self._seed, self._updates, epoch]).permutation(samples)
            for start in range(0, samples - size + 1, size):
                yield batch.take(order[start : start + size])

    def _improve(self, batch: Batch, rate: float) -> tuple[Losses, float]:
        losses, gradients = self.gradients(batch)
        norm = float(np.sqrt(sum(float((part * part).sum()) for part in gradients)))
        shorter = min(1.0, self.options.max_grad_norm / (norm + 1e-6))
        self._adam.step([part * shorter for part in gradients], rate)
        return losses, norm

    def gradients(self, batch: Batch) -> tuple[Losses, list[Any]]:
        """Of the whole loss, by all parameters of the actor, then of the critic."""
        options, count = self.options, len(batch.actions)
        actor, critic = self.actor.run(batch.observations), self.critic.run(batch.observations)
        policy = policy_loss(actor.outputs, batch, options)
        value = value_loss(critic.outputs[:, 0], batch, options)
        by_logits = (policy.by_outputs - options.entropy_coef * policy.entropy_by_outputs) / count
        by_values = options.value_loss_coef * value.by_outputs / count
        found = self.actor.gradients(actor, by_logits)
        found += self.critic.gradients(critic, by_values[:, None])
        total = policy.loss + options.value_loss_coef * value.loss
        total -= options.entropy_coef * policy.entropy
        return Losses(total, policy.loss, value.loss, policy.entropy, policy.clipped), found

    def _divergence(self, batch: Batch) -> float:
        """Schulman's estimate, which is never below zero."""
        rows = np.arange(len(batch.actions))
        logs = self.log_probabilities(batch.observations)[rows, batch.actions]
        change = logs - batch.log_probabilities
        return float((np.exp(change) - 1.0 - change).mean())


class PolicyLoss(NamedTuple):
    loss: float
    by_outputs: Any  # for each transition, not divided by their number
    entropy: float
    entropy_by_outputs: Any
    clipped: float


class ValueLoss(NamedTuple):
    loss: float
    by_outputs: Any


def policy_loss(logits: Any, batch: Batch, options: PpoOptions) -> PolicyLoss:
    logs = log_softmax(logits)
    shares = np.exp(logs)
    rows = np.arange(len(batch.actions))
    ratios = np.exp(logs[rows, batch.actions] - batch.log_probabilities)
    bounded = np.clip(ratios, 1.0 - options.clip_param, 1.0 + options.clip_param)
    free, held = ratios * batch.advantages, bounded * batch.advantages
    # Where the clipped one is smaller it is constant, and nothing pulls on the policy any more.
    pull = np.where(free <= held, -batch.advantages * ratios, 0.0)
    chosen = np.zeros_like(shares)
    chosen[rows, batch.actions] = 1.0
    entropies = -np.einsum("ni,ni->n", shares, logs)
    return PolicyLoss(
        loss=float(-np.minimum(free, held).mean()),
        by_outputs=pull[:, None] * (chosen - shares),
        entropy=float(entropies.mean()),
        entropy_by_outputs=-shares * (logs + entropies[:, None]),
        clipped=float((ratios != bounded).mean()),
    )


def value_loss(values: Any, batch: Batch, options: PpoOptions) -> ValueLoss:
    error = values - batch.returns
    if not options.use_clipped_value_loss:
        return ValueLoss(float(0.5 * (error * error).mean()), error)
    change = values - batch.values
    held = batch.values + np.clip(change, -options.clip_param, options.clip_param) - batch.returns
    is_free = error * error >= held * held
    is_inside = np.abs(change) <= options.clip_param
    loss = 0.5 * np.maximum(error * error, held * held).mean()
    return ValueLoss(float(loss), np.where(is_free, error, np.where(is_inside, held, 0.0)))


def mean_of(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
