"""The first hour with a fresh collection: 300 pictures, half of them untagged, command by command.

Every command is one that the owner would type; what it prints is printed here. Beside it each step
checks what must hold, and stops at what does not.

    python examples/first_hour.py                 300 emoji of the demo (needs the extra `demo`)
    python examples/first_hour.py --data DIR      300 photographs; DIR holds corel5k.zip or corel5k/
    python examples/first_hour.py --steps words,judge

A step is a function that takes the `Walk`; a new one is added to `STEPS`.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sightline.cli import main as sightline
from sightline.collection import Collection

PICTURES, TAGGED = 300, 150
LONGEST = 24  # lines of a command's output that are printed


class PromiseBroken(AssertionError):
    """Something that must hold does not."""


def check(holds: bool, what: str) -> None:
    """Stop if something does not hold."""
    if not holds:
        raise PromiseBroken(what)
    print(f"   ok: {what}")


@dataclass(frozen=True)
class Output:
    """What a command printed, to stdout and in all, and its exit code."""

    out: str
    text: str
    code: int

    @property
    def hits(self) -> list[list[str]]:
        """The columns of each line on stdout: what is shown of a hit, and its file name."""
        lines = [line.split("\t") for line in self.out.splitlines() if "\t" in line]
        return [[label, Path(path).name, *rest] for label, path, *rest in lines]

    @property
    def kinds(self) -> list[str]:
        """Of each hit: exact, predicted or partial."""
        return [h[0] if h[0] in ("exact", "partial") else "predicted" for h in self.hits]


class Both(io.TextIOWrapper):
    """A stream that also writes to another one."""

    def __init__(self, other: io.TextIOWrapper | None = None) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self.other = other

    def write(self, text: str) -> int:
        """Write to both."""
        if self.other is not None:
            self.other.write(text)
        return super().write(text)

    def text(self) -> str:
        """Return what was written."""
        self.flush()
        content = self.buffer
        assert isinstance(content, io.BytesIO)
        return content.getvalue().decode()


@dataclass
class Walk:
    """The collection, and what its owner knows of it.

    Attributes
    ----------
    folder : Path
        Where everything lies: `pictures`, `store`, `words.csv` with the words of tagged pictures.
    truth : dict
        All words of each picture by file name, also of those that are not tagged.
    tagged : set
        File names of the tagged pictures.
    features, ranker : str
        What to learn from and by; "" for the defaults.
    """

    folder: Path
    truth: dict[str, list[str]]
    tagged: set[str]
    features: str = ""
    ranker: str = ""
    used: list[str] = field(default_factory=list)

    @property
    def table(self) -> Path:
        """The owner's table of words."""
        return self.folder / "words.csv"

    @cached_property
    def collection(self) -> Collection:
        """The collection in Python."""
        return Collection.open(self.folder / "pictures", store=self.folder / "store")

    @cached_property
    def words(self) -> list[str]:
        """The words that are on most tagged pictures, single ones, most frequent first."""
        counts = Counter(w for name in self.tagged for w in self.truth[name])
        single = [w for w in counts if w.isalpha() and len(w) > 3]
        return sorted(single, key=lambda w: (-counts[w], w))

    def having(self, *words: str) -> set[str]:
        """Return the tagged pictures that have all of some words."""
        return {name for name in self.tagged if set(words) <= set(self.truth[name])}

    def run(self, command: str, *arguments: str, answers: str = "", code: int | None = 0) -> Output:
        """Run a command as it would be typed, print it with what it prints, and check its code.

        With the code None it may fail, which the caller looks at.
        """
        place = ["-C", str(self.folder / "pictures"), "--store", str(self.folder / "store")]
        typed = ["sightline", *([command] if command else []), *arguments]
        print(f"\n$ {shlex.join(typed)}")
        self.used.append(command)
        everything = Both()
        out, err, stdin = Both(everything), Both(everything), sys.stdin
        sys.stdin = io.StringIO(answers)
        try:
            with redirect_stdout(out), redirect_stderr(err):
                sightline([*place, *typed[1:]] if not command else [command, *place, *arguments])
        except SystemExit as end:
            ended = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stdin = stdin
        lines = everything.text().splitlines()
        print("\n".join(lines[:LONGEST]))
        if len(lines) > LONGEST:
            print(f"… {len(lines) - LONGEST} more lines")
        if code is not None and ended != code:
            raise PromiseBroken(f"{shlex.join(typed)} ended with {ended}, not {code}")
        return Output(out.text(), everything.text(), ended)

    def search(self, query: str, *arguments: str) -> Output:
        """Search, and check the order: exact hits, then probabilities that fall, then partial."""
        answer = self.run("search", query, *arguments)
        order = [k for k in ("exact", "predicted", "partial") for x in answer.kinds if x == k]
        if answer.kinds != order:
            raise PromiseBroken(f"the kinds of hits of {query!r} are not in order")
        shown = [h[0] for h in answer.hits if "%" in h[0]]
        values = [float(label.strip("%<> ")) for label in shown]
        if values != sorted(values, reverse=True):
            raise PromiseBroken(f"the probabilities of {query!r} do not fall")
        return answer


