"""Models on the same rows: which is better at what, with intervals that hold together."""

from calibrant.comparing.compare import ComparedModel as ComparedModel
from calibrant.comparing.compare import MeasureDifference as MeasureDifference
from calibrant.keywords import check_package

check_package(__name__)
