"""Tasks to write plans of, and a look at one of them."""


def tool(name, target="give", /, **rest):
    return {"id": name, "type": "tool", "tool": target, **rest}


def gate(name, **rest):
    return tool(name, "gate", args={"name": name}, **rest)


def line_of(envelope, task):
    return next(line for line in envelope["tasks"] if line["id"] == task)


def event(name, **rest):
    return {"id": name, "type": "wait", "event": "paid", **rest}
