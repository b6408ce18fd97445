"""Models on the same rows: which is better at what, with intervals that hold together."""

from calibrant.comparing.results import ComparedModel as ComparedModel
from calibrant.comparing.results import MeasureDifference as MeasureDifference
from calibrant.keywords import check_package

check_package(__name__)
