"""`sightline judge`: relevance feedback at the terminal."""

from __future__ import annotations

from typing import Unpack

import click

from sightline.cli.common import common_options, compute_features, engine_option, open_collection
from sightline.cli.dialogue.judging import Dialogue, undo_last
from sightline.cli.dialogue.terminal import Way, here
from sightline.cli.filters import FilterOptions, filter_options, filters_of
from sightline.errors import UsageError


@click.command()
@click.option("--query", default="", help="The words of the query, as in search.")
@click.option(
    "--positive", "--like", "positive", multiple=True, help="An example picture; may be repeated."
)
@click.option("--resume", default="", metavar="SESSION", help="Resume a session.")
@click.option("--undo", is_flag=True, help="With --resume: first undo the last answer.")
@click.option(
    "-k", "-t", "--top", "top", type=int, default=20, show_default=True, help="Hits in each round."
)
@click.option("--propose", is_flag=True, help="Show the most informative pictures, not the best.")
@click.option("--hide-judged", is_flag=True, help="Leave out judged pictures.")
@filter_options
@click.option("--feature", default="", help="The feature to learn with.")
@click.option("--save-as", default="", metavar="WORD", help="Save the session as this word.")
@click.option("--no-thumbnails", is_flag=True, help="Show only paths.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each round.")
@engine_option
@common_options
def judge(
    query: str,
    positive: tuple[str, ...],
    resume: str,
    undo: bool,
    top: int,
    propose: bool,
    hide_judged: bool,
    feature: str,
    save_as: str,
    no_thumbnails: bool,
    as_json: bool,
    engine: str | None,
    collection: str | None,
    store: str | None,
    debug: bool,
    **given: Unpack[FilterOptions],
) -> int:
    """Show hits, ask for each whether it is relevant, learn, and show better hits.

    Answers are read from stdin, one per line, and each is saved before the next is read:

    \b
    y  n  s      the hit is relevant, is not relevant, is skipped
    1-5 y        hits 1 to 5 are relevant; also 2,4,7-9 n
    (nothing)    learn and show the next round; other hits if nothing was judged
    u            undo the last answer
    why 3        explain the rank of hit 3
    save WORD    save the session as a word
    q            end
    """  # noqa: D301
    if undo and not resume:
        raise UsageError("--undo undoes an answer of a session. Name it with --resume.")
    c = open_collection(collection, store, engine=engine)
    if positive:
        compute_features(c, positive)
    session = c.judge(
        query, pictures=positive, resume=resume, feature=feature, filters=filters_of(**given)
    )
    if undo:
        undo_last(c, session)
    way: Way = "" if no_thumbnails or as_json else here()
    dialogue = Dialogue(c, session, top, propose, hide_judged, as_json, way)
    try:
        dialogue.run()
        if save_as:
            dialogue.save(save_as)
    finally:
        session.close()
        dialogue.farewell()
    return 0
