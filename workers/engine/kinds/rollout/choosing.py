"""`auto`: which lane a policy plays on, by its first steps, and the sentence that says why."""

from typing import NamedTuple

from workers.engine.playing.measuring import Facts
from workers.engine.playing.plans import BATCH, INLINE, PROCESS, THREAD

WAITS = 0.5  # a policy that computes less than this share of its time waits for something
WORTH_SECONDS = 0.0005  # an action below this is over before a thread has started
BATCH_GAIN = 1.3  # a batch must be so much faster: side by side, each episode waits for all
EXCHANGE_SHARE = 0.5  # of the time of an action: above it, processes lose what they gain


class Choice(NamedTuple):
    lane: str  # as a person names it: thread, batch or process
    inside: str  # how its agents act inside an episode
    reason: str
    warning: str = ""


def choose(wanted: str, facts: Facts, *, spare: int, by_agents: bool) -> Choice:
    """`spare`: the slots that episodes leave over, so that agents of one can have them;
    `by_agents`: whether agents may act at once at all."""
    if wanted == "auto":
        return choose_freely(facts, spare=spare, by_agents=by_agents)
    return as_wanted(wanted, facts, spare=spare, by_agents=by_agents)


def choose_freely(facts: Facts, *, spare: int, by_agents: bool) -> Choice:
    step = milliseconds(facts.step_seconds)
    waits = facts.cpu_seconds < WAITS * facts.step_seconds
    if waits and facts.step_seconds >= WORTH_SECONDS and facts.agents > 1 and by_agents:
        share = 1 - facts.cpu_seconds / facts.step_seconds
        why = f"an action takes {step}, of which it waits {share:.0%}: its agents wait at once"
        return Choice(THREAD, THREAD, why)
    if facts.batch_seconds is not None and facts.step_seconds > BATCH_GAIN * facts.batch_seconds:
        gain = facts.step_seconds / max(facts.batch_seconds, 1e-9)
        why = f"step_batch is {gain:.0f} times as fast for each agent as one by one ({step})"
        return Choice(BATCH, BATCH, why)
    is_long = facts.exchange_seconds < EXCHANGE_SHARE * facts.step_seconds
    if spare > 1 and facts.agents > 1 and by_agents and is_long:
        why = f"an action computes for {step} and slots are left over: agents share processes"
        return Choice(PROCESS, PROCESS, why)
    why = f"an action computes for {step}: whole episodes in processes of their own"
    return Choice(PROCESS, INLINE, why)


def as_wanted(wanted: str, facts: Facts, *, spare: int, by_agents: bool) -> Choice:
    """A lane that was named is used; what speaks against it is said."""
    step = milliseconds(facts.step_seconds)
    if wanted == BATCH:
        if facts.batch_seconds is None:
            why = "the configuration chose batch, which needs a step_batch"
            told = "the policy has no step_batch: its agents act one by one"
            return Choice(PROCESS, INLINE, why, told)
        return Choice(BATCH, BATCH, "chosen by the configuration")
    if wanted == THREAD:
        computes = facts.cpu_seconds >= WAITS * facts.step_seconds
        told = "it computes, and threads of one process share a core" if computes else ""
        inside = THREAD if by_agents and facts.agents > 1 else INLINE
        return Choice(THREAD, inside, "chosen by the configuration", told)
    if not by_agents or facts.agents < 2 or spare < 2:
        return Choice(PROCESS, INLINE, "chosen by the configuration")
    share = facts.exchange_seconds / max(facts.step_seconds, 1e-9)
    told = ""
    if share > EXCHANGE_SHARE:
        told = (
            f"sending an observation takes {milliseconds(facts.exchange_seconds)}, an action "
            f"{step}: agents in processes lose what they gain"
        )
    return Choice(PROCESS, PROCESS, "chosen by the configuration", told)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2g} ms"
