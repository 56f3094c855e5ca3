"""Measures: how good a ranking, an annotation or a grouping is, and whether a gain is real.

>>> from sightline.measures import evaluate, rankings
>>> scores, relevance = [[0.9, 0.8, 0.7, 0.6]], [[1, 0, 1, 0]]
>>> [round(m.mean, 4) for m in evaluate(rankings(scores, relevance), ["AvgP", "P@2", "BEP"])]
[0.8333, 0.5, 0.5]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.measures.annotation import (
        Annotated,
        FMeasured,
        annotation_quality,
        f_measure,
        top_words,
    )
    from sightline.measures.clusters import normalized_mutual_information
    from sightline.measures.evaluation import Empty, Measured, evaluate, mean_over
    from sightline.measures.judged import Judged, JudgedRun, RankedList, judged_run
    from sightline.measures.names import Measure, measure
    from sightline.measures.precision_recall import (
        PrecisionRecall,
        eleven_points,
        precision_recall_curve,
    )
    from sightline.measures.ranked import Ranking, Ties, rank, rankings
    from sightline.measures.ranking import (
        Discount,
        auc,
        average_precision,
        average_precision_at,
        break_even_point,
        map_at,
        ndcg_at,
        precision_at,
        reciprocal_rank,
    )
    from sightline.measures.runs import (
        parse_qrels,
        parse_run,
        qrels_lines,
        read_qrels,
        read_run,
        run_lines,
        write_qrels,
        write_run,
    )
    from sightline.measures.significance import PairedTest, randomisation, wilcoxon
else:
    __getattr__ = lazy(
        __name__,
        {
            "annotation": (
                "Annotated",
                "FMeasured",
                "annotation_quality",
                "f_measure",
                "top_words",
            ),
            "clusters": ("normalized_mutual_information",),
            "evaluation": (
                "Empty",
                "Measured",
                "evaluate",
                "mean_over",
            ),
            "judged": (
                "Judged",
                "JudgedRun",
                "RankedList",
                "judged_run",
            ),
            "names": (
                "Measure",
                "measure",
            ),
            "precision_recall": (
                "PrecisionRecall",
                "eleven_points",
                "precision_recall_curve",
            ),
            "ranked": (
                "Ranking",
                "Ties",
                "rank",
                "rankings",
            ),
            "ranking": (
                "Discount",
                "auc",
                "average_precision",
                "average_precision_at",
                "break_even_point",
                "map_at",
                "ndcg_at",
                "precision_at",
                "reciprocal_rank",
            ),
            "runs": (
                "parse_qrels",
                "parse_run",
                "qrels_lines",
                "read_qrels",
                "read_run",
                "run_lines",
                "write_qrels",
                "write_run",
            ),
            "significance": (
                "PairedTest",
                "randomisation",
                "wilcoxon",
            ),
        },
    )

__all__ = [
    "Annotated",
    "Discount",
    "Empty",
    "FMeasured",
    "Judged",
    "JudgedRun",
    "Measure",
    "Measured",
    "PairedTest",
    "PrecisionRecall",
    "RankedList",
    "Ranking",
    "Ties",
    "annotation_quality",
    "auc",
    "average_precision",
    "average_precision_at",
    "break_even_point",
    "eleven_points",
    "evaluate",
    "f_measure",
    "judged_run",
    "map_at",
    "mean_over",
    "measure",
    "ndcg_at",
    "normalized_mutual_information",
    "parse_qrels",
    "parse_run",
    "precision_at",
    "precision_recall_curve",
    "qrels_lines",
    "randomisation",
    "rank",
    "rankings",
    "read_qrels",
    "read_run",
    "reciprocal_rank",
    "run_lines",
    "top_words",
    "wilcoxon",
    "write_qrels",
    "write_run",
]
