"""What schemathesis is to make of the server's description before it asks anything.

Examples are added, the values of schemathesis.toml, so that the phases that make no values of their own reach what the
store holds. Every answer may hold only what is described: a field that is answered and not described is a fault. And a
stream, which OpenAPI 3.1 can call nothing but text, is to be made of events that each hold an entry of the page.
"""

import json
import pathlib

import schemathesis

try:
    import tomllib
except ImportError:  # Before Python 3.11, where schemathesis brings it along.
    import tomli as tomllib

SETTINGS = tomllib.loads(pathlib.Path("schemathesis.toml").read_text(encoding="utf-8"))


def values(binding):
    """The values that a parameter of the settings is bound to."""
    known = SETTINGS["dictionaries"][binding["dictionary"]]
    if "values" in known:
        return known["values"]
    return [json.loads(line) for line in pathlib.Path(known["from-file"]).read_text().splitlines()]


def body_fields(schema, path="body"):
    """Each field of a body, with the name that the settings have for it."""
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        if field.get("type") == "array":
            yield from body_fields(field["items"], f"{path}.{name}[*]")


def close(schema):
    """Allows no other fields than those that are described, here and below."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("properties"):
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            close(part)
    elif isinstance(schema, list):
        for part in schema:
            close(part)


def event(entry):
    """The shape of an event of a stream."""
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": entry}
    fields = {"event": {"const": "entry"}, "id": {"type": "string", "pattern": "^[1-9][0-9]*$"}, "data": data}
    return {"type": "object", "properties": fields, "required": ["event", "id", "data"]}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    used = set()
    own = {special["include-operation-id"]: special["parameters"] for special in SETTINGS["operations"]}
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            bound = SETTINGS["parameters"] | own.pop(operation["operationId"], {})
            for parameter in operation.get("parameters", []):
                name = f"{parameter['in']}.{parameter['name']}"
                if name in bound:
                    used.add(name)
                    parameter["schema"]["examples"] = values(bound[name])
            if "requestBody" in operation:
                for name, field in body_fields(operation["requestBody"]["content"]["application/json"]["schema"]):
                    if name in bound:
                        used.add(name)
                        field["examples"] = values(bound[name])
            for answer in operation["responses"].values():
                content = answer.get("content", {})
                if "text/event-stream" in content:
                    page = content["application/json"]["schema"]
                    content["text/event-stream"]["schema"] = event(page["properties"]["entries"]["items"])
            close(operation["responses"])
    close(raw_schema["components"]["schemas"])
    unused = [*(SETTINGS["parameters"].keys() - used), *own]
    assert not unused, f"there is nothing any more that takes {unused}"
