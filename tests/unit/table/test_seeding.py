"""Seeds made of rows: the same for the same rows however they come, on every platform, and others for other rows."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ArgumentError, ScoreTable
from calibrant.table.clusters import cluster_rows
from calibrant.table.seeding import generator_for

Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])
S = np.array([0.0, 0.25, 0.25, 0.7, 1.0, 0.1, 0.0, 0.1])
G = np.array([0, 0, 1, 1, 2, 2, 3, 3])


def first(rows, seed=0):
    return int(generator_for(rows, seed).bit_generator.random_raw())


def table(y=Y, s=S, **more):
    return ScoreTable.from_scores(y, s, **more)


def test_pinned():
    """Another platform, or another version, that gives other numbers would show other results for the same seed."""
    assert table().digest == 0xA1675A6DC4B6FBEF
    assert first(table()) == 0x745086776DDAB244
    assert first(table(), 1) == 0x9CCDDAB0206AEC00
    assert cluster_rows(Y, S, G).digest == 0x2DCFEDB6947E2540
    assert first(cluster_rows(Y, S, G)) == 0x5A4269AB12F13897


@pytest.mark.parametrize(
    "same",
    [
        lambda: table(Y[::-1], S[::-1]),
        lambda: table(Y == 1, S),
        lambda: table(Y.astype(np.int8), S),
        lambda: table(Y.astype(float), S),
        lambda: table(2 * Y - 1, S),
        lambda: table(np.where(Y, "yes", "no"), S, pos_label="yes"),
        lambda: table(Y, -np.where(S, -S, 0.0)),
        lambda: table(Y.astype(">i4"), S.astype(">f8")),
        lambda: table(Y, S, count=np.ones(8)),
        lambda: table(Y, S, sample_weight=np.full(8, 0.1)),
        lambda: table(np.append(Y, 1), np.append(S, 0.5), count=np.append(np.ones(8), 0.0)),
        lambda: table(Y[:3], S[:3]).merge(table(Y[3:], S[3:])),
        lambda: ScoreTable.from_counts(S, np.ones(8, dtype=np.int32), Y),
        lambda: ScoreTable.from_chunks([(Y[:5], S[:5]), (Y[5:], S[5:])]),
    ],
)
def test_same_rows(same):
    assert same().digest == table().digest


def test_single_precision_is_judged_in_double():
    s = S.astype(np.float32)
    assert table(Y, s).digest == table(Y, s.astype(np.float64)).digest != table().digest


def test_counts_are_rows():
    w = np.arange(1, 9)
    assert table(Y, S, count=w).digest == table(np.repeat(Y, w), np.repeat(S, w)).digest != table().digest


def test_long_tables_are_digested_in_parts(monkeypatch):
    from calibrant.table import seeding

    rng = np.random.default_rng(0)
    rows = table(rng.random(1000) < 0.5, rng.random(1000))
    whole = rows.digest
    monkeypatch.setattr(seeding, "_BLOCK", 7)
    assert rows.digest == whole


def test_other_rows_have_other_seeds():
    digests = [table().digest, table(1 - Y, S).digest, table(Y, S / 2).digest, table(Y[:-1], S[:-1]).digest]
    digests += [
        ScoreTable.from_counts([s], [n], [k]).digest for s in (0.0, 0.5, 1.0) for n in (1, 2, 9) for k in (0, 1)
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.slow
def test_numbers_of_neighbouring_tables_are_independent():
    """One score: tables that differ by a single positive, of which there are only n + 1."""
    draws = np.array([generator_for(ScoreTable.from_counts([0.1], [5000], [k]), 0).random(4) for k in range(5001)])
    standard = np.corrcoef(np.hstack([draws[:-1], draws[1:]]).T)[np.triu_indices(8, 1)] * np.sqrt(5000)
    assert np.abs(standard).max() < 5.0
    assert np.abs(draws.mean(axis=0) - 0.5).max() * np.sqrt(12 * 5001) < 5.0


def test_names_and_order_of_groups_do_not_matter_but_who_belongs_together():
    rows = cluster_rows(Y, S, G)
    order = np.random.default_rng(3).permutation(8)
    assert cluster_rows(Y[order], S[order], G[order]).digest == rows.digest
    assert cluster_rows(Y, S, [f"race {9 - g}" for g in G]).digest == rows.digest
    assert cluster_rows(Y, S, np.roll(G, 1)).digest != rows.digest


def test_groups_of_other_sizes_at_score_zero_are_told_apart():
    """Negatives at score 0 must not hash to nothing, or the names of such groups would decide their order."""
    y, s, g = np.zeros(6, dtype=int), np.zeros(6), np.array([0, 1, 1, 2, 2, 2])
    assert cluster_rows(y, s, g).size.tolist() == cluster_rows(y, s, 2 - g).size.tolist()


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(5)
    assert generator_for(table(), rng) is rng
    assert first(table(), np.random.SeedSequence(0)) == first(table()) != first(table(), 1)
    assert first(table(), None) != first(table(), None)


def test_what_is_no_seed_is_refused():
    with pytest.raises(ArgumentError, match="random_state"):
        generator_for(table(), "a")


def test_weights_are_digested_whatever_their_scale():
    w = np.random.default_rng(4).uniform(0.5, 2.0, 8)
    whole = table(Y, S, sample_weight=w).digest
    order = np.random.default_rng(3).permutation(8)
    assert table(Y[order], S[order], sample_weight=w[order]).digest == whole
    assert all(table(Y, S, sample_weight=w * scale).digest == whole for scale in (1e-9, 0.5, 7.0, 1e9))
    assert len({whole, table(Y, S, sample_weight=w**2).digest, table(1 - Y, S, sample_weight=w).digest}) == 3
