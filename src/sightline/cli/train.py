"""`sightline train`: train a model of words, similarity, regions or texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sightline import plugins
from sightline.cli.common import (
    ListingOption,
    common_options,
    compute_option,
    counted,
    feature_names,
    open_collection,
    print_json,
    wait_option,
)
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.clicks.labels import FromClicks
    from sightline.collection.models.text_training import TextReport
    from sightline.collection.models.training import TrainReport
    from sightline.collection.models.trials import TrialResult
    from sightline.collection.similarity.training import SimilarReport
    from sightline.collection.tagging.training import RegionReport


# Maximum number of saved words that a report lists.
_SAVED_SHOWN = 10


def _ranker_names() -> str:
    entries = plugins.rankers()
    default = ", ".join(name for name, entry in entries.items() if not entry.opt_in)
    named = ", ".join(name for name, entry in entries.items() if entry.opt_in)
    return (
        f"{default}; only if named: {named}. "
        "With --search, by default all others that can use the indexed features."
    )


_OPTIMISE = "With --ranker lscmr: the measure it optimises: map, ndcg, ndcg@k, p@k, mrr or auc."

_SEARCH = (
    "Publish the quick model, then search rankers, features and hyperparameters for a better one, "
    "for a number of seconds or until nothing is left to try. Ctrl-C ends the search with the best "
    "so far; the next search resumes it."
)

_SOURCES = (
    "For similarity: the supervision: judgements, tags, classes or folders. By default the first "
    "that covers enough pictures."
)


# What can be trained; older releases used flags for two of them.
_KINDS = ("words", "similarity", "regions", "text")


@click.command()
@click.argument("kind", required=False, type=click.Choice(_KINDS), metavar="|".join(_KINDS))
@click.option("--similar", is_flag=True, hidden=True, help="The same as: train similarity")
@click.option("--regions", is_flag=True, hidden=True, help="The same as: train regions")
@click.option("--scenes", type=int, help="For regions: the number of scenes.")
@click.option("--from", "source", default="", help=_SOURCES)
@click.option(
    "--ranker",
    "rankers",
    multiple=True,
    cls=ListingOption,
    listing=_ranker_names,
    help="A ranker to try; may be repeated:",
)
@click.option(
    "--search", is_flag=False, flag_value="", default=None, metavar="[SECONDS]", help=_SEARCH
)
@click.option("--trials", type=int, help="The number of trials after which a search ends.")
@click.option("--optimise", default="", help=_OPTIMISE)
@click.option(
    "--features",
    multiple=True,
    cls=ListingOption,
    listing=feature_names,
    help="A feature to use, or a set of them; all by default:",
)
@click.option("--force", is_flag=True, help="Publish the model even if it is worse.")
@click.option("--dry-run", is_flag=True, help="Train and measure, and publish nothing.")
@click.option("--workers", type=int, help="Number of worker processes; 0 for one per core.")
@compute_option
@click.option("--shards", type=int, help="Number of data-parallel shards for PAMIR.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@wait_option
@common_options
def train(
    kind: str | None,
    similar: bool,
    regions: bool,
    scenes: int | None,
    source: str,
    rankers: tuple[str, ...],
    search: str | None,
    trials: int | None,
    optimise: str,
    features: tuple[str, ...],
    force: bool,
    dry_run: bool,
    as_json: bool,
    collection: str | None,
    store: str | None,
    debug: bool,
    **flags: Any,
) -> int:
    """Train a model on the collection and predict for all its pictures.

    \b
    words       predict words of pictures, for: sightline search (default)
    similarity  weights of features, for: sightline similar
    regions     regions of words, for: sightline tag, scenes
    text        a space of texts and pictures, for: topics, describe --texts, search --text-file

    Words are learned by kernel ridge, in seconds, or by the best of named rankers; --search looks
    for something better. Everything is selected on validation pictures. A model that is worse on
    held-out pictures than the current one, or than the untrained order, is not published.
    Missing features are computed first, and from then on by every index.
    """  # noqa: D301
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    kind = _kind(kind, similar, regions)
    c = open_collection(collection, store, writes=True, **flags)
    names = [n for f in features for n in f.split(",") if n]
    chosen = [n for r in rankers for n in r.split(",") if n]
    _check_options(kind, chosen, optimise, scenes, source, flags.get("shards"))
    budget = _budget(kind, search, trials)
    if kind == "regions":
        return _train_regions(c, scenes or 0, names, force, dry_run, as_json)
    if kind == "similarity":
        return _train_similar(c, source, names, force, dry_run, as_json)
    if kind == "text":
        return _train_text(c, _optimised(chosen, optimise), names, force, dry_run, as_json)
    with logged(c, "train"):
        report = c.train(
            rankers=_optimised(chosen, optimise),
            features=names,
            search=budget,
            trials=trials,
            force=force,
            dry_run=dry_run,
            progress=ProgressBar(),
        )
    if as_json:
        print_json(report.to_dict())
    else:
        show_report(report)
    return 0


def _kind(kind: str | None, similar: bool, regions: bool) -> str:
    """Return what to train, also from the flags of older releases."""
    flagged = [k for k, flag in (("similarity", similar), ("regions", regions)) if flag]
    named = list(dict.fromkeys([*([kind] if kind else []), *flagged]))
    if len(named) > 1:
        raise UsageError(f"One thing is trained at a time. Got {' and '.join(named)}.")
    return named[0] if named else "words"


def _check_options(
    kind: str,
    rankers: list[str],
    optimise: str,
    scenes: int | None,
    source: str,
    shards: int | None,
) -> None:
    """Raise for options that do not apply to what is trained."""
    no_pamir = kind != "words" or (bool(rankers) and "pamir" not in rankers)
    wrong = {
        "--ranker": bool(rankers) and kind not in ("words", "text"),
        "--optimise": bool(optimise) and kind not in ("words", "text"),
        "--scenes": scenes is not None and kind != "regions",
        "--from": bool(source) and kind != "similarity",
        "--shards": shards is not None and no_pamir,
    }
    belongs = {"--scenes": "regions", "--from": "similarity", "--shards": "words, by pamir"}
    for option, is_wrong in wrong.items():
        if is_wrong:
            of = belongs.get(option, "words and text")
            raise UsageError(f"{option} is an option of training {of}, not of {kind}.")


def _optimised(rankers: list[str], optimise: str) -> list[str]:
    """Return the rankers, with the measure to optimise added to lscmr."""
    if not optimise:
        return rankers
    from sightline.solvers.oracles import Criterion

    if "lscmr" not in rankers:
        raise UsageError("--optimise requires --ranker lscmr.")
    named = Criterion.named(optimise, "lscmr").name
    return [f"{name}:{named}" if name == "lscmr" else name for name in rankers]


def _budget(kind: str, search: str | None, trials: int | None) -> float | bool:
    """Return how long to search: seconds, True for no limit, False for not at all."""
    if (search is not None or trials is not None) and kind != "words":
        raise UsageError(f"--search and --trials are for words. Got {kind}.")
    if search is None:
        return False
    if not search:
        return True
    try:
        return float(search)
    except ValueError:
        raise UsageError(f"--search takes a number of seconds, or none. Got {search!r}.") from None


def _train_text(
    c: Collection, rankers: list[str], names: list[str], force: bool, dry_run: bool, as_json: bool
) -> int:
    """Train the text model, and print a report."""
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    with logged(c, "train"):
        report = c.models.train_text(
            rankers=rankers, features=names, force=force, dry_run=dry_run, progress=ProgressBar()
        )
    if as_json:
        print_json(report.to_dict())
    else:
        show_text(report)
    return 0


def show_text(r: TextReport) -> None:
    """Print the trials, the selected model, and its quality on held-out pictures."""
    from sightline.measures.significance import p_text

    if r.table:
        click.echo("On validation pictures, texts and pictures as queries:")
        for line in table_lines(r.table):
            click.echo(f"  {line}")
    for line in r.not_tried:
        click.echo(f"Not tried: {line}")
    click.echo(f"Chosen: {r.served}, {r.dimensions} dimensions")
    if r.course:
        click.echo(f"Rounds: {r.course}")
    if r.left_out:
        click.echo(f"{r.left_out} pictures with words lack features and were left out.")
    p = r.proof
    if p.n:
        click.echo(
            f"On {counted(p.n, 'held-out picture')} and their texts: mean AvgP {p.candidate:.3f}, "
            f"untrained {p.baseline:.3f} (p {p_text(p.p)}; {p.helped} better, {p.harmed} worse)"
        )
        click.echo(
            f"Pictures for a text {p.extra['text_to_picture']:.3f}, "
            f"texts for a picture {p.extra['picture_to_text']:.3f}"
        )
    if (by_words := p.extra.get("word_model")) is not None:
        click.echo(f"The word model, pictures for a text: {by_words:.3f}{_answers(r)}")
    if p.current is not None:
        click.echo(
            f"The model before: {p.current:.3f}, this one {p.candidate_on_common:.3f}, on the "
            f"{counted(p.n_common, 'text')} both know"
        )
    if p.not_compared:
        click.echo("Not compared with the model before: what it needs is gone.")
    if r.unproven:
        few = f"{counted(p.n, 'held-out picture')} with words {'is' if p.n == 1 else 'are'} too few"
        click.echo(f"Unproven: {few} to tell. Add words.")
    if r.forced:
        click.echo("Published because of --force, although it is worse.")
    what = f"version {r.version}" if r.version else "not published (--dry-run)"
    words = counted(r.words, "word")
    click.echo(
        f"Trained the text model of {words} on {r.pictures} pictures in {r.seconds:.1f} s: {what}"
    )


def _answers(r: TextReport) -> str:
    """Say that the word model goes on answering texts, if it ranks pictures better for them."""
    better = r.proof.extra["word_model"] > r.proof.extra["text_to_picture"]
    return "; it is better and goes on answering search --text-file" * better


def _train_similar(
    c: Collection, source: str, names: list[str], force: bool, dry_run: bool, as_json: bool
) -> int:
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    if c.settings.compute != "local":
        click.echo(
            "Similarity is trained on this machine, on at most 3,000 pictures; clusters only "
            "compute features.",
            err=True,
        )
    with logged(c, "train"):
        report = c.models.train_similarity(
            source=source, features=names, force=force, dry_run=dry_run, progress=ProgressBar()
        )
    if as_json:
        print_json(report.to_dict())
    else:
        show_similar(report)
    return 0


def show_similar(r: SimilarReport) -> None:
    """Print the report of a similarity training."""
    from sightline.measures.significance import p_text

    click.echo(f"Supervision: {r.source}. {len(r.descriptors)} features: ", nl=False)
    scaled = zip(r.descriptors, r.scalings, strict=True)
    click.echo(", ".join(d if f == "plain" else f"{d} ({f})" for d, f in scaled))
    if r.constant:
        click.echo(f"Equal for all pictures, so without weight: {', '.join(r.constant)}")
    for name, n in r.too_rare:
        click.echo(f"Left out: {name}, which only {n} pictures have.")
    if r.left_out:
        click.echo(f"{r.left_out} pictures lack features and were left out.")
    click.echo("On validation queries, mean AvgP:")
    for name, value in r.table:
        click.echo(f"  {value:.3f}  {name}")
    click.echo(f"Chosen: {r.learner}")
    p = r.proof
    if p.n:
        click.echo(
            f"On {p.n} held-out queries: mean AvgP {p.candidate:.3f}, equal weights "
            f"{p.baseline:.3f} ({p.candidate - p.baseline:+.3f}, p {p_text(p.p)}; "
            f"{p.helped} queries better, {p.harmed} ({p.harmed_rate:.0%}) worse), "
            f"{r.single} alone {p.extra['single']:.3f}"
        )
    if p.current is not None:
        click.echo(f"The model before: {p.current:.3f}")
    if p.not_compared:
        click.echo("Not compared with the model before: it needs features that are gone.")
    s = r.shortlist
    if s.queries:
        by = ", ".join(f"{r.descriptors[v]} ({how})" for v, how in s.descriptors)
        click.echo(
            f"Shortlist of {s.depth} by each of {by}: recall of the best ten {s.recall:.3f} on "
            f"{s.queries} held-out queries"
        )
    if r.unproven:
        click.echo(f"Unproven: {p.n} held-out queries are too few.")
    if r.forced:
        click.echo("Published because of --force, although it is worse.")
    what = f"version {r.version}" if r.version else "not published (--dry-run)"
    click.echo(
        f"Trained the similarity model on {r.pictures} pictures in {r.seconds:.1f} s: {what}"
    )


def show_report(r: TrainReport) -> None:
    """Print the trials, the selected model, and its quality on held-out pictures."""
    from sightline.measures.significance import p_text

    if r.table:
        click.echo("On validation pictures:")
        for line in table_lines(r.table):
            click.echo(f"  {line}")
    for line in r.not_tried:
        click.echo(f"Not tried: {line}")
    if r.clicks.lists:
        click.echo(clicks_line(r.clicks))
    if r.search is not None:
        click.echo(f"Search: {r.search}")
    click.echo(f"Chosen: {r.recipe}, words combined by {r.how}")
    if r.course:
        click.echo(f"Rounds: {r.course}")
    p = r.proof
    if r.left_out:
        click.echo(f"{r.left_out} pictures with words lack features and were left out.")
    if r.suspected:
        tags = counted(r.suspected, "suspected mislabel")
        click.echo(f"{tags} among the tags. To see: sightline tag --suspected")
    if p.n:
        harmed = int(p.extra["significantly_harmed"])
        click.echo(
            f"On {p.n} held-out quer{'y' if p.n == 1 else 'ies'}: mean AvgP {p.candidate:.3f}, "
            f"untrained {p.baseline:.3f} (p {p_text(p.p)}; "
            f"{harmed or 'no'} quer{'y' if harmed == 1 else 'ies'} worse than chance)"
        )
    if p.current is not None:
        click.echo(
            f"The model before: {p.current:.3f}, this one {p.candidate_on_common:.3f}, on the "
            f"{p.n_common} queries both know"
        )
    if p.not_compared:
        click.echo("Not compared with the model before: what it needs is gone.")
    for w in r.saved[:_SAVED_SHOWN]:
        click.echo(f"Learned against pictures without tags: {w}.")
    if len(r.saved) > _SAVED_SHOWN:
        click.echo(f"… and {len(r.saved) - _SAVED_SHOWN} more such words")
    if r.unproven:
        alone = len(r.saved) == r.words
        todo = "Tag or judge more pictures." if alone else "Add words."
        few = f"{p.n} held-out quer{'y is' if p.n == 1 else 'ies are'} too few to tell"
        click.echo(f"Unproven: {few}. {todo}")
    if r.forced:
        click.echo("Published because of --force, although it is worse.")
    what = f"version {r.version}" if r.version else "not published (--dry-run)"
    words = f"{r.words} word{'s' * (r.words != 1)}"
    click.echo(f"Trained {words} on {r.pictures} pictures in {r.seconds:.1f} s: {what}")


def clicks_line(c: FromClicks) -> str:
    """Return a line about the clicks that were used."""
    queries = len({j.query for j in c.judgements})
    line = (
        f"By clicks, {len(c.judgements)} times a picture fits one of {queries} queries "
        f"({c.lists} lists, {c.imports} import{'s' * (c.imports != 1)})"
    )
    return line + (f"; {c.capped} more were left out, as too much for one import" * bool(c.capped))


def table_lines(table: Sequence[TrialResult], limit: int = 12) -> list[str]:
    """Return the table of trials, best first, as lines of text."""
    head = ("ranker", "words by", "pictures", "AvgP", "P10", "BEP", "train s", "ms/1000", "MB")
    rows = [
        (str(t.recipe), t.how, str(t.pictures), f"{t.avgp:.3f}", f"{t.p10:.3f}", f"{t.bep:.3f}",
         f"{t.train_seconds:.1f}", f"{t.query_ms:.1f}", f"{t.memory / 1e6:.1f}")
        for t in table[:limit]
    ]  # fmt: skip
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    lines = [
        "  ".join(
            c.ljust(w) if i < 2 else c.rjust(w)
            for i, (c, w) in enumerate(zip(r, widths, strict=True))
        )
        for r in [head, *rows]
    ]
    return [*lines, f"… and {len(table) - limit} more"] if len(table) > limit else lines


def _train_regions(
    c: Collection, scenes: int, names: list[str], force: bool, dry_run: bool, as_json: bool
) -> int:
    """Train the model of regions, and print a report."""
    from sightline.cli.log import logged
    from sightline.progress import ProgressBar

    if len(names) > 1:
        raise UsageError("Regions are described in one way. Name one: regions-deep or regions.")
    with logged(c, "train"):
        report = c.models.train_regions(
            scenes=scenes, feature=names[0] if names else "", force=force, dry_run=dry_run,
            progress=ProgressBar(),
        )  # fmt: skip
    if as_json:
        print_json(report.to_dict())
    else:
        show_regions(report)
    return 0


def show_regions(r: RegionReport) -> None:
    """Print the training data and the quality on held-out pictures."""
    from sightline.vectors import Fingerprint

    kind = Fingerprint.parse(r.feature).name
    words, scenes = counted(r.words, "word"), counted(r.scenes, "scene")
    click.echo(f"Trained regions of {words} on {r.pictures} pictures with {kind}, {scenes}")
    for n, what in (
        (r.without_regions, "pictures with words have no regions and were left out"),
        (r.left_out, "pictures with words were left out, to bound the training time"),
        (r.rare, "words are on fewer than three pictures and were left out"),
        (r.frequent, "less frequent words were left out, to bound the training time"),
        (r.dropped, "times a picture had more words than regions; its rarest were left out"),
    ):
        if n:
            click.echo(f"{n} {what}.")
    p = r.proof
    if p.n:
        click.echo(
            f"On {counted(p.n, 'held-out picture')}: F {p.candidate:.3f}; the same words for all "
            f"{p.baseline:.3f}"
        )
    if p.current is not None:
        click.echo(
            f"On words both know: F {p.candidate_on_common:.3f}; the model before {p.current:.3f}"
        )
    given, right = p.extra["given"], p.extra["right"]
    share = f", {right} of {given} right on held-out pictures" if given else ""
    click.echo(f"{r.sure} of {r.words} words can be suggested with nine in ten right{share}")
    if r.unproven:
        click.echo("Unproven: too few held-out pictures to measure it.")
    if r.forced:
        click.echo("Published because of --force, although it is worse.")
    click.echo(
        f"Published as version {r.version} in {r.seconds:.1f} s. Next: sightline tag"
        if r.version
        else f"Nothing was published ({r.seconds:.1f} s)."
    )
