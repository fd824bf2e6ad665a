"""Figures to play with, and the training dashboard.

Each figure is one anywidget class over one plain ES module.

A module does all of its maths itself, so that the figure works on a page without a
kernel; in Colab and JupyterLab the same figure keeps its state in step with Python.
The dashboard is made of plain ipywidgets and needs a kernel.

Importing this package imports ipywidgets, so ``import tformer`` does not import it.
"""

from tformer.widgets.batch_packer import BatchPacker
from tformer.widgets.dashboard import TrainingDashboard
from tformer.widgets.decoding import Decoding
from tformer.widgets.embedding_map import EmbeddingMap
from tformer.widgets.head_split import HeadSplit
from tformer.widgets.heads import Heads
from tformer.widgets.label_shift import LabelShift
from tformer.widgets.live_lab import LiveLab
from tformer.widgets.mask_laboratory import MaskLaboratory
from tformer.widgets.matrix_product import MatrixProduct
from tformer.widgets.merge_by_merge import MergeByMerge
from tformer.widgets.model_map import ModelMap
from tformer.widgets.one_query import OneQuery
from tformer.widgets.path_length import PathLength
from tformer.widgets.position_waves import PositionWaves
from tformer.widgets.residual_stream import ResidualStream
from tformer.widgets.schedule_and_smoothing import ScheduleAndSmoothing
from tformer.widgets.softmax_bars import SoftmaxBars
from tformer.widgets.teacher_forcing import TeacherForcing
from tformer.widgets.training_replay import TrainingReplay

__all__ = [
    "BatchPacker",
    "Decoding",
    "EmbeddingMap",
    "HeadSplit",
    "Heads",
    "LabelShift",
    "LiveLab",
    "MaskLaboratory",
    "MatrixProduct",
    "MergeByMerge",
    "ModelMap",
    "OneQuery",
    "PathLength",
    "PositionWaves",
    "ResidualStream",
    "ScheduleAndSmoothing",
    "SoftmaxBars",
    "TeacherForcing",
    "TrainingDashboard",
    "TrainingReplay",
]
