"""How fit a prompt is, who becomes a parent, and when an evolution ends."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from tests.engine.evolve.test_life import evolution, judged, live
from tests.harness.table import row, table
from workers.engine.kinds.evolve.adapting import Rates, adapt
from workers.engine.kinds.evolve.crossover import CROSSOVER, pick_genes
from workers.engine.kinds.evolve.fitness import Sample, Weights, fitness_of
from workers.engine.kinds.evolve.frontier import best_at, draw_complement
from workers.engine.kinds.evolve.genomes import GENOMES, SectionGenome, WordGenome, words_of
from workers.engine.kinds.evolve.kinship import estimate
from workers.engine.kinds.evolve.mutation import change_words
from workers.engine.kinds.evolve.population import Birth, Individual, ranked
from workers.engine.kinds.evolve.problems import STAGES, cases_in, order_of_cases
from workers.engine.kinds.evolve.selection import SELECTION
from workers.engine.kinds.evolve.stopping import Progress, Rules, reason_to_stop
from workers.engine.kinds.evolve.vocabulary import Vocabulary
from workers.engine.kinds.evolve.writing import read_prompt
from workers.engine.records import PROPOSE, Candidate, Score

REFLECTIVE = {"preset": "reflective", "population_size": None, "elite_size": None}
RULES = Rules(target_fitness=0.85, max_generations=100, patience=20, least_diversity=0.05)


def right(length=100):
    return Sample(1.0, True, length)


def wrong(length=100):
    return Sample(0.0, False, length)


def known(samples, words):
    found = fitness_of(samples, words, Weights())
    assert found is not None
    return found


FAILED = Sample(None, False, 0)


def test_it_is_the_weighted_sum_of_its_parts_and_failed_calls_are_no_wrong_answers():
    found = known([right(), right(), wrong(), wrong()], 10)
    assert (found.accuracy, found.consistency, found.efficiency, found.diversity) == (0.5, 1, 1, 0)
    assert found.total == pytest.approx(0.7 * 0.5 + 0.15 + 0.1)
    # It is never below nothing.
    assert known([wrong(0), wrong(0)], 1000).total == 0.0
    # Long prompts and long answers lose.
    answers = {length: known([right(length)] * 4, 10) for length in (150, 650)}
    assert (answers[150].efficiency, answers[650].efficiency) == (1.0, 0.5)
    assert known([right()] * 4, 50).penalty == pytest.approx(0.2)
    assert known([right()] * 4, 5000).penalty == 0.5

    # Answers that vary a little are worth most.
    def bonus(*lengths):
        return known([right(length) for length in lengths], 1).diversity

    assert bonus(100, 100) == 0.0
    assert bonus(70, 130) == pytest.approx(1.0)
    assert bonus(1, 1000) == 0.0
    assert known([right(), wrong()], 1) == known([right(), wrong(), FAILED], 1)
    for too_few in ([right(), FAILED, FAILED], [FAILED], []):
        assert fitness_of(too_few, 1, Weights()) is None


def test_later_sets_of_cases_contain_the_earlier_ones():
    counts = [cases_in(generation, 100, STAGES) for generation in (0, 10, 11, 20, 21, 99)]
    assert counts == [50, 50, 75, 75, 100, 100]
    assert [cases_in(0, n, STAGES) for n in (1, 2, 3)] == [1, 1, 2]
    assert cases_in(0, 100, ()) == 100
    order = order_of_cases(100, 7)
    assert sorted(order) == list(range(100))
    assert order == order_of_cases(100, 7) != order_of_cases(100, 8)


RISING = [0.02 * n for n in range(30)]


@table(
    (RISING, 0.5, 9, ""),
    (RISING, 0.5, 0, "all of its trials failed"),
    ([0.3, 0.85], 0.5, 9, "reached the target of 0.85"),
    ([0.001 * n for n in range(100)], 0.5, 9, "all 100 generations are done"),
    ([0.5] * 21, 0.5, 9, "nothing better by 0.01 for 20 generations"),
    (RISING, 0.01, 9, "the genomes are alike"),
    ([*RISING, *[0.58] * 10], 0.5, 9, "a plateau"),
)
def test_each_rule_ends_it(best, diversity, alive, words):
    found = reason_to_stop(Progress(best, diversity, alive), RULES)
    assert words in found
    assert bool(found) == bool(words)


def test_small_gains_add_up_and_the_trials_may_be_limited():
    slow = [0.5 + 0.004 * n for n in range(25)]
    assert reason_to_stop(Progress(slow, 0.5, 9), RULES) == ""
    # The trials may be limited.
    limited = RULES._replace(max_evaluations=500)
    assert "500 of at most 500 trials" in reason_to_stop(Progress([0.1], 0.5, 9, 500), limited)
    assert reason_to_stop(Progress([0.1], 0.5, 9, 499), limited) == ""
    # Without patience a plateau does not end it.
    flat = Progress([0.5] * 30, 1.0, 3, 100)
    assert "plateau" in reason_to_stop(flat, Rules(None, 100, 50, 0.0))
    assert reason_to_stop(flat, Rules(None, 100, None, 0.0)) == ""


def prompt(name, right, of, *parents):
    samples = {(case, 0): Sample(float(case < right), case < right, 5) for case in range(of)}
    birth = Birth(0, "reflect" if parents else "seed", parents)
    return Individual(Candidate(name, name, {}), (name,), 1, birth, samples)


def test_a_lucky_prompt_is_found_out_by_its_children():
    lucky = [prompt("lucky", 28, 30), *(prompt(f"c{n}", 22, 30, "lucky") for n in range(3))]
    steady = [prompt("steady", 27, 30), *(prompt(f"d{n}", 27, 30, "steady") for n in range(3))]
    found = estimate([*lucky, *steady], 0.03)
    assert found["lucky"] < found["steady"]
    assert found["c0"] < found["lucky"] < 28 / 30
    # The fewer cases a prompt has seen the more its parents count.
    first = prompt("first", 30, 60)
    few, many = prompt("few", 4, 4, "first"), prompt("many", 400, 400, "first")
    found = estimate([first, few, many], 0.05)
    assert 0.5 < found["few"] < 0.75 < 0.85 < found["many"] < 1
    # Without a judged answer there is no estimate.
    failed = prompt("failed", 0, 0, "gone")
    assert estimate([failed], 0.03) == {}
    assert set(estimate([failed, prompt("a", 1, 2)], 0.03)) == {"a"}
    # Wide kinship leaves everyone to their own answers.
    for parents in ("a", "ab"):
        family = [prompt("a", 10, 40), prompt("b", 30, 40), prompt("c", 36, 40, *parents)]
        found = estimate(family, 1.0)
        assert found["c"] == pytest.approx(0.9, abs=0.02)
        assert found["a"] == pytest.approx(0.25, abs=0.06)


def test_few_wrong_answers_bring_more_cases_sooner():
    """Of 24 cases half come first; the first prompts have two wrong ones there."""

    def nearly_right(life, trial):
        score = judged(life, trial)
        is_wrong = trial.case in life._order[:2]
        told = score.judgements[0]._replace(passed=not is_wrong) if score.judgements else None
        told_of = (told,) if told else ()
        return replace(score, value=float(not is_wrong), judgements=told_of)

    for failures, cases in ((4, [12, 18, 24]), (2, [12, 12, 12])):
        writers = [{"reflect": {"failures": failures}}]
        life = evolution(writers, **REFLECTIVE, max_generations=3).open_strategy(24)
        live(life, nearly_right)
        assert [one.cases for one in life.generations] == cases


def test_a_parent_of_which_nothing_new_comes_lets_others_have_a_turn():
    def silent(life, trial):
        """The writer repeats what it was shown; the second prompt is the best."""
        one = next(one for one in life.candidates if one.key == trial.candidate)
        if one.role == PROPOSE:
            shown = next(text for text in texts if text in one.document["messages"][1]["content"])
            asked.append(texts.index(shown))
            return Score(trial, value=1.0, answer=f"<prompt>{shown}</prompt>")
        rights = (6, 7, 5)[texts.index(one.document["prompt"]["system"])]
        is_right = life._order.index(trial.case) < rights
        told = judged(life, trial).judgements[0]._replace(passed=is_right)
        return replace(judged(life, trial), value=float(is_right), judgements=(told,))

    asked: list[int] = []
    spec = evolution(["reflect"], **REFLECTIVE, max_generations=16)
    texts = [one.system for one in spec.prompts]
    life = spec.open_strategy(24)
    live(life, silent)
    assert asked[0] == 1
    assert set(asked) == {0, 1, 2}
    assert life.best is not None
    assert life.candidates[life.best].name == "p1"


PLACES = [(case, 0) for case in range(6)]


def individual(name, values, generation=0):
    seen = [Sample(value, value == 1.0, 5) for value in values]
    samples = dict(zip(PLACES, seen, strict=True))
    candidate = Candidate(name, name, {"prompt": {"system": name}})
    return Individual(candidate, (name,), 1, Birth(generation, "seed"), samples)


@table(
    row([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0]], [3, 2], id="each knows something"),
    row([[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]], [3, 0], id="one adds nothing"),
    row([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 0]], [2, 2, 0], id="two know all"),
    row([[0, 0, 0, 0, 0, 0]] * 2, [1, 1], id="nobody knows anything: all alike"),
    row([[1, None, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], [1, 1], id="a failure"),
)
def test_parents_are_those_that_know_what_no_better_one_knows(tables, shares):
    alive = [individual(str(number), values) for number, values in enumerate(tables)]
    assert best_at(alive, PLACES) == shares


def test_the_second_parent_knows_what_the_first_does_not():
    first = individual("first", [1, 1, 1, 0, 0, 0])
    same, other = individual("same", [1, 1, 1, 0, 0, 0]), individual("other", [0, 0, 0, 1, 0, 0])
    drawn = {draw_complement(Random(n), first, [same, other], PLACES).key for n in range(20)}
    assert drawn == {"other"}
    assert draw_complement(Random(1), first, [same], PLACES) is same
    # Of equals the younger comes first, and the failed last.
    old, young = individual("old", [1] * 6), individual("young", [1] * 6, generation=3)
    better, failed = individual("better", [1] * 6), individual("failed", [None] * 6, generation=4)
    worse = individual("worse", [0, 1, 1, 1, 1, 1], generation=5)
    order = ranked([failed, worse, old, young, better], PLACES, Weights.of_score_alone())
    assert [one.key for one, _ in order] == ["young", "old", "better", "worse", "failed"]


def reflective(**options):
    writers = [{"reflect": {"weight": 2}}, "combine"]
    return evolution(writers, **REFLECTIVE, max_generations=6, **options).open_strategy(20)


def test_writers_begin_with_the_first_prompts_and_take_turns_where_they_have_what_they_need():
    life = reflective()
    live(life)
    assert [one.candidate.name for one, _ in life.generations[0].standing] != []
    assert {one.birth.operator for one, _ in life.generations[0].standing} == {"seed"}
    assert len(life.generations[0].standing) == 3
    spec = evolution(["reflect"], **REFLECTIVE)
    bounds = spec.bound_trials(20)
    assert bounds.least == 3 * 10
    assert bounds.least <= len(live(spec.open_strategy(20))) <= bounds.most + spec.count_told(20)
    # With one prompt alive, two cannot be combined: it is reflected on instead.
    spec = evolution(["combine", "reflect"], max_generations=2, fill="none", least_diversity=0.0)
    alone = spec.model_copy(update={"prompts": spec.prompts[:1]}).open_strategy(12)
    live(alone)
    names = Counter(one.name.partition(" ")[0] for one in alone.candidates if one.role == PROPOSE)
    assert set(names) == {"reflect"}


def test_a_gate_has_other_cases_in_every_generation():
    tried: dict[int, set[int]] = {}

    def worse(life, trial):
        one = next(one for one in life.candidates if one.key == trial.candidate)
        if one.role != PROPOSE and one.name.startswith("g"):
            tried.setdefault(int(one.name[1:].partition(".")[0]), set()).add(trial.case)
            return replace(judged(life, trial), value=0.0)
        score = judged(life, trial)
        return score if one.role == PROPOSE else replace(score, value=1.0)

    life = reflective(gate=3)
    live(life, worse)
    assert all(len(cases) == 3 for cases in tried.values())
    assert len(set(map(frozenset, tried.values()))) > 1


# --- Chance: parents, children, changes, and rates that follow the population


FITNESSES = [0.1, 0.9, 0.5, 0.3]
A, B = tuple("abcdefgh"), tuple("ABCDEFGHIJ")


@table(*SELECTION)
def test_parents_are_chosen_by_fitness_and_by_the_seed(name):
    select = SELECTION[name]
    chosen = select(Random(1), FITNESSES, 400, 2)
    assert chosen == select(Random(1), FITNESSES, 400, 2)
    counts = Counter(chosen)
    assert len(chosen) == 400
    assert counts[1] > counts[3] > counts[0] or name == "elitist"
    assert counts[1] >= 400 / 4
    # Also where nobody is fit, or alone.
    assert set(select(Random(1), [0.0, 0.0, 0.0], 30, 3)) <= {0, 1, 2}
    assert select(Random(1), [0.4], 4, 3) == [0, 0, 0, 0]


def test_ranks_and_the_wheel_give_each_its_share():
    counts = Counter(SELECTION["rank"](Random(1), FITNESSES, 40_000, 3))
    wanted = {0: 0.125, 3: 0.2083, 2: 0.2917, 1: 0.375}  # (2 - s + 2 (s - 1) r / (n - 1)) / n
    for place, share in wanted.items():
        assert counts[place] / 40_000 == pytest.approx(share, abs=0.01)
    # One turn of the wheel gives each its share.
    counts = Counter(SELECTION["sus"](Random(5), [0.5, 0.25, 0.25], 8, 3))
    assert counts == {0: 4, 1: 2, 2: 2}


@table(*CROSSOVER)
def test_no_gene_is_lost_or_made_by_crossing(name):
    for seed in range(50):
        one, other = CROSSOVER[name](Random(seed), A, B)
        assert Counter(one + other) == Counter(A + B)
        assert (one, other) == CROSSOVER[name](Random(seed), A, B)
    assert any(CROSSOVER[name](Random(seed), A, B)[0] not in (A, B) for seed in range(5))
    for short in ((), ("x",), ("x", "y")):
        one, other = CROSSOVER[name](Random(3), short, B)
        assert Counter(one + other) == Counter(short + B)


def test_changes_keep_to_their_bounds_and_to_the_columns():
    vocabulary = Vocabulary([words_of("Solve the problem carefully.")])
    text = ("Solve", "{{question}}", "carefully", "now")
    for seed in range(300):
        changed = change_words(Random(seed), text, 1.0, vocabulary)
        assert changed == change_words(Random(seed), text, 1.0, vocabulary)
        assert 3 <= len(changed) <= 50
        assert changed.count("{{question}}") == 1
        assert set(changed) <= {*vocabulary.words, *text}
    lengths = {len(change_words(Random(seed), text, 0.3, vocabulary)) for seed in range(300)}
    assert len(lengths) > 2  # some words were put in, some left out
    # A word is mostly replaced by one that means the same.
    near = vocabulary.neighbours("Solve")
    assert {"compute", "calculate"} <= set(near)
    drawn = Counter(vocabulary.instead_of("Solve", Random(seed)) in near for seed in range(500))
    assert drawn[True] > 400


@table(*GENOMES)
def test_a_text_survives_being_read_and_written(name):
    genome = GENOMES[name](["Be brief."])
    text = "You are a teacher.\n\nBe brief.\n\nOnly numbers."
    genes = genome.read(text)
    assert genome.write(genes) == text
    assert genome.distance(genes, genes) == 0.0
    assert 0 < genome.distance(genes, genome.read("Something else entirely.")) <= 1


def test_sections_are_five_and_diversity_is_the_mean_distance_of_two():
    genome = SectionGenome(["a"])
    genes = genome.read("\n\n".join(f"paragraph {n}" for n in range(8)))
    assert len(genes) == 5
    assert genes[4].count("paragraph") == 4
    assert genome.read("") == ("", "", "", "", "")
    assert genome.mutate(Random(1), genes, 0.0) == genes
    # Diversity is the mean distance of two.
    words = WordGenome(["a"])
    assert words.diversity([("a", "b"), ("a", "b")]) == 0.0
    assert words.diversity([("a", "b"), ("a", "c")]) == 0.5
    assert words.diversity([("a",)]) == 0.0


def test_rates_follow_the_population():
    rates, better, same = Rates(0.8, 0.2), [0.1 * n for n in range(7)], [0.5] * 7
    assert adapt(rates, 0.05, better[:5]) == rates  # too early to tell
    assert adapt(rates, 0.05, better) == pytest.approx(Rates(0.816, 0.22))
    assert adapt(rates, 0.9, better) == pytest.approx(Rates(0.816, 0.18))
    assert adapt(rates, 0.5, same) == pytest.approx(Rates(0.76, 0.21))
    bounds = Rates(0.9, 0.5)
    for _ in range(100):
        bounds = adapt(bounds, 0.05, same)
    assert bounds == Rates(0.5, 0.5)


@table(
    row("<prompt> Be brief. </prompt>", "Be brief.", id="as asked for"),
    row("So: <prompt>{{q}}?</prompt> and </prompt>", "{{q}}?", id="the first end"),
    row("<prompt>a <prompt> b</prompt>", "a <prompt> b", id="the first beginning"),
    row("</prompt>a<prompt>b", "", id="in the wrong order"),
    row("<prompt>{{expected}}</prompt>", "", id="another column"),
    row(f"<prompt>{'x' * 20_001}</prompt>", "", id="too long"),
    row("<prompt>" * 500_000, "", id="4 MB of beginnings: hours for a pattern"),
)
def test_what_a_writer_gives_is_read_strictly_and_at_once(answer, prompt):
    assert read_prompt(answer, frozenset({"q"})) == prompt


def test_genes_are_cut_where_they_should_be():
    # Every gene is from the first parent with the crossover rate.
    a, b = ("a", "b", "c"), ("A", "B", "C", "D")
    assert pick_genes(Random(1), a, b, 1.0) == a
    assert pick_genes(Random(1), a, b, 0.0) == b
    assert set(pick_genes(Random(1), a, b, 0.5)) <= {*a, *b}
    # A blend is cut in the middle third.
    for seed in range(50):
        one, _ = CROSSOVER["blend"](Random(seed), A, B)
        cut = sum(gene.islower() for gene in one)
        assert 2 <= cut <= 5
    # A rate of nothing changes nothing.
    vocabulary = Vocabulary([A])
    assert all(change_words(Random(seed), A, 0.0, vocabulary) == A for seed in range(20))
