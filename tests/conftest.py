"""What holds for every test.

Hypothesis runs by one of two profiles: `dev` looks for new examples at each run; `ci` draws the same
ones each time, so that a build says something about the change and not about chance. Neither sets a
deadline: the machine that runs the tests may be busy.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("dev", deadline=None, max_examples=100)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=100,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
