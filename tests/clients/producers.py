"""What docs/PRODUCERS.md says of all commands, made from docs/schemas/command.schema.json: the table of commands, their
examples, and the TypeScript type.

    python3 tests/clients/producers.py            says what is out of date; exit code 1 then
    python3 tests/clients/producers.py --write    makes it again
"""

import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "schemas/command.schema.json").read_text(encoding="utf-8"))
DEFS = SCHEMA["$defs"]
TYPES = [one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["oneOf"]]
# Types that are written out by their names, because a payload is any JSON.
NAMED = {"payload": "Json"}


def table():
    """One row for each command: when to send it, and its members."""
    rows = []
    for name in TYPES:
        schema = DEFS[name]
        when = schema["description"].split(". ")[0].split(":")[0].rstrip(".")
        listed = {True: [], False: []}
        for member, value in schema["properties"].items():
            if member != "type":
                listed[member in schema["required"]].append(shown(member, value))
        members = ", ".join(listed[True])
        if listed[False]:
            members += f"; optional: {', '.join(listed[False])}"
        rows.append(f"| {when[0].lower()}{when[1:]} | `{name}` | {members} |")
    return "| when | `type` | members |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def shown(name, schema):
    """A member, with those of the objects in it."""
    schema = resolved(schema)
    objects = [resolved(one) for one in [schema.get("items", {}), *schema.get("oneOf", [])]]
    inner = " or ".join(", ".join(f"`{one}`" for one in each["required"]) for each in objects if "required" in each)
    return f"`{name}` ({inner})" if inner else f"`{name}`"


def resolved(schema):
    return DEFS[schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema


def examples():
    """The example of each command on a line of its own."""
    each = (DEFS[name]["examples"][0] for name in TYPES)
    lines = (json.dumps(example, ensure_ascii=False, separators=(",", ":")) for example in each)
    return "```jsonl\n" + "\n".join(lines) + "\n```\n"


def typescript():
    """`type Command`, one line for each shape that commands have."""
    shapes = {}
    for name in TYPES:
        shapes.setdefault(members(DEFS[name]), []).append(json.dumps(name))
    lines = [f"  | {{ type: {' | '.join(names)}; {shape} }}" for shape, names in shapes.items()]
    return "type Command =\n" + "\n".join(lines) + ";\n"


def members(schema):
    """The members of an object but its type, in the order of the schema."""
    required = set(schema["required"])
    return "; ".join(
        f"{name}{'' if name in required else '?'}: {type_of(value)}"
        for name, value in schema["properties"].items()
        if name != "type"
    )


def type_of(schema):
    if "$ref" in schema:
        return NAMED.get(schema["$ref"].removeprefix("#/$defs/")) or type_of(resolved(schema))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "type" not in schema:
        return "Json"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    [kind] = [kind for kind in kinds if kind != "null"]
    match kind:
        case "array":
            return f"{type_of(schema['items'])}[]"
        case "object":
            return f"{{ {members(schema)} }}" if schema.get("properties") else "{ [name: string]: Json }"
        case "integer":
            return "number"
        case _:
            return kind


def replaced(text, pattern, new, where):
    """A text with the one place that matches replaced."""
    changed, places = re.subn(pattern, lambda _: new, text, flags=re.MULTILINE | re.DOTALL)
    assert places == 1, f"{where}: {places} places match {pattern!r}"
    return changed


def pages():
    """(file, what it should be), for each file that has something made from the schema."""
    page = DOCS / "PRODUCERS.md"
    text = page.read_text(encoding="utf-8")
    for pattern, made in [
        (r"^\| when \| `type` \| members \|\n.*?\n(?=\n)", table()),
        (r"^```jsonl\n.*?\n```\n", examples()),
        (r"^type Command =\n.*?\n(?=\n)", typescript()),
    ]:
        text = replaced(text, pattern, made, page.name)
    yield page, text


def main():
    stale = [(file, text) for file, text in pages() if file.read_text(encoding="utf-8") != text]
    for file, text in stale:
        if "--write" in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        print(f"{file.name} {'written' if '--write' in sys.argv[1:] else 'is out of date: run this with --write'}")
    return 1 if stale and "--write" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
