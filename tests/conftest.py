"""What holds for every test.

No test sees the settings of the machine it runs on: a key that a developer has set would turn a
test into a call to a real model. Subprocesses inherit the clean environment.

Hypothesis runs by one of two profiles: `dev` looks for new examples at each run; `ci` draws the
same ones each time, so that a build says something about the change and not about chance. Neither
sets a deadline: the machine that runs the tests may be busy.
"""

import os

from hypothesis import HealthCheck, settings

SETTINGS_OF_THE_MACHINE = (
    "AZURE_",
    "AzureWebJobs",
    "FOUNDRY_",
    "OPENAI_",
    "WEBSITE_",
    "WORKFLOW_RUNTIME_",
)

for name in [name for name in os.environ if name.startswith(SETTINGS_OF_THE_MACHINE)]:
    del os.environ[name]

# As in local.settings.json.template: the Durable codec builds no objects from payloads.
os.environ["AZURE_FUNCTIONS_DURABLE_STRICT_TYPING"] = "1"

settings.register_profile("dev", deadline=None)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
