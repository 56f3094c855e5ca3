"""What a run shows: table 1 of the paper with our figures beside its own, curves, figures 3 to 5.

A dash stands where the paper has no figure or a method predicts nothing of that kind. Curves are
the objective during training, and time against pictures and tags. The figures are words of scenes,
masks of words, and test pictures with regions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from sightline._typing import RGB, Ints
from sightline.contracts import Compute
from sightline.measures.plots import draw_lines
from sightline.measures.significance import p_text
from sightline.regions.descriptors import KINDS
from sightline_experiments.datasets.msrc import MSRC
from sightline_experiments.extraction import decoded
from sightline_experiments.regions import judging, paper
from sightline_experiments.regions.evaluation import Shown
from sightline_experiments.regions.results import Growth, HalfResult, RegionResults, compared
from sightline_experiments.report import MISSING, fraction, mean_and_std, notes
from sightline_experiments.tuning import settings_text

_NOTHING = 1e-6


def lines(results: RegionResults) -> Iterator[str]:
    """Yield every table."""
    for features in results.features():
        ran = results.of(features)
        yield from _table(features, ran)
        yield from _margins(ran)
        yield from _clean(ran)
        for _, b, test in compared(ran):
            yield (
                f"Wilcoxon against {b.method}, F of each test picture: {test.difference:+.4f}, "
                f"p {p_text(test.p)} ({test.helped:,} better, {test.harmed:,} worse)"
            )
        if features in results.relaxation:
            r = results.relaxation[features]
            yield (
                f"The linear programme was fractional in {r.fractional:.1%} of {r.n:,} inferences; "
                f"{1000 * r.relaxed:.2f} ms each, exact {1000 * r.exact:.3f} ms; {r.hard:.1%} if "
                f"wrong tags count. Where no tag costs anything {1000 * r.free_relaxed:.2f} ms, by "
                f"assignment {1000 * r.assigned:.3f} ms"
            )
    for g in results.growth:
        yield (
            f"{g.pictures:>5} pictures, {g.tags:>3} tags: {g.learning:.2f} s for {g.iterations} "
            f"iterations, {1000 * g.inference:.3f} ms to tag a picture"
        )
    yield from notes(results.notes)


def _table(features: str, ran: dict[str, HalfResult]) -> Iterator[str]:
    network = ", a network trained on ImageNet" if features == "deep" else ""
    yield ""
    yield f"Table 1 on MSRC v2, {features}{network}; the paper's figures are of other pictures"
    head = "".join(f"{m:>19}" for m in judging.MEASURES)
    yield f"{'':<28}{head}{'paper':>16}{'seconds':>10}  settings of half 0"
    for name, r in ran.items():
        cells = "".join(f"{mean_and_std(r.values(m), 3):>19}" for m in judging.MEASURES)
        theirs = f"{fraction(paper.F.get(name))} / {fraction(paper.NMI.get(name))}"
        shown = theirs if features == "classic" else MISSING
        settings = settings_text(r.chosen[0].settings)
        yield f"{name:<28}{cells}{shown:>16}{r.seconds():>10.1f}  {settings}"


def _clean(ran: dict[str, HalfResult]) -> Iterator[str]:
    """Yield what was reached on pictures that nothing was designed on."""
    for name, r in ran.items():
        n = max((o.n_clean for o in r.outcomes), default=0)
        said_of = [(m, r.clean(m)) for m in (judging.F, judging.NMI, judging.PIXELS)]
        cells = ", ".join(f"{m} {np.mean(v):.4f}" for m, v in said_of if v)
        if cells:
            yield f"On {n} pictures that nothing was designed on, {name}: {cells}"


def _margins(ran: dict[str, HalfResult]) -> Iterator[str]:
    """Yield how far ahead of each baseline the latent model is, beside the paper's margins."""
    for measure, paper_values in ((judging.F, paper.F), (judging.NMI, paper.NMI)):
        ours = ran[paper.LATENT].values(measure) if paper.LATENT in ran else []
        for name, r in ran.items():
            values = r.values(measure)
            if name == paper.LATENT or not values or not ours:
                continue
            base = float(np.mean(values))
            gain = f"{float(np.mean(ours)) / base - 1:+.1%}" if base > _NOTHING else MISSING
            said_by = (
                f"{paper_values[paper.LATENT] / paper_values[name] - 1:+.1%}"
                if name in paper_values
                else MISSING
            )
            yield f"{measure} of {paper.LATENT} against {name}: {gain} (paper {said_by})"


