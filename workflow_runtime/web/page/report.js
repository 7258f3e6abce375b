// Shows one HTML report that the chat page hands over. This document is an opaque origin whose policy
// allows no network and no script but this one: what the report says is displayed, never run.

addEventListener("message", (event) => {
  if (event.source !== parent || typeof event.data !== "string") return;
  const report = new DOMParser().parseFromString(event.data, "text/html");
  for (const element of report.querySelectorAll("script, meta[http-equiv], base, link, iframe, object, embed")) {
    element.remove();
  }
  document.title = report.title || "Report";
  document.documentElement.replaceWith(document.adoptNode(report.documentElement));
}, { once: true });

parent.postMessage("report-ready", "*");
