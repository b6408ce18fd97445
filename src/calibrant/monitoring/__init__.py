"""Monitor calibration while outcomes come in, with guarantees that hold however often one looks."""

from calibrant.keywords import check_package
from calibrant.monitoring.combination import combine
from calibrant.monitoring.diagnosis import Departure
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.state import MonitorHistory, MonitorState

__all__ = ["Departure", "Monitor", "MonitorHistory", "MonitorState", "combine"]

check_package(__name__)
