"""Figures in one style: arrays in, a `plotly.graph_objects.Figure` out; and the theme of light and dark pages."""

from alice.reports.figures.charts import DERIVED as DERIVED
from alice.reports.figures.charts import bars as bars
from alice.reports.figures.charts import heatmap as heatmap
from alice.reports.figures.charts import layer_curve as layer_curve
from alice.reports.figures.charts import scatter_with_fit as scatter_with_fit
from alice.reports.figures.charts import slider as slider
from alice.reports.figures.charts import stacked_shares as stacked_shares
from alice.reports.figures.maps import Marks as Marks
from alice.reports.figures.maps import character_map as character_map
from alice.reports.figures.maps import key_matrix as key_matrix
from alice.reports.figures.maps import row_normalised as row_normalised
from alice.reports.figures.maps import tiled_maps as tiled_maps
from alice.reports.figures.panels import Panel as Panel
from alice.reports.figures.panels import level_and_change as level_and_change
from alice.reports.figures.panels import line_panels as line_panels
