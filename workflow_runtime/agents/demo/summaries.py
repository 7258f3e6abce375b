"""What the demo model says of a result: taken from the result, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...plan.encoding import dumps

_SHOWN = 300
_SUSPICIOUS_MINUTES = 60


def summary(envelope: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """Sum up a run that has ended.

    *parts* are results of single tasks that were asked for because the output was too large.
    """
    status = envelope.get("status")
    name = envelope.get("name") or envelope.get("workflow_id")
    output = envelope.get("output")
    lines = [f"“{name}” has ended: {status}."]
    if isinstance(output, dict) and {"logs", "metrics"} <= output.keys():
        lines += _incident(output)
    elif parts or (isinstance(output, dict) and ("html" in output or "summary" in output)):
        lines += _report(output, parts)
    elif output is not None:
        lines += _anything(output)
    lines += _trouble(envelope)
    return "\n".join(lines)


def _incident(output: Mapping[str, Any]) -> Iterator[str]:
    logs, metrics = _object(output.get("logs")), _object(output.get("metrics"))
    service = logs.get("service") or metrics.get("service") or "the service"
    errors, began = logs.get("error_count"), logs.get("first_error_at")
    if errors:
        since = f" since {began}" if began else ""
        yield (
            f"1. What happens: {service} logged {errors} errors{since} in the last "
            f"{logs.get('window_minutes')} minutes, most of them “{logs.get('top_error')}”. "
            f"{_signals(metrics)}"
        )
    else:
        yield f"1. What happens: the log of {service} shows no error. {_signals(metrics)}"
    suspect = _suspect(_object(output.get("deploys")).get("deploys"), began) if errors else None
    if suspect:
        yield (
            f"2. Probable cause: deploy {suspect.get('id')} ({suspect.get('version')}) by "
            f"{suspect.get('by')} at {suspect.get('at')}, shortly before the first error: "
            f"“{suspect.get('change')}”."
        )
        yield (
            f"3. Next step: roll back {suspect.get('id')}; it helped when the error rate is back "
            f"at {_percent(metrics.get('baseline_error_rate'))}."
        )
    else:
        yield "2. Probable cause: the evidence does not point to a deploy."
        yield "3. Next step: look at the dependencies that the log names."
    quoted = (logs.get("lines") or [])[:2]
    if quoted:
        yield from ("", "```", *map(str, quoted), "```")


def _signals(metrics: Mapping[str, Any]) -> str:
    if "error_rate" not in metrics:
        return "There are no metrics."
    usual_rate = metrics.get("baseline_error_rate")
    usual_time = metrics.get("baseline_p95_latency_ms")
    return (
        f"Error rate {_percent(metrics['error_rate'])} (usually {_percent(usual_rate)}), "
        f"95th percentile {metrics.get('p95_latency_ms')} ms (usually {usual_time} ms): "
        f"{metrics.get('verdict')}."
    )


def _suspect(deploys: Any, began: Any) -> Mapping[str, Any] | None:
    """Return the newest deploy of the hour before the first error."""
    error_at = _minute(began)
    if not isinstance(deploys, list) or error_at is None:
        return None
    for deploy in deploys:
        at = _minute(_object(deploy).get("at"))
        if at is not None and 0 <= (error_at - at) % 1_440 <= _SUSPICIOUS_MINUTES:
            return _object(deploy)
    return None


def _report(output: Any, parts: Mapping[str, Any]) -> Iterator[str]:
    whole = _object(output)
    if "sections" in whole or "missing" in whole:
        yield (
            f"The report covers {whole.get('sections')} items; "
            f"{whole.get('missing')} could not be assessed."
        )
    text = next(
        (p for p in (*parts.values(), whole.get("summary")) if isinstance(p, str) and p), None
    )
    if text:
        yield from text.strip().splitlines()[:12]
    yield "The whole report is in the workflow's output."


def _anything(output: Any) -> Iterator[str]:
    if isinstance(output, dict):
        for name, value in output.items():
            yield f"- {name}: {_short(value)}"
    else:
        yield _short(output)


def _trouble(envelope: Mapping[str, Any]) -> Iterator[str]:
    error = _object(envelope.get("error"))
    if error:
        where = f"task {error['task']}: " if error.get("task") else ""
        yield f"What failed: {where}{error.get('message')} ({error.get('code')})"
    failed = _object(envelope.get("progress")).get("failed")
    if failed:
        yield f"Failed: {failed}."


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _percent(value: Any) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else "unknown"


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _minute(clock: Any) -> int | None:
    """Return the minute of the day of ``HH:MM…`` or of the time in an RFC 3339 instant."""
    text = str(clock).rpartition("T")[2]
    hours, _, rest = text.partition(":")
    if hours.isdigit() and rest[:2].isdigit():
        return int(hours) % 24 * 60 + int(rest[:2])
    return None
