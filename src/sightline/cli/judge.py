"""`sightline judge`: say which hits fit, and see better ones."""

from __future__ import annotations

from typing import Any

import click

from sightline.cli.common import common_options, engine_option, open_collection
from sightline.cli.dialogue.judging import Dialogue, undo_last
from sightline.cli.dialogue.terminal import Way, here
from sightline.cli.filters import filter_options, filters_of
from sightline.errors import UsageError


@click.command()
@click.option("--query", default="", help="Words to look for, as of search.")
@click.option("--like", multiple=True, help="A picture hits should be like; may be given again.")
@click.option("--resume", default="", metavar="SESSION", help="Go on with a session.")
@click.option("--undo", is_flag=True, help="With --resume: first take the last answer back.")
@click.option("-t", "--top", type=int, default=20, show_default=True, help="Hits to show a round.")
@click.option("--propose", is_flag=True, help="Show what teaches most, not what fits best.")
@click.option("--hide-judged", is_flag=True, help="Leave out pictures that were judged.")
@filter_options
@click.option("--feature", default="", help="The descriptor to learn by.")
@click.option("--save-as", default="", metavar="WORD", help="At the end, make a word of it.")
@click.option("--no-thumbnails", is_flag=True, help="Show paths alone.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON a round.")
@engine_option
@common_options
def judge(
    query: str,
    like: tuple[str, ...],
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
    **given: Any,
) -> int:
    """Show hits, ask of each whether it fits, learn, and show better hits.

    Answers are read from stdin, a line each, and are on the disk before the next is read:

    \b
    y  n  s      the hit asked for fits, does not fit, is skipped
    1-5 y        hits 1 to 5 fit; also 2,4,7-9 n
    (nothing)    learn, and show the next round; other hits, if nothing was judged
    u            take the last answer back
    why 3        why hit 3 stands there
    save WORD    make a word of the session
    q            end
    """
    if undo and not resume:
        raise UsageError("--undo takes back an answer of a session. Name it with --resume.")
    c = open_collection(collection, store, engine=engine)
    session = c.judge(
        query, pictures=like, resume=resume, feature=feature, filters=filters_of(**given)
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
