"""
Tools whose arguments reach us as the model sent them.

The framework checks arguments against a tool's schema and answers every error by "Argument parsing
failed", from which a model learns nothing. So ``invoke`` is ours: the schema is only shown.
"""

from __future__ import annotations

from typing import Any, override

from agent_framework import Content, FunctionTool

from ...plan.encoding import scrub
from ..tool_calls import ModelTool


class RawTool(FunctionTool):
    """A ModelTool in the framework's clothes."""

    def __init__(self, tool: ModelTool) -> None:
        super().__init__(
            name=tool.name,
            description=tool.description,
            func=tool.call,
            input_model=dict(tool.schema),
        )
        self._tool = tool

    @override
    async def invoke(self, *, arguments: Any = None, **_ignored: Any) -> Any:
        """Answer with one text, whatever the arguments are."""
        answer = await self._tool.call({} if arguments is None else arguments)
        return [Content.from_text(scrub(answer.text))]

    @override
    def to_json_schema_spec(self) -> dict[str, Any]:
        """Leave out the parameters of a tool that has none: some refuse an empty object."""
        spec = super().to_json_schema_spec()
        if not self.parameters().get("properties"):
            del spec["function"]["parameters"]
        return spec
