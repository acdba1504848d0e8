"""What chance does to genomes: parents, children, changes, and rates that follow the population."""

from collections import Counter
from random import Random

import pytest

from tests.harness.table import row, table
from workers.engine.kinds.evolve.adapting import Rates, adapt
from workers.engine.kinds.evolve.crossover import CROSSOVER, pick_genes
from workers.engine.kinds.evolve.genomes import GENOMES, SectionGenome, WordGenome, words_of
from workers.engine.kinds.evolve.mutation import change_words
from workers.engine.kinds.evolve.selection import SELECTION
from workers.engine.kinds.evolve.vocabulary import Vocabulary
from workers.engine.kinds.evolve.writing import read_prompt

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
