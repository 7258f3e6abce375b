"""A typical skill's grants, four tools and two sub-agents: what the token budget is about."""

from workflow_runtime.plan.grants import AgentGrant, Grants, ToolGrant

TEXT = {"type": "string"}
COUNT = {"type": "integer"}


def tool(name: str, description: str, output: dict, **parameters: dict) -> ToolGrant:
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    shape = {"type": "object", "properties": output}
    return ToolGrant(name=name, description=description, arguments=schema, output=shape)


TOOLS = (
    tool(
        "fetch_logs",
        "Fetch recent log lines of a service.\n\nOldest first, at most 500.",
        {"lines": {"type": "array", "items": TEXT}, "errors": COUNT},
        service=TEXT,
        window_minutes=COUNT,
    ),
    tool("fetch_metrics", "Fetch metrics.", {"p95_ms": COUNT, "error_rate": COUNT}, service=TEXT),
    tool("fetch_deploys", "Latest deploys: newest first.", {"ids": TEXT}, service=TEXT),
    tool("page_on_call", "Page the person on call.", {"paged": TEXT}, service=TEXT, text=TEXT),
)
GRANTS = Grants(
    tools={each.name: each for each in TOOLS},
    agents={
        "log_analyst": AgentGrant(name="log_analyst", description="Find the cause in log lines"),
        "report_writer": AgentGrant(name="report_writer", description="Write the final report"),
    },
)