# -- one function for each step


def index(walk: Walk) -> None:
    """Index the folder, without any words."""
    before = files_of(walk.folder / "pictures")
    walk.run("index", *(["--features", walk.features] if walk.features else []))
    check(len(walk.collection) == PICTURES, f"all {PICTURES} pictures are indexed")
    check(files_of(walk.folder / "pictures") == before, "nothing was written among the pictures")


def before_words(walk: Walk) -> None:
    """See what can be done before any word exists."""
    walk.run("")
    answer = walk.run("search", walk.words[0])
    check(not answer.hits, "without words nothing is found, and nothing fails")
    check(walk.words[0] in answer.text, "the answer names the word that no picture has")
    failed = walk.run("train", code=1)
    check("Add words" in failed.text, "train says what to do first")
    first = sorted(walk.truth)[0]
    similar = walk.run("similar", str(walk.folder / "pictures" / first), "-k", "5")
    check(len(similar.hits) == 5, "similar works without words")
    walk.run("duplicates")


def words(walk: Walk) -> None:
    """Add a table of words, and search by them alone."""
    walk.run("index", "--words", str(walk.table))
    check(walk.collection.status().with_words == TAGGED, f"{TAGGED} pictures have words")
    word = walk.words[0]
    answer = walk.search(word, "-k", "300")
    found = {h[1] for h, kind in zip(answer.hits, answer.kinds, strict=True) if kind == "exact"}
    check(found == walk.having(word), f"every picture tagged with {word!r} is found, and no other")


def train(walk: Walk) -> None:
    """Train, and search for words on pictures without tags."""
    walk.run("train", *(["--ranker", walk.ranker] if walk.ranker else []))
    check(bool(walk.collection.status().word_model), "a word model is served")
    word = walk.words[0]
    answer = walk.search(word, "-k", "20", "--untagged")
    check(set(answer.kinds) == {"predicted"}, "untagged hits are predicted")
    check(not walk.tagged & {h[1] for h in answer.hits}, "--untagged leaves out tagged pictures")
    answer = walk.search(word, "-k", "300")
    check(answer.kinds[:1] == ["exact"], "tagged pictures come first, then predicted ones")


def signs(walk: Walk) -> None:
    """Search with a minus and a plus."""
    w, v = pair_of(walk)
    excluded = walk.search(f"{w} -{v}", "-k", "300")
    check(not walk.having(v) & {h[1] for h in excluded.hits}, f"-{v} shows no picture tagged {v}")
    check(f"-{v}" in excluded.text, "the answer says what decided on the minus")
    required = walk.search(f"{w} +{v}", "-k", "300")
    tagged = {h[1] for h in required.hits} & walk.tagged
    check(tagged <= walk.having(v), f"+{v} shows no tagged picture without {v}")


