"""`sightline evaluate`: measure the model on held-out pictures of the collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.cli.common import (
    common_options,
    compute_option,
    counted,
    open_collection,
    print_json,
)
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection.models.evaluation import Evaluation
    from sightline.collection.models.online_replay import OnlineGain
    from sightline.collection.models.text_queries import TextEvaluation
    from sightline.store.folder import StoreFolder


@click.command()
@click.option(
    "--plot",
    type=click.Path(),
    help="Draw the learning curve, and how reliable probabilities are (PNG).",
)
@click.option("--no-curve", is_flag=True, help="Skip the learning curve, which takes longest.")
@click.option("--run", "run_file", type=click.Path(), help="Write the rankings as a TREC run.")
@click.option("--qrels", type=click.Path(), help="Write the relevance judgements as TREC qrels.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@compute_option
@common_options
def evaluate(
    plot: str | None,
    no_curve: bool,
    run_file: str | None,
    qrels: str | None,
    as_json: bool,
    compute: str | None,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Measure the model on held-out pictures, with their words hidden.

    The gain is relative to the untrained order. Harmed queries are ranked worse than in 95 of 100
    random orders: of rare words, many fall below the mean of these by chance alone.
    """
    from sightline.measures.plots import check_plot_file
    from sightline.progress import ProgressBar

    c = open_collection(collection, store, compute=compute)
    for file in (plot, run_file, qrels):
        if file is not None and c.contains(file):
            raise UsageError(f"{file} lies inside the collection, where nothing is ever written.")
    target = None if plot is None else check_plot_file(plot)
    evaluation = c.evaluate(curve=not no_curve, progress=ProgressBar())
    if target is not None:
        draw(evaluation, target)
        click.echo(f"drew {target}", err=True)
    if run_file is not None or qrels is not None:
        _write_trec(c.store_folder, run_file, qrels)
    if as_json:
        print_json(evaluation.to_dict())
    else:
        show(evaluation)
    return 0


def draw(evaluation: Evaluation, target: Path) -> None:
    """Draw the learning curve of an evaluation, if it has one, and the reliability beside it."""
    from sightline.measures.plots import draw_evaluation

    asked = f"{evaluation.groups[0].n} queries over {evaluation.held_out} held-out pictures"
    title = f"{evaluation.recipe}\n{asked}"
    untrained = evaluation.groups[0].untrained
    draw_evaluation(target, evaluation.curve, untrained, evaluation.reliability, title)


def _write_trec(store_folder: StoreFolder, run_file: str | None, qrels_file: str | None) -> None:
    from sightline.collection.models.evaluation import trec
    from sightline.measures.runs import write_qrels, write_run

    judged, ranked = trec(store_folder)
    if qrels_file is not None:
        write_qrels(qrels_file, judged)
        click.echo(f"wrote {qrels_file}", err=True)
    if run_file is not None:
        write_run(run_file, ranked)
        click.echo(f"wrote {run_file}", err=True)


def show(e: Evaluation) -> None:
    """Print an evaluation as text."""
    from sightline.measures.significance import p_text

    click.echo(
        f"{e.recipe}, words combined by {e.how}; {e.words} words, "
        f"{e.held_out} of {e.pictures} pictures held out"
    )
    click.echo("queries        n     AvgP  untrained   gain    P10    BEP  p-value  harmed")
    for g in e.groups:
        click.echo(
            f"{g.name:<13}{g.n:>5}  {g.avgp:7.3f}  {g.untrained:9.3f} {g.gain:+6.3f}  {g.p10:5.3f}"
            f"  {g.bep:5.3f}  {p_text(g.p):>7}  {g.significantly_harmed_rate:6.1%}"
        )
    if not e.proven:
        click.echo("There are too few queries for a conclusion. Add words.")
    harmed = e.groups[0].significantly_harmed
    click.echo(
        f"{harmed or 'no'} quer{'y is' if harmed == 1 else 'ies are'} worse than chance: than 95 "
        "of 100 random orders"
    )
    _show_reliability(e)
    if e.curve:
        click.echo("learning curve: " + ", ".join(f"{n} pictures {a:.3f}" for n, a in e.curve))
    for name, words in (("best", e.best), ("worst", e.worst)):
        if words:
            click.echo(f"{name} words: " + ", ".join(f"{w} {a:.2f}" for w, a, _ in words))
    if e.texts is not None:
        click.echo(texts_line(e.texts))
    if e.online is not None:
        click.echo(online_line(e.online))


def online_line(gain: OnlineGain) -> str:
    """Return a line on what the answers since the training gain.

    >>> from sightline.collection.models.online_replay import OnlineGain
    >>> online_line(OnlineGain(12, 2, 3, 0.4, 0.45))
    '12 answers on 2 words since the training count: 3 held-out queries, AvgP 0.400 -> 0.450'
    """
    line = f"{counted(gain.answers, 'answer')} on {counted(gain.words, 'word')} since the training"
    if gain.avgp is None or gain.updated is None:
        return f"{line} count; no held-out query has the words"
    asked = counted(gain.queries, "held-out query", "held-out queries")
    return f"{line} count: {asked}, AvgP {gain.avgp:.3f} -> {gain.updated:.3f}"


def texts_line(e: TextEvaluation) -> str:
    """Return a line on the text model."""
    r = e.report
    line = (
        f"texts, by {e.recipe}: AvgP {r.candidate:.3f}, untrained {r.baseline:.3f}, on "
        f"{counted(r.n, 'held-out picture')}; pictures for a text "
        f"{r.extra['text_to_picture']:.3f}, texts for a picture {r.extra['picture_to_text']:.3f}"
    )
    by_words = r.extra.get("word_model")
    more = "" if by_words is None else f"; the word model, pictures for a text {by_words:.3f}"
    return line + more


def _show_reliability(e: Evaluation) -> None:
    """Say how often the first hits of words were right, by their probability."""
    from sightline.collection.models.evaluation import FIRST_HITS

    for r, of in (
        (e.reliability, "each word"),
        (e.several_reliability, "queries of several words"),
    ):
        if r.n:
            click.echo(
                f"probabilities of the first {FIRST_HITS} hits of {of}: calibration error "
                f"{r.ece:.3f}, Brier skill {r.skill:+.2f} over the base rate"
            )
    for line in e.reliability.lines():
        click.echo(f"  {line}")
