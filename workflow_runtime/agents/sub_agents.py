"""
Runs a specialist: one task in, one answer out, nothing kept.

It sees its own instructions, the task and the run's context; no history, no plan, no management
tools. It has its own model, chat tools and timeout. Where it calls a tool for which a person is
asked first, the attempt ends with that question and the conversation so far; with the person's
decision another attempt goes on from there.
"""

from __future__ import annotations

import asyncio

from ..errors import ModelError
from ..execution import (
    AgentAnswer,
    AgentAsk,
    AgentMissingError,
    AgentRequest,
    StepCalls,
    ToolPool,
)
from ..plan.types import Json
from ..skills import Catalog, Skill
from .asking import Question
from .chat_tools import answered, chat_tools
from .conversation import Entry
from .models import Models
from .prompts import prompt
from .tool_calls import Answer, refusal
from .transcript import Transcript


class AgentExecutor:
    """The execution layer's SubAgents over the catalog's skills."""

    def __init__(self, *, catalog: Catalog, models: Models, pool: ToolPool) -> None:
        self._catalog = catalog
        self._models = models
        self._pool = pool

    async def run(self, request: AgentRequest) -> AgentAnswer | AgentAsk:
        """Run the agent to its answer, or to the call that a person must approve.

        Raises AgentMissingError for an unknown agent, TimeoutError after its skill's timeout,
        ModelError for a provider's trouble, an empty answer included, and TerminalError for a
        conversation that is too long to be kept while a person is asked.
        """
        skill = self._catalog.skills.get(request.agent)
        if skill is None:
            raise AgentMissingError
        async with asyncio.timeout(skill.timeout):
            return await self._run(skill, request)

    async def _run(self, skill: Skill, request: AgentRequest) -> AgentAnswer | AgentAsk:
        await self._models.ready()
        from .maf import loop

        client = self._models.client_for(skill)
        question = Question()
        entries = await self._conversation(skill, request)
        tools = self._catalog.chat_tools_of(skill.slug).values()
        exchange = loop.Exchange(
            client=client,
            provider=self._models.provider,
            request_timeout=self._models.request_timeout,
            instructions=skill.instructions,
            entries=entries,
            tools=chat_tools(tools, self._pool, ask=question, calls=request.calls),
            options=self._models.options_for(skill),
            paused=question.is_asked,
        )
        ended = await loop.run(exchange)
        if question.tool is not None:
            transcript = Transcript.paused(
                [*entries, *ended.added], question.marker, request.calls.made()
            )
            return AgentAsk(
                tool=question.tool,
                args=question.args,
                transcript=transcript.to_json(),
                input_tokens=ended.usage.input_tokens,
                output_tokens=ended.usage.output_tokens,
            )
        if not ended.text:
            message = f"The model of sub-agent {request.agent!r} gave an empty answer."
            raise ModelError("model_failed", message)
        return AgentAnswer(
            agent=request.agent,
            text=ended.text,
            input_tokens=ended.usage.input_tokens,
            output_tokens=ended.usage.output_tokens,
        )

    async def _conversation(self, skill: Skill, request: AgentRequest) -> tuple[Entry, ...]:
        """Return what has been said: the task, or all of it up to the person's decision."""
        decision = request.decision
        if not isinstance(decision, dict):
            task = request.task
            if request.context:
                task = prompt("sub_agent", task=task, context=request.context)
            return (Entry(role="user", text=task),)
        transcript = Transcript.from_json(decision.get("transcript"))
        request.calls.go_on(transcript.made)
        return transcript.answered((await self._decided(skill, decision, request.calls)).text)

    async def _decided(self, skill: Skill, decision: dict[str, Json], calls: StepCalls) -> Answer:
        """Do what was decided: call the tool that was shown, with what was shown, or do not."""
        name = str(decision.get("tool"))
        if decision.get("approved") is not True:
            comment = f": {decision['comment']}" if decision.get("comment") else ""
            message = f"Not called: a person rejected it{comment}. Do not call it again."
            return refusal("rejected", message)
        tool = self._catalog.chat_tools_of(skill.slug).get(name)
        if tool is None:
            return refusal("tool_missing", f"Not called: there is no tool {name!r} any more.")
        return await answered(tool, decision.get("args"), self._pool, calls)
