from calibrant.monitoring.monitor import Monitor as Monitor
from calibrant.monitoring.monitor import combine as combine
from calibrant.monitoring.state import MonitorHistory as MonitorHistory
from calibrant.monitoring.state import MonitorState as MonitorState
from calibrant.monitoring.sums import Departure as Departure