def typing(walk: Walk) -> None:
    """Search by a plural, a misspelling, a word on one picture and a sentence."""
    word = next(w for w in walk.words if not w.endswith(("s", "y", "h", "x")))
    plural, singular = (walk.search(w, "-k", "5") for w in (f"{word}s", word))
    check(plural.hits == singular.hits, f"{word}s finds what {word} does")
    wrong = word[0] + word[2] + word[1] + word[3:]
    answer = walk.search(wrong, "-k", "5")
    check(f"searched {word} for {wrong}" in answer.text, f"{wrong!r} is searched as {word!r}")
    check(bool(answer.hits), "and finds its pictures")
    counts = Counter(w for name in walk.tagged for w in walk.truth[name])
    rare = sorted(w for w, n in counts.items() if n == 1 and w.isalpha())[0]
    both = walk.search(f"{word} {rare}", "-k", "10")
    check(rare in both.text, f"the answer says that {rare!r} was not learned")
    check("predicted" in both.kinds, f"{word!r} is predicted all the same")
    sentence = f"this is one of the pictures that we took of the {word}"
    answer = walk.search(sentence, "-k", "5")
    check("stop words left out" in answer.text, "stop words of a sentence cost nothing")
    check(bool(answer.hits), f"the sentence finds what {word!r} finds")
    walk.run("search", f"+{word} -{word}", code=2)


def describe(walk: Walk) -> None:
    """See which words a picture without tags gets."""
    untagged = sorted(set(walk.truth) - walk.tagged)[0]
    answer = walk.run(
        "describe", str(walk.folder / "pictures" / untagged), "-k", "8", "--no-cutoff"
    )
    check(len(answer.out.splitlines()) == 8, "describe ranks the learned words")
    print(f"   its own words would be: {', '.join(walk.truth[untagged])}")


def review(walk: Walk) -> None:
    """Review suggested tags; they need the region model."""
    failed = walk.run("tag", "-k", "3", code=2)
    check("train regions" in failed.text, "tag says which model it needs")
    walk.run("train", "regions")
    walk.run("tag", "-k", "5", "--precision", "0.6")
    walk.run(
        "tag", "-k", "3", "--precision", "0.6", "--review", "--no-thumbnails", answers="y\nn\nq\n"
    )


def similar(walk: Walk) -> None:
    """Search by a picture, and by a word and a picture."""
    first = sorted(walk.truth)[0]
    picture = str(walk.folder / "pictures" / first)
    answer = walk.run("similar", picture, "-k", "5")
    check(first not in {h[1] for h in answer.hits}, "a picture is not similar to itself")
    both = walk.run("search", walk.words[0], "--positive", picture, "-k", "5")
    check(len(both.hits) == 5, "words and pictures mix in one search")


def judge(walk: Walk) -> None:
    """Judge pictures, save them as a new word, train, and search for it."""
    first = str(walk.folder / "pictures" / sorted(walk.truth)[0])
    answers = "1-3 y\n4-5 n\n\n1 y\nsave favourites\nq\n"
    walk.run("judge", "--positive", first, "-k", "8", "--no-thumbnails", answers=answers)
    saved = walk.search("favourites", "-k", "20", "--tagged")
    check(len(saved.hits) >= 3, "judged pictures have the saved word")
    trained = walk.run("train", *(["--ranker", walk.ranker] if walk.ranker else []), code=None)
    answer = walk.search("favourites", "-k", "8")
    if trained.code:
        check("worse than the one in use" in trained.text, "train says why nothing was published")
        check("not learned: favourites" in answer.text, "the answer says that it was not learned")


