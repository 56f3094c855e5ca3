"""The one gate and the one publish path of word, similarity and region models."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from sightline.collection.models.lifecycle import GateReport, apply_gate, publish, stored_figures
from sightline.collection.models.versions import (
    MODEL_KINDS,
    REGIONS,
    SIMILARITY,
    TEXT,
    WORDS,
    ModelKind,
    proof_of,
)
from sightline.contracts import Json
from sightline.errors import NotBetter, StoreBusy
from sightline.store.folder import StoreFolder
from sightline.store.models import load_model
from sightline.store.versions import Version
from tests.factories.planted_stores import clusters, plant

KINDS = list(MODEL_KINDS.values())

# What models of earlier releases keep of how they were measured.
STORED: dict[str, dict[str, Json]] = {
    "words": {
        "n": 51, "candidate": 0.5, "untrained": 0.1, "p": 0.01, "helped": 40, "harmed": 3,
        "p10": 0.3, "bep": 0.2, "current": 0.45, "against_current": 0.46, "n_both": 44,
        "not_compared": False, "unproven": False, "forced": False, "tried": [], "trained": 7,
    },
    "likeness": {
        "n": 51, "candidate": 0.5, "uniform": 0.1, "single": 0.2, "p": 0.01, "helped": 40,
        "harmed": 3, "current": 0.45, "not_compared": False, "unproven": False, "forced": False,
        "tried": [],
    },
    "regions": {
        "n": 51, "candidate": 0.5, "same": 0.1, "current": 0.45, "against": 0.46, "given": 12,
        "right": 9, "unproven": False, "forced": False,
    },
    "text": {
        "n": 51, "candidate": 0.5, "untrained": 0.1, "p": 0.01, "helped": 40, "harmed": 3,
        "current": 0.45, "against_current": 0.46, "n_both": 44, "not_compared": False,
        "text_to_picture": 0.6, "picture_to_text": 0.4, "word_model": 0.7, "unproven": False,
        "forced": False, "trained": 7,
    },
}  # fmt: skip


def measured(kind: ModelKind) -> GateReport:
    """Return a report whose figures are those of `STORED`."""
    extra = {"p10": 0.3, "bep": 0.2, "single": 0.2, "given": 12, "right": 9}
    extra |= {"text_to_picture": 0.6, "picture_to_text": 0.4, "word_model": 0.7}
    common = (0.45, 0.5, 51) if kind is SIMILARITY else (0.45, 0.46, 44)
    test = {} if kind is REGIONS else {"p": 0.01, "helped": 40, "harmed": 3}
    own = {name: v for name, v in extra.items() if name in kind.figures}
    return GateReport(kind, 51, 0.5, 0.1, *common, **test, extra=own)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_figures_are_stored_under_the_names_that_earlier_releases_know(kind: ModelKind) -> None:
    more = {k: v for k, v in STORED[kind.name].items() if k in ("tried", "trained")}
    figures = stored_figures(measured(kind), False, **more)
    assert figures == STORED[kind.name]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_figures_of_earlier_releases_are_listed(kind: ModelKind) -> None:
    shown = proof_of("m", kind.name, STORED[kind.name])
    assert (shown.queries, shown.candidate, shown.untrained, shown.current) == (51, 0.5, 0.1, 0.45)
    assert shown.p == (None if kind is REGIONS else 0.01)
    assert shown.against_current == (None if kind is SIMILARITY else 0.46)
    assert shown.measure == ("F" if kind is REGIONS else "AvgP")
    assert not shown.unproven and not shown.forced


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_every_stored_figure_is_a_field_or_an_extra_figure(kind: ModelKind) -> None:
    own = {f.name for f in fields(GateReport)}
    extra = {
        "words": {"p10", "bep"}, "likeness": {"single"}, "regions": {"given", "right"},
        "text": {"text_to_picture", "picture_to_text", "word_model"},
    }  # fmt: skip
    assert set(kind.figures.values()) - own == extra[kind.name]
    assert kind.pointer in {f.name for f in fields(Version)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_what_was_not_measured_is_stored_as_null(kind: ModelKind) -> None:
    report = GateReport.unmeasured(kind)
    assert report.to_dict()["candidate"] is None and math.isnan(report.candidate)
    assert not report.is_proven and not apply_gate(report, force=True, dry_run=False)


@pytest.mark.parametrize(
    ("kind", "candidate", "baseline", "passes"),
    [
        (WORDS, 0.5, 0.1, True),
        (WORDS, 0.1, 0.1, True),
        (WORDS, 0.0995, 0.1, False),
        (SIMILARITY, 0.0995, 0.1, True),
        (SIMILARITY, 0.098, 0.1, False),
        (REGIONS, 0.0995, 0.1, True),
        (REGIONS, 0.098, 0.1, False),
        (TEXT, 0.0995, 0.1, False),
    ],
)
def test_the_gate_compares_with_the_baseline(
    kind: ModelKind, candidate: float, baseline: float, passes: bool
) -> None:
    report = GateReport(kind, 50, candidate, baseline)
    assert report.passes is passes and report.is_proven


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
@pytest.mark.parametrize(
    ("current", "n_common", "passes"), [(0.5005, 40, True), (0.502, 40, False), (0.502, 29, True)]
)
def test_the_gate_compares_with_the_model_in_use(
    kind: ModelKind, current: float, n_common: int, passes: bool
) -> None:
    report = GateReport(kind, 50, 0.5, 0.1, current, 0.5, n_common)
    assert report.passes is passes and report.below_current is not passes


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (
            GateReport(WORDS, 50, 0.2, 0.3),
            "The new word model is worse than the untrained order: mean AvgP 0.200 against 0.300 "
            "over 50 held-out queries. ",
        ),
        (
            GateReport(SIMILARITY, 50, 0.2, 0.3),
            "The new similarity model is worse than equal weights for all descriptors: mean AvgP "
            "0.200 against 0.300 over 50 held-out queries. ",
        ),
        (
            GateReport(REGIONS, 50, 0.6, 0.3, 0.7, 0.5, 50),
            "The new region model is worse than the one in use: F 0.500 against 0.700 over 50 "
            "held-out pictures. ",
        ),
    ],
)
def test_a_worse_model_is_refused_in_one_sentence_form(report: GateReport, sentence: str) -> None:
    rest = "It was not published; what is in use stays. To publish it anyway: --force."
    with pytest.raises(NotBetter) as caught:
        apply_gate(report, force=False, dry_run=False)
    assert str(caught.value) == sentence + rest
    assert apply_gate(report, force=True, dry_run=False)
    assert not apply_gate(report, force=False, dry_run=True)
    assert not apply_gate(replace(report, n=29), force=False, dry_run=False)


def pictures(store_folder: StoreFolder) -> np.ndarray:
    """Return the ids of all pictures of a store."""
    with store_folder.reader() as reader:
        return reader.snapshot.ids()


@pytest.mark.parametrize("kind", [SIMILARITY, REGIONS], ids=lambda k: k.name)
def test_a_model_is_saved_and_put_in_use(tmp_path: Path, kind: ModelKind) -> None:
    words, rows = clusters(30, 3)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    ids, model = pictures(store_folder), ({"format": 1}, {"w": np.ones(3)})
    options = {"learned_from": ids, "note": "a test", "wait": 0.0}
    name, number = publish(kind, store_folder, *model, started_from="", **options)  # type: ignore[arg-type]
    assert name.startswith(f"{kind.prefix}-")
    assert load_model(store_folder.models, name).arrays["w"].tolist() == [1, 1, 1]
    with store_folder.reader() as reader:
        assert getattr(reader.snapshot, kind.pointer) == name
        assert reader.snapshot.version == number
    with pytest.raises(StoreBusy, match="Another training was published"):
        publish(kind, store_folder, *model, started_from="", **options)  # type: ignore[arg-type]
    options["learned_from"] = np.append(ids, 10_000)
    with pytest.raises(StoreBusy, match="Pictures were removed"):
        publish(kind, store_folder, *model, started_from=name, **options)  # type: ignore[arg-type]
    with store_folder.reader() as reader:
        assert reader.snapshot.version == number
