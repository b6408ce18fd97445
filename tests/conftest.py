"""Settings of hypothesis: by default the same examples everywhere, and no verdict on how fast a busy machine is.

``pytest --hypothesis-profile=random`` draws other examples each time: run it before a release.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("random"), derandomize=True)
settings.load_profile("repeatable")