def export(walk: Walk) -> None:
    """Export all words, and read them back."""
    target = walk.folder / "exported.csv"
    walk.run("export", "csv", str(target), "--only", "tagged")
    with target.open(newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    words_of: dict[str, set[str]] = {}
    for row in rows:
        words_of.setdefault(row["path"], set()).add(row["word"])
    lost = [n for n in walk.tagged if not set(walk.truth[n]) <= words_of.get(n, set())]
    check(not lost, "every tag is exported as it was written")


STEPS: tuple[Callable[[Walk], None], ...] = (
    index, before_words, words, train, signs, typing, describe, review, similar, judge, export,
)  # fmt: skip


def pair_of(walk: Walk) -> tuple[str, str]:
    """Return two frequent words that are often on the same pictures, and often not."""

    def apart(pair: tuple[str, str]) -> int:
        both = len(walk.having(*pair))
        return min(both, len(walk.having(pair[0])) - both)

    frequent = walk.words[:20]
    return max(((w, v) for w in frequent for v in frequent if w != v), key=apart)


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and modification time of every file below a folder."""
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in found}


def emoji(folder: Path) -> dict[str, list[str]]:
    """Put 300 pictures of the demo into a folder; return the words of each."""
    from sightline.demo.emoji import build_demo

    demo = build_demo(folder / "demo")
    with demo.words.open(newline="", encoding="utf-8") as f:
        rows = [(name, labels.split("; ")) for name, labels in csv.reader(f)][1:]
    chosen = random.Random(0).sample(sorted(rows), PICTURES)
    (folder / "pictures").mkdir()
    for name, _ in chosen:
        shutil.copyfile(demo.pictures / name, folder / "pictures" / name)
    shutil.rmtree(folder / "demo")
    return {name: single_words(labels) for name, labels in chosen}


def single_words(labels: Iterable[str]) -> list[str]:
    """Return the words of some labels, each of them a word of letters and digits."""
    words_of_all = (w for label in labels for w in label.lower().split())
    return list(dict.fromkeys(w for w in words_of_all if w.isalnum()))


def photographs(folder: Path, data: Path) -> dict[str, list[str]]:
    """Put 300 photographs of Corel5K into a folder; return the words of each."""
    from sightline_experiments.datasets.corel5k import load_corel5k

    c = load_corel5k(data)
    if c is None:
        raise SystemExit(f"There is no corel5k.zip and no folder corel5k in {data}.")
    (folder / "pictures").mkdir()
    chosen = random.Random(0).sample(c.development, PICTURES)
    for row in chosen:
        (folder / "pictures" / f"{row.picture}.jpeg").write_bytes(c.read(row.picture))
    return {f"{row.picture}.jpeg": [c.words[w] for w in row.words] for row in chosen}


def write_words(file: Path, rows: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Write the table of words of the tagged pictures."""
    with file.open("w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f)
        writer.writerow(["path", "tags"])
        writer.writerows([name, "; ".join(labels)] for name, labels in rows)


def first_hour(
    folder: Path, data: Path | None = None, features: str = "", ranker: str = "",
    steps: Sequence[str] = (),
) -> Walk:  # fmt: skip
    """Walk through all steps, or those that are named, in an empty folder."""
    truth = emoji(folder) if data is None else photographs(folder, data)
    tagged = set(random.Random(1).sample(sorted(truth), TAGGED))
    walk = Walk(folder, truth, tagged, features, ranker)
    write_words(walk.table, [(name, truth[name]) for name in sorted(tagged)])
    for step in STEPS:
        if not steps or step.__name__ in steps:
            print(f"\n## {step.__doc__}")
            step(walk)
    return walk


def main(arguments: Sequence[str] | None = None) -> None:
    """Walk through the first hour in a temporary folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with corel5k.zip or corel5k/")
    parser.add_argument("--features", default="", help="features to learn from")
    parser.add_argument("--ranker", default="", help="ranker to learn by")
    parser.add_argument("--steps", default="", help=", ".join(s.__name__ for s in STEPS))
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
        steps = [s for s in options.steps.split(",") if s]
        first_hour(Path(folder), options.data, options.features, options.ranker, steps)


if __name__ == "__main__":
    main()