def draw_curves(results: RegionResults, out: Path) -> list[Path]:
    """Write what there is to draw; return the files."""
    files: list[Path] = []
    for features, (fitted, _) in results.models.items():
        if not fitted.course:
            continue
        steps = [float(s.iteration + 1) for s in fitted.course]
        values, gaps, f = zip(*((s.value, s.gap, s.f) for s in fitted.course), strict=True)
        title = f"Latent model, {features}, half 0"
        files += [out / f"learning-{features}.png", out / f"learning-f-{features}.png"]
        draw_lines(
            files[-2],
            {"objective, best so far": (steps, values), "gap": (steps, gaps)},
            f"{title}: objective and gap of the bundle method",
            ("iterations", "objective"),
        )
        draw_lines(
            files[-1],
            {"F of the best weights so far": (steps, f)},
            f"{title}: F on the training pictures",
            ("iterations", "F"),
        )
    return files + _draw_growth(results.growth, out)


def _draw_growth(growth: list[Growth], out: Path) -> list[Path]:
    if not growth:
        return []
    # First all tags with more and more pictures, then all pictures with more and more tags.
    tags, pictures = growth[0].tags, growth[-1].pictures
    files = []
    by_pictures = {float(g.pictures): g for g in growth if g.tags == tags}
    by_tags = {float(g.tags): g for g in growth if g.pictures == pictures}
    for what, growths in (("pictures", by_pictures), ("tags", by_tags)):
        x = sorted(growths)
        files.append(out / f"growth-{what}.png")
        lines = {
            "learning, seconds": (x, [growths[n].learning for n in x]),
            "tagging a picture, milliseconds": (x, [1000 * growths[n].inference for n in x]),
        }
        draw_lines(files[-1], lines, f"Latent model: time against {what}", (what, "CPU time"))
    return files


_WIDE, _GAP, _LINE, _INK, _FAINT = 240, 12, 17, "#202020", "#707070"
_COVER = 0.55
_BEST = 5

# What has a colour of its own is hard to read in another one.
_COLORS = {
    "grass": (70, 190, 60), "sky": (110, 190, 250), "water": (40, 90, 220), "tree": (20, 110, 50),
    "road": (90, 80, 120), "building": (200, 60, 50), "sheep": (240, 220, 150),
    "face": (240, 160, 120), "body": (200, 110, 180), "chair": (150, 90, 30), "boat": (0, 190, 190),
}  # fmt: skip

Color = tuple[int, int, int]


def draw_sheets(c: MSRC, results: RegionResults, compute: Compute, out: Path) -> list[Path]:
    """Write the figures of each set of features, of the first half; return the files."""
    files = []
    for features in results.features():
        for method in (paper.LATENT, paper.RIDGE):
            ran = results.of(features).get(method)
            if ran is None or not ran.outcomes or not ran.outcomes[0].shown:
                continue
            shown = ran.outcomes[0].shown
            pictures = list(decoded(c, [s.picture for s in shown], compute))
            name = "latent" if method == paper.LATENT else "ridge"
            files.append(out / f"figure5-{features}-{name}.png")
            overlays(shown, pictures, c.words).save(files[-1], "PNG")
        if features in results.models:
            files += _of_model(results, features, out)
    return files


def _of_model(results: RegionResults, features: str, out: Path) -> list[Path]:
    fitted, data = results.models[features]
    model = fitted.model
    if model is None:
        return []
    gamma = model.model_.weights_.gamma
    files = [out / f"figure3-{features}.png"]
    gains = gamma[:, :, 1] - gamma[:, :, 0]
    # All share a large constant that weighs against what regions and pictures say.
    words_of_scenes(gains - gains.mean(), results.words).save(files[0], "PNG")
    if data.words is not None:
        place = KINDS.index("place")
        begin = sum(data.words.sizes[:place])
        alpha = model.ridge_.regions.weights[begin : begin + data.words.sizes[place]]
        masks = [data.words.mask(int(w)) for w in alpha.argmax(axis=0)]
        files.append(out / f"figure4-{features}.png")
        masks_of_words(masks, results.words).save(files[1], "PNG")
    return files


def palette(words: Sequence[str]) -> list[Color]:
    """Return a colour for each word: its own, or one far from those of its neighbours.

    >>> palette(["grass", "book"])[0]
    (70, 190, 60)
    """
    return [_COLORS.get(word, colour_of(i)) for i, word in enumerate(words)]


def colour_of(word: int) -> Color:
    """Return the colour of a word: far from those of the words before and after it.

    >>> colour_of(0) != colour_of(1)
    True
    """
    hue = word * 0.61803399 % 1.0 * 6
    light = (235, 200, 165)[word % 3]
    rising = [abs(hue - 3) - 1, 2 - abs(hue - 2), 2 - abs(hue - 4)]
    r, g, b = (round(light * (0.15 + 0.85 * min(1.0, max(0.0, x)))) for x in rising)
    return r, g, b


