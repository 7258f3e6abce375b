"""The skills that come with the repository, and the plans that show them."""

import json
from asyncio import gather
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from workflow_runtime.execution import ToolPool, call_tool
from workflow_runtime.plan import check
from workflow_runtime.skills import Endpoints, load_catalog

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(ROOT)


@pytest.fixture
def call(catalog):
    pool = ToolPool(2)

    async def run(name, **arguments):
        return await call_tool(catalog.workflow_tools[name], arguments, pool=pool)

    yield run
    pool.close()


def test_they_load_without_a_warning(catalog):
    assert catalog.warnings == ()
    assert catalog.unloaded == {}


def test_people_reach_the_two_front_skills_and_no_specialist(catalog):
    assert {front.slug: front.endpoints for front in catalog.fronts()} == {
        "incident_triage": Endpoints(chat=True, page=True, auth="function"),
        "pr_portfolio": Endpoints(chat=True, page=True, auth="function"),
    }
    assert set(catalog.grants("incident_triage").agents) == set()
    assert set(catalog.grants("pr_portfolio").agents) == {
        "pr_status_analyst",
        "actionable_report_writer",
    }


@pytest.mark.parametrize(
    ("example", "skill"), [("incident", "incident_triage"), ("pr_portfolio", "pr_portfolio")]
)
def test_an_example_is_a_valid_plan_of_its_skill(catalog, example, skill):
    plan = json.loads((ROOT / "examples" / f"{example}.json").read_text("utf-8"))
    checked = check(plan, catalog.grants(skill), datetime(2026, 3, 1, tzinfo=UTC))
    assert checked.problems == ()


@pytest.mark.parametrize("tool", ["fetch_logs", "fetch_metrics", "fetch_deploys"])
async def test_evidence_depends_on_the_service_alone(call, tool):
    services = ("checkout", "checkout", "orders")
    first, again, other = await gather(*(call(tool, service=service) for service in services))
    assert first == again
    assert first["value"] != other["value"]


async def test_checkouts_evidence_tells_one_story(call):
    tools = ("fetch_logs", "fetch_metrics", "fetch_deploys")
    outcomes = await gather(*(call(tool, service="checkout") for tool in tools))
    logs, metrics, history = (outcome["value"] for outcome in outcomes)
    deploys = history["deploys"]
    assert logs["first_error_at"] == "14:10:00Z"
    assert "connection pool exhausted" in logs["top_error"]
    assert metrics["verdict"] == "failing"
    assert (deploys[0]["at"], "connection pool" in deploys[0]["change"]) == ("14:06:00Z", True)


async def test_every_listed_pull_request_can_be_fetched(call):
    listed = (await call("list_pull_requests"))["value"]
    assert len(listed) == 5
    fetched = await gather(*(call("fetch_pull_request", number=e["number"]) for e in listed))
    assert [each["value"]["title"] for each in fetched] == [each["title"] for each in listed]


async def test_what_is_not_there_is_told_with_what_is(call):
    assert (
        "contoso/shop" in (await call("list_pull_requests", repository="x"))["failure"]["message"]
    )
    failure = (await call("fetch_pull_request", number=1))["failure"]
    assert failure["message"] == "'contoso/shop' has no pull request 1"


async def test_a_report_shows_texts_as_texts(call):
    evil = '<script>alert("1")</script> & $title {title}'
    outcome = await call(
        "render_report", title=evil, summary=evil, sections=[f"- {evil}", None, " "]
    )
    report = outcome["value"]
    assert (report["sections"], report["missing"]) == (1, 2)
    assert "<script" not in report["html"]
    shown = _Text()
    shown.feed(report["html"])
    assert "".join(shown.found).count(evil) == 4


class _Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_data(self, data):
        self.found.append(data)
