"""Index: from the folder of pictures to a published version of the store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.collection.index import checks
from sightline.pictures.word_columns import BY_NAME, ColumnRules

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.index.dry_run import Preview
    from sightline.collection.index.run import IndexReport
    from sightline.contracts import Compute, Progress

Paths = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class Sources:
    """What is read beside the pictures: tables of words and files of vectors.

    The attributes are the parameters of `Collection.index`.
    """

    words: Paths = ()
    forget_words: Paths = ()
    columns: ColumnRules = BY_NAME
    vectors: Sequence[str] = ()
    forget_vectors: Sequence[str] = ()
    by_order: bool = False
    key_column: str = ""


def index(
    collection: Collection,
    sources: Sources,
    features: Sequence[str],
    progress: Progress,
    compute: Compute | None,
    *,
    retry: bool = False,
    refit: bool = False,
    allow_empty: bool = False,
    remember: bool = True,
) -> IndexReport:
    """Bring the store of a collection up to date; everything is checked before it is changed.

    `remember` says whether later runs compute the features too.
    """
    from sightline.collection.index.options import index_options, remember_flags, remember_tables
    from sightline.collection.index.run import IndexRun
    from sightline.collection.index.starting import (
        STARTING_FEATURE,
        lacks_words,
        with_starting_words,
    )
    from sightline.collection.index.vectors import forget_vectors
    from sightline.collection.models.text_model import text_scorer_of
    from sightline.collection.models.word_model import scorer_of
    from sightline.compute.backend import computing, is_remote
    from sightline.store.writer import Writer

    c, store_folder, settings = collection, collection.store_folder, collection.settings
    checks.check_indexable(c.root, store_folder)
    c.store.require_writable()
    tables = checks.check_tables(sources.words, c.root, store_folder, sources.columns)
    files = checks.read_vectors(sources.vectors, sources.by_order, sources.key_column)
    options = index_options(settings, features, tables, retry, refit, allow_empty)
    checks.check_vectors(
        store_folder, c.root, options, files, sources.by_order, sources.forget_vectors
    )
    with (
        computing(settings, progress, compute) as workers,
        Writer(store_folder, "index", settings.wait) as writer,
    ):
        forgotten = checks.real_paths(sources.forget_words)
        remember_tables(writer, c.root, tables, forgotten, sources.columns)
        c.settings = remember_flags(store_folder, settings, c.origins, features if remember else ())
        remote = workers if is_remote(settings) else None
        writer.scorer = scorer_of(store_folder, writer.version, remote)
        writer.text_scorer = text_scorer_of(store_folder, writer.version)
        for file in sources.forget_vectors:
            forget_vectors(writer, file, progress)
        run = IndexRun(c.root, writer, workers, options, progress, files, sources.by_order)
        report = run.run()
        if options.features or not lacks_words(c, writer):
            return report
        # Whether any picture has a word was not known before they were read.
        options = index_options(settings, [STARTING_FEATURE])
        return with_starting_words(
            report, IndexRun(c.root, writer, workers, options, progress).run()
        )


def preview(
    collection: Collection, sources: Sources, features: Sequence[str], *, refit: bool = False
) -> Preview:
    """Return what `index` would do now; it raises what `index` would."""
    from sightline.collection.index.dry_run import preview
    from sightline.collection.index.options import index_options

    c, store_folder = collection, collection.store_folder
    checks.check_indexable(c.root, store_folder)
    tables = checks.check_tables(sources.words, c.root, store_folder, sources.columns)
    options = index_options(c.settings, features, refit=refit)
    files = checks.read_vectors(sources.vectors, sources.by_order, sources.key_column)
    checks.check_vectors(store_folder, c.root, options, files, sources.by_order)
    forgotten = set(checks.real_paths(sources.forget_words))
    return preview(store_folder, c.root, options, tables, forgotten, sources.columns)