def overlay(rgb: RGB, painted: Ints, colors: Sequence[Color]) -> RGB:
    """Return a picture under the colours of its words; what has none stays grey."""
    grey = (rgb @ np.array([0.299, 0.587, 0.114]))[..., None].repeat(3, axis=2)
    out = 0.4 * grey + 110
    for word in np.unique(painted[painted >= 0]):
        at = painted == word
        out[at] = (1 - _COVER) * grey[at] + _COVER * np.array(colors[int(word)])
    painted_rgb: RGB = np.clip(out, 0, 255).astype(np.uint8)
    return painted_rgb


def overlays(shown: Sequence[Shown], pictures: Sequence[RGB], words: Sequence[str]) -> Image.Image:
    """Lay out a row for each picture: itself, as the method paints it, and the truth."""
    heights = [round(p.shape[0] * _WIDE / p.shape[1]) for p in pictures]
    size = (3 * (_WIDE + _GAP) + _GAP, sum(heights) + len(shown) * (2 * _LINE + _GAP) + _GAP)
    sheet = Image.new("RGB", size, "white")
    pen, y, colors = ImageDraw.Draw(sheet), _GAP, palette(words)
    for one, rgb, height in zip(shown, pictures, heights, strict=True):
        tiles = (rgb, overlay(rgb, one.painted, colors), overlay(rgb, one.truth, colors))
        for i, tile in enumerate(tiles):
            small = Image.fromarray(tile).resize((_WIDE, height), Image.Resampling.LANCZOS)
            sheet.paste(small, (_GAP + i * (_WIDE + _GAP), y))
        y += height
        for i, (names, where) in enumerate(((one.predicted, one.painted), (one.tags, one.truth))):
            _legend(pen, names, where, words, _GAP + (i + 1) * (_WIDE + _GAP), y + 2)
        y += 2 * _LINE + _GAP
    return sheet


def _legend(
    pen: ImageDraw.ImageDraw,
    names: Sequence[str],
    where: Ints,
    words: Sequence[str],
    x: int,
    y: int,
) -> None:
    """Write names, each after a square of its colour; those painted nowhere are faint."""
    font, left, colors = ImageFont.load_default(13), x, palette(words)
    for name in names:
        word = words.index(name)
        long = int(font.getlength(name)) + 18
        if left + long > x + _WIDE:
            left, y = x, y + _LINE
        pen.rectangle((left, y + 2, left + 10, y + 12), colors[word])
        pen.text((left + 14, y), name, _INK if (where == word).any() else _FAINT, font)
        left += long + 4


def words_of_scenes(gains: NDArray[np.float64], words: Sequence[str]) -> Image.Image:
    """Draw the five strongest words of each scene with bars (figure 3)."""
    columns, tall = 4, (_BEST + 1) * _LINE + _GAP
    rows = -(-len(gains) // columns)
    sheet = Image.new("RGB", (columns * (_WIDE + _GAP) + _GAP, rows * tall + _GAP), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    most = max(float(np.abs(gains).max()), 1e-12)
    for s, scene_gains in enumerate(gains):
        x, y = _GAP + s % columns * (_WIDE + _GAP), _GAP + s // columns * tall
        pen.text((x, y), f"scene {s}", _FAINT, font)
        for i, j in enumerate(np.argsort(-scene_gains, kind="stable")[:_BEST]):
            top = y + (i + 1) * _LINE
            pen.text((x, top), words[int(j)], _INK, font)
            bar = round(abs(float(scene_gains[j])) / most * (_WIDE - 90))
            color = "#2a6fc9" if scene_gains[j] > 0 else "#c8c8cc"
            pen.rectangle((x + 84, top + 3, x + 84 + bar, top + 13), color)
    return sheet


def masks_of_words(masks: Sequence[NDArray[np.float32]], words: Sequence[str]) -> Image.Image:
    """Draw where each word lies by its favourite place (figure 4), the brightest cell white."""
    columns, side = 7, 96
    rows = -(-len(words) // columns)
    cell = side + _GAP
    sheet = Image.new("RGB", (columns * cell + _GAP, rows * (cell + _LINE) + _GAP), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for i, (mask, word) in enumerate(zip(masks, words, strict=True)):
        x, y = _GAP + i % columns * cell, _GAP + i // columns * (cell + _LINE)
        # Places of small regions are faint: any one of them fills little of its cells.
        bright = mask / max(float(mask.max()), 1e-6)
        tile = Image.fromarray((255 * bright).astype(np.uint8)).resize((side, side))
        sheet.paste(tile, (x, y + _LINE))
        pen.text((x, y), word, _INK, font)
    return sheet
