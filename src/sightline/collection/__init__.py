"""A collection: a folder of pictures and the store that knows about it.

>>> import pathlib, tempfile
>>> from PIL import Image
>>> box = tempfile.TemporaryDirectory()
>>> photos = pathlib.Path(box.name, "photos"); photos.mkdir()
>>> Image.new("RGB", (40, 30), "green").save(photos / "a.jpg")
>>> _ = (photos / "a.txt").write_text("tree, snow")
>>> c = Collection.open(photos, store=pathlib.Path(box.name, "store"), workers=1)
>>> c.index().indexed
1
>>> [hit.path for hit in c.search("tree").hits]
[b'a.jpg']
>>> box.cleanup()
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sightline import settings as settings_of
from sightline.collection.discovery import inside
from sightline.collection.filters import NO_FILTERS, Filters
from sightline.collection.namespace import Namespace
from sightline.collection.pictures import check_count, one_or_more
from sightline.errors import ParameterError, UsageError
from sightline.pictures.word_columns import BY_NAME, ColumnRules
from sightline.progress import NoProgress
from sightline.records import shown
from sightline.settings import Origin, Settings
from sightline.words.languages import check_language

if TYPE_CHECKING:
    from sightline.collection.clicks import Clicks
    from sightline.collection.engines import Engines
    from sightline.collection.explain import Explanation
    from sightline.collection.export.run import ExportReport
    from sightline.collection.index.dry_run import Preview
    from sightline.collection.index.run import IndexReport
    from sightline.collection.index.status import Status
    from sightline.collection.models import Models
    from sightline.collection.models.evaluation import Evaluation
    from sightline.collection.models.training import TrainReport
    from sightline.collection.pictures import PictureLike, Pictures
    from sightline.collection.results import Results
    from sightline.collection.sessions import Sessions
    from sightline.collection.sessions.session import Session
    from sightline.collection.similarity.candidates import SimilarResults
    from sightline.collection.similarity.duplicates import Duplicates
    from sightline.collection.store import StoreMaintenance
    from sightline.collection.tagging import Tagging
    from sightline.collection.tagging.suggest import Suggestions
    from sightline.collection.words import Words
    from sightline.contracts import Compute, Progress
    from sightline.records import Hit, ProposedWord
    from sightline.store.folder import StoreFolder

__all__ = ["Collection", "ColumnRules", "Filters"]

Paths = Sequence[str | os.PathLike[str]]


class Collection:
    """A folder of pictures with its store; every verb of the command line is a method here.

    Methods share some parameters: `k`, how many results to return, by default the setting `top`;
    `filters`, which pictures may appear; `progress`, which shows how far the work is; `compute`,
    workers or a cluster in place of what the settings name.

    Attributes
    ----------
    pictures, words : Pictures, Words
        Facts about single pictures, and the words that pictures have.
    sessions, tagging, clicks : Sessions, Tagging, Clicks
        Relevance feedback, review of suggested tags, and clicks that other programs record.
    models : Models
        Training of similarity and regions; versions of all models with their held-out metrics.
    engines, store : Engines, StoreMaintenance
        Search engines other than the flat scan; verify, repair, roll back, back up and purge.
    """

    pictures: Namespace[Pictures] = Namespace("pictures:Pictures")
    words: Namespace[Words] = Namespace("words:Words")
    sessions: Namespace[Sessions] = Namespace("sessions:Sessions")
    models: Namespace[Models] = Namespace("models:Models")
    tagging: Namespace[Tagging] = Namespace("tagging:Tagging")
    clicks: Namespace[Clicks] = Namespace("clicks:Clicks")
    engines: Namespace[Engines] = Namespace("engines:Engines")
    store: Namespace[StoreMaintenance] = Namespace("store:StoreMaintenance")

    def __init__(self, root: bytes, store: Path, settings: Settings, origins: list[Origin]) -> None:
        from sightline.store.folder import StoreFolder

        self.root = root
        self.store_folder: StoreFolder = StoreFolder(store)
        self.store_folder.engine, self.store_folder.listed_rows = settings.engine, settings.ivf_rows
        self.store_folder.quantised_bytes = settings.quantised_bytes
        self.store_folder.starting_words = settings.starting_words
        self.store_folder.working_size = settings.working_size
        self.store_folder.language = check_language(settings.language)
        self.settings, self.origins = settings, origins

    @classmethod
    def open(
        cls,
        folder: str | bytes | os.PathLike[str],
        store: str | os.PathLike[str] | None = None,
        **settings: settings_of.Value | None,
    ) -> Collection:
        """Open the collection in a folder; nothing is written until it is indexed.

        Parameters
        ----------
        folder : str or path
            Where the pictures lie. Nothing is ever written there.
        store : str or path, optional
            Where to keep what is derived; by default a folder in the user's data folder.
        **settings : object
            Any setting of `sightline.settings.Settings`.
        """
        root = os.path.realpath(os.fsencode(folder))
        place = Path(store).expanduser().absolute() if store else settings_of.default_store(root)
        if inside(place, root) or inside(Path(os.fsdecode(root)), os.fsencode(place)):
            raise UsageError(
                f"The store {place} and the collection {shown(root)} would lie inside one another; "
                "nothing is ever written among pictures. Name another place with --store."
            )
        return cls(root, place, *settings_of.load(settings, place))

    def __repr__(self) -> str:
        return f"Collection({shown(self.root)!r}, store={str(self.store_folder.path)!r})"

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *exception: object) -> None:
        """Every method closes what it opens; `with` only marks where a collection is used."""

    def __len__(self) -> int:
        """Return the number of pictures; 0 before anything is indexed."""
        if not self.store_folder.exists():
            return 0
        with self.store_folder.reader() as reader:
            return reader.snapshot.size()

    def __bool__(self) -> bool:
        return True  # Even without any picture.

    def __iter__(self) -> Iterator[int]:
        """Iterate over the ids of all pictures, ascending."""
        if not self.store_folder.exists():
            return iter(())
        with self.store_folder.reader() as reader:
            return iter(reader.snapshot.ids().tolist())

    def index(
        self,
        *,
        words: Paths = (),
        forget_words: Paths = (),
        columns: ColumnRules = BY_NAME,
        features: Sequence[str] = (),
        vectors: Sequence[str] = (),
        forget_vectors: Sequence[str] = (),
        by_order: bool = False,
        key_column: str = "",
        refit: bool = False,
        retry: bool = False,
        allow_empty: bool = False,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> IndexReport:
        """Bring the store up to date with the folder; only new and changed files are read.

        Parameters
        ----------
        words, forget_words : sequence of paths
            Tables of words (CSV, TSV, COCO JSON, JSON lines) to read from now on, or no longer.
        columns : ColumnRules
            What columns of these tables hold where their names do not say; remembered with them.
        features : sequence of str
            More features to compute for every picture, from now on.
        vectors : sequence of str
            Files of vectors you computed (.npy, .npz, .parquet, .safetensors), each `FILE` or
            `NAME=FILE`, to keep as a feature from now on.
        forget_vectors : sequence of str
            Such files, or the names of their features, no longer to be kept.
        by_order : bool
            Rows of `vectors` are in the order of the pictures' sorted paths. Only files without a
            key column are read so, and only on request.
        key_column : str
            The column or array of `vectors` that holds paths or file names, if not known by name.
        refit : bool
            Fit the codebooks of fitted features again, and compute these for every picture.
        retry : bool
            Try again the files that were skipped before.
        allow_empty : bool
            Accept an empty folder that had pictures before; it may be a disk that is not mounted.
        """
        from sightline.collection.index import Sources, index

        sources = Sources(
            words, forget_words, columns, vectors, forget_vectors, by_order, key_column
        )
        again = {"retry": retry, "refit": refit, "allow_empty": allow_empty}
        return index(self, sources, features, progress or NoProgress(), compute, **again)

    def preview(
        self,
        *,
        words: Paths = (),
        forget_words: Paths = (),
        columns: ColumnRules = BY_NAME,
        features: Sequence[str] = (),
        vectors: Sequence[str] = (),
        by_order: bool = False,
        key_column: str = "",
        refit: bool = False,
    ) -> Preview:
        """Return what `index` would do now, without doing it; it raises what `index` would."""
        from sightline.collection.index import Sources, preview

        sources = Sources(words, forget_words, columns, vectors, (), by_order, key_column)
        return preview(self, sources, features, refit=refit)

    def train(
        self,
        *,
        rankers: Sequence[str] = (),
        features: Sequence[str] = (),
        search: float | bool = False,
        trials: int | None = None,
        force: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> TrainReport:
        """Learn words from tagged pictures, to predict them for the others.

        Kernel ridge is fitted, in seconds; its features and hyperparameters are selected without
        the held-out pictures, on which it is measured. The model is published only if it does no
        harm. Pictures without features get the default ones first.

        Parameters
        ----------
        rankers : sequence of str
            Rankers to select from, by validation pictures; with `search`, all by default.
        features : sequence of str
            Features to select from; by default all that pictures have.
        search : float or bool, default=False
            How many seconds to search for a better ranker, better features and hyperparameters once
            that model is published; True for as long as there is something to try. An interrupted
            search publishes the best so far, and a later one goes on with its trials.
        trials : int, optional
            The number of trials after which a search ends.
        force : bool
            Publish even a model that is worse than the one in use.
        dry_run : bool
            Measure, and publish nothing.
        """
        from sightline.collection.models.halving import Budget
        from sightline.collection.models.lifecycle import training_run
        from sightline.collection.models.recipe import ranker_spec
        from sightline.collection.models.requirements import missing_for_words
        from sightline.collection.models.training import TrainOptions, train

        for name in rankers:
            ranker_spec(name)
        bar, s, budget = progress or NoProgress(), self.settings, Budget.of(search, trials)
        options = TrainOptions(
            tuple(rankers), tuple(features), force, dry_run, s.session_cap, s.shards, budget,
            s.memory_bytes,
        )  # fmt: skip
        missing = missing_for_words(self.store_folder, rankers, features, s.features)
        with training_run(self, "train", dry_run, bar, compute) as run:
            run.compute_features(missing)
            return train(self.store_folder, options, s.wait, bar, run.compute)

    def evaluate(
        self,
        *,
        curve: bool = True,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> Evaluation:
        """Measure the word model on held-out pictures: gain, p-value, harmed queries.

        Parameters
        ----------
        curve : bool
            Also fit the recipe to growing shares of the pictures, for a learning curve.
        """
        from sightline.collection.models.evaluation import evaluate
        from sightline.compute.backend import training_cluster

        bar = progress or NoProgress()
        with training_cluster(self.settings, bar, compute) as cluster:
            memory = self.settings.memory_bytes
            return evaluate(self.store_folder, bar, curve=curve, compute=cluster, memory=memory)

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        positive: PictureLike | Iterable[PictureLike] = (),
        negative: PictureLike | Iterable[PictureLike] = (),
        feature: str = "",
        compute: Compute | None = None,
        filters: Filters = NO_FILTERS,
        cut: bool = True,
        predicted: bool = True,
        verbatim: bool = False,
        ids: Sequence[int] | None = None,
        offset: int | None = None,
        count: bool = False,
    ) -> Results:
        """Find pictures by the words they have and by the predictions of the word model.

        Parameters
        ----------
        query : str
            `tree snow -people 2:red +barn "golden gate bridge"`, pictures alone, which `similar`
            answers (`./a.jpg 2:./b.jpg -./c.jpg`), or both: `tree ./a.jpg -./c.jpg`
        positive, negative : PictureLike or iterable of PictureLike, default=()
            Example pictures that hits should be similar to, or unlike, in the collection or not;
            by the `feature` named, or the best that nearly all pictures have.
        cut : bool
            Leave out predictions below the cut-off.
        predicted : bool
            False leaves out all predictions and suggestions.
        verbatim : bool
            Search every word as it is typed, as words in quotes are. By default a word that no
            picture has is searched as the nearest one; `Results.corrections` names both.
        ids : sequence of int, optional
            Only these pictures may appear.
        offset : int, optional
            Return the hits of `k` ranks from this one on. Ranks of files that are gone stay empty,
            so that pages never overlap; `Results.part` says where the next page begins.
        count : bool
            Also count the whole list, and how much of it is above the cut-off.
        """
        from sightline.collection.search import Examples, answer
        from sightline.collection.search.words import SearchOptions
        from sightline.words.grammar import as_typed

        query = as_typed(query) if verbatim else query
        n = self.k_or_default(k)
        only = None if ids is None else tuple(ids)
        options = SearchOptions(filters.untagged, cut, predicted, only, offset, count)
        examples = Examples(one_or_more(positive), one_or_more(negative), feature, compute)
        with self.store_folder.reader() as reader:
            return answer(reader, self.root, self.settings, query, n, filters, options, examples)

    def explain(
        self,
        query: str,
        k: int | None = None,
        *,
        hits: Sequence[Hit] | None = None,
        filters: Filters = NO_FILTERS,
        cut: bool = True,
        predicted: bool = True,
        blocks: int = 6,
        pictures: int = 12,
        exact: bool = True,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> list[Explanation]:
        """Explain the score of each hit by words, features and parts of the picture.

        Parameters other than these are as of `search`.

        Parameters
        ----------
        hits : sequence of Hit, optional
            Those to explain, if the search was made before.
        blocks : int
            Resolution of occlusion maps: blocks along the longer side.
        pictures : int
            How many hits, the first ones, get an occlusion map.
        exact : bool
            Give exact contributions in place of occlusion where a score is a sum over blocks.
        """
        from sightline.collection.explain import ExplainOptions, check_explained, explain

        check_explained(query)
        if hits is None:
            hits = self.search(query, k, filters=filters, cut=cut, predicted=predicted).hits
        options = ExplainOptions(blocks, pictures, exact, predicted)
        bar = progress or NoProgress()
        return explain(
            self.store_folder, self.root, self.settings, query, hits, options, bar, compute
        )

    def search_text(
        self, text: str, k: int | None = None, *, filters: Filters = NO_FILTERS
    ) -> Results:
        """Find pictures for a long text, such as an article.

        Unlike in `search`, the text has no grammar, and no picture needs to have its words. Words
        that were not learned do not count; `Results.not_learned` names them. The text model
        answers: a score is the probability that the picture's own words share one with the text.
        Where there is no text model, or the word model ranked pictures better for held-out texts,
        that answers: a score is the probability that a picture has one of the words, rare ones
        counting more. `Results.text_answer` says which model it was.
        """
        from sightline.collection.search.texts import search_text

        n = check_count(self.k_or_default(k), "k", "search_text")
        with self.store_folder.reader() as reader:
            where = filters.where(self.root)
            return search_text(reader, self.root, text, n, where, filters.untagged)

    def similar(
        self,
        *pictures: PictureLike,
        positive: Sequence[PictureLike] = (),
        negative: Sequence[PictureLike] = (),
        k: int | None = None,
        filters: Filters = NO_FILTERS,
        exact: bool = False,
        compute: Compute | None = None,
    ) -> SimilarResults:
        """Find pictures similar to others.

        Parameters
        ----------
        *pictures, positive, negative : str, bytes, int or Hit
            Paths, in the collection or not, ids or hits, that hits should be similar to or not.
        exact : bool
            Compare every picture, however many there are, instead of the nearest by each of the
            strongest descriptors.
        """
        from sightline.collection.similarity.candidates import similar

        weighted = [(p, 1.0) for p in (*pictures, *positive)], [(p, 1.0) for p in negative]
        n, s = self.k_or_default(k), self.settings
        with self.store_folder.reader() as reader:
            return similar(reader, self.root, s, *weighted, n, filters, exact, compute)

    def duplicates(
        self,
        *,
        threshold: float | None = None,
        filters: Filters = NO_FILTERS,
        progress: Progress | None = None,
    ) -> Duplicates:
        """Group pictures of the same bytes, and pictures that look nearly equal.

        Parameters
        ----------
        threshold : float, optional
            How much two pictures of a group may differ; 0 leaves only those of the same bytes.
        """
        from sightline.collection.similarity.duplicates import THRESHOLD, find_duplicates

        where, bar = filters.where(self.root), progress or NoProgress()
        most = THRESHOLD if threshold is None else threshold
        with self.store_folder.reader() as reader:
            return find_duplicates(reader, self.root, most, where, filters.untagged, bar)

    def judge(
        self,
        query: str = "",
        *,
        positive: PictureLike | Iterable[PictureLike] = (),
        pictures: PictureLike | Iterable[PictureLike] = (),
        resume: str = "",
        feature: str = "",
        filters: Filters = NO_FILTERS,
        compute: Compute | None = None,
    ) -> Session:
        """Begin a judging session, or resume one; give one of `query`, `positive` and `resume`.

        Nothing is written before the first picture is judged, or `Session.begin` is called.

        Parameters
        ----------
        query : str
            Words, as of `search`.
        positive : PictureLike or iterable of PictureLike, default=()
            Paths, in the collection or not, ids, or hits; earlier called `pictures`.
        resume : str
            The id of a session.
        feature : str
            The dense descriptor to learn by; by default the strongest that pictures have.
        filters : Filters
            Which pictures may appear. They stay in force when the session is resumed.
        """
        named = (*one_or_more(positive), *one_or_more(pictures))
        if bool(query) + bool(named) + bool(resume) != 1:
            raise UsageError("Name one thing to judge by: a query, pictures, or a session.")
        if resume:
            return self.sessions.resume(resume, feature, filters)
        return self.sessions.begin(query, named, feature, filters, compute)

    def tag(
        self,
        *pictures: PictureLike,
        precision: float = 0.9,
        k: int | None = None,
        removals: bool = True,
        filters: Filters = NO_FILTERS,
        progress: Progress | None = None,
    ) -> Suggestions:
        """Suggest words for pictures, each with its region, and doubt words they have.

        Parameters
        ----------
        *pictures : str, bytes, int or Hit
            Pictures of the collection, by path, id or hit. Default: all.
        precision : float
            The share of suggested words that is to be right on pictures whose words are unknown.
            Words with too little evidence for that are not suggested, and named.
        k : int, optional
            Suggestions to return, the surest first; by default all.
        removals : bool
            Also doubt words that pictures have.
        """
        from sightline.collection.tagging.suggest import suggest

        if k is not None and k < 1:
            raise ParameterError.of("k", "tag", "at least 1", k)
        ids = self.tagging.chosen(pictures, filters)
        suggestions = suggest(self.store_folder, ids, precision, removals, progress or NoProgress())
        return replace(suggestions, suggestions=suggestions.suggestions[:k])

    def export(
        self,
        format: str,
        target: str | os.PathLike[str] | None = None,
        *,
        only: Sequence[str] = (),
        min_confidence: float = 0.0,
        filters: Filters = NO_FILTERS,
        boxes: bool = True,
        into_collection: bool = False,
        overwrite: bool = False,
        dry_run: bool = False,
        proposed: Mapping[int, Sequence[ProposedWord]] | None = None,
        confirm: Callable[[ExportReport], bool] | None = None,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write the words of pictures for other programs.

        Parameters
        ----------
        format : str
            `csv`, `json` (lines), `coco` or `xmp` (a sidecar for each picture).
        target : str or path, optional
            A file, or a folder for it; for `xmp` a folder. Never inside the collection.
        only : sequence of str
            Kinds of words: `accepted` by people, `tagged`, `proposed` by a model; all by default.
        min_confidence : float
            Proposed words below it are left out.
        boxes : bool
            Also write the regions of words into sidecars.
        into_collection : bool
            In place of a target: write sidecars beside the pictures, merged with existing ones.
        overwrite : bool
            Replace existing files of the target.
        dry_run : bool
            Write nothing.
        proposed : mapping, optional
            Words of a model by picture; where `only` names them, by default those of `tag`.
        confirm : callable, optional
            Called with what would be written into the collection; unless it returns true, nothing
            is.
        """
        from sightline.collection.export.run import ExportOrder, ExportRun, check_target
        from sightline.collection.export.select import check_selection

        self.store_folder.require_indexed()
        selection = check_selection(only, min_confidence, filters.untagged)
        place = check_target(self, format, target, into_collection, overwrite)
        where = filters.where(self.root)
        order = ExportOrder(format, place, selection, where, boxes, overwrite, dry_run)
        if proposed is None and "proposed" in only:
            proposed = self.tag(removals=False, filters=filters).proposed()
        export = ExportRun(self.store_folder, self.root, self.settings, order, proposed or {})
        return export.run(progress or NoProgress(), confirm)

    def status(self) -> Status:
        """Return how many pictures, words and skipped files there are, and the models in use."""
        from sightline.collection.index.status import status

        return status(self.store_folder)

    def contains(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a path lies inside the collection, where nothing may be written."""
        return inside(Path(path).expanduser().absolute(), self.root)

    def k_or_default(self, k: int | None) -> int:
        """Return how many results to give where `k` was given."""
        return self.settings.top if k is None else k
