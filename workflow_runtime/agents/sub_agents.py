"""
Runs a specialist: one task in, one answer out, nothing kept.

It sees its own instructions, the task and the run's context; no history, no plan, no management
tools. It has its own model, chat tools and timeout.
"""

from __future__ import annotations

import asyncio

from ..errors import ModelError
from ..execution import AgentAnswer, AgentMissingError, AgentRequest, ToolPool
from ..skills import Catalog
from .chat_tools import chat_tools
from .conversation import Entry
from .models import Models
from .prompts import prompt


class AgentExecutor:
    """The execution layer's SubAgents over the catalog's skills."""

    def __init__(self, *, catalog: Catalog, models: Models, pool: ToolPool) -> None:
        self._catalog = catalog
        self._models = models
        self._pool = pool

    async def run(self, request: AgentRequest) -> AgentAnswer:
        """Run the agent to its answer.

        Raises AgentMissingError for an unknown agent, TimeoutError after its skill's timeout and
        ModelError for a provider's trouble, an empty answer included.
        """
        skill = self._catalog.skills.get(request.agent)
        if skill is None:
            raise AgentMissingError
        task = request.task
        if request.context:
            task = prompt("sub_agent", task=task, context=request.context)
        await self._models.ready()
        from .maf import loop

        exchange = loop.Exchange(
            client=self._models.client_for(skill),
            provider=self._models.provider,
            request_timeout=self._models.request_timeout,
            instructions=skill.instructions,
            entries=[Entry(role="user", text=task)],
            tools=chat_tools(self._catalog.chat_tools_of(skill.slug).values(), self._pool),
            options=self._models.options_for(skill),
        )
        async with asyncio.timeout(skill.timeout):
            text, usage = await loop.run(exchange)
        if not text:
            message = f"The model of sub-agent {request.agent!r} gave an empty answer."
            raise ModelError("model_failed", message)
        return AgentAnswer(
            agent=request.agent,
            text=text,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
        )
