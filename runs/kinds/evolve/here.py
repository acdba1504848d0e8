"""What an evolution found that ran in the process of a command."""

from runs.kinds.base import RunHere
from workers.engine.kinds.evolve import Evolution, life_in
from workers.engine.kinds.evolve.report import EvolutionReport, report_of
from workers.engine.session import Session


def evolution_here(run: RunHere) -> EvolutionReport:
    configuration = run.configuration
    assert isinstance(configuration, Evolution)  # its kind was asked
    begun = configuration.begin(run.cases)
    session = Session(begun)
    session.replay(len(run.scores), run.scores)
    session.plan(1)  # a life that is over says why
    return report_of(life_in(begun), len(run.scores), configuration.options.most_measured)
