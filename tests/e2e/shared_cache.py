"""A small shared cache that follows RFC 9111: what it may store, for how long that is fresh, and for which requests it is reused.

It never validates, so what is stale is asked for again. Times are arguments, in seconds.
"""

import email.utils
from dataclasses import dataclass, field

# Statuses that may be reused without an explicit lifetime (RFC 9110, 15.1). Without one this cache takes them for stale.
HEURISTIC = {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501}


class Fields:
    """The header lines of a message. Several lines of a list are one (RFC 9110, 5.3)."""

    def __init__(self, lines):
        self.lines = [(name.lower(), value.strip()) for name, value in lines]

    def __contains__(self, name):
        return any(one == name for one, _ in self.lines)

    def values(self, name):
        return [value for one, value in self.lines if one == name]

    def members(self, name):
        return [member.strip() for value in self.values(name) for member in value.split(",") if member.strip()]

    def seconds(self, name):
        """A date. None if there is none, zero if it is malformed or comes twice: expired (5.3)."""
        found = self.values(name)
        if not found:
            return None
        try:
            return email.utils.parsedate_to_datetime(found[0]).timestamp() if len(found) == 1 else 0
        except ValueError:
            return 0


def directives(fields):
    """{directive: argument} of all `Cache-Control` lines. One with two arguments has the shortest of them (4.2.1)."""
    found = {}
    for member in fields.members("cache-control"):
        name, _, argument = member.partition("=")
        name, argument = name.strip().lower(), argument.strip().strip('"')
        if name in ("max-age", "s-maxage"):
            seconds = int(argument) if argument.isdecimal() else 0
            found[name] = min(seconds, found.get(name, seconds))
        else:
            found[name] = argument
    return found


def lifetime(status, lines, request=()):
    """For how many seconds a shared cache may reuse this answer to a GET. None if it must not store it (3)."""
    fields, asked = Fields(lines), Fields(request)
    said = directives(fields)
    if not 200 <= status < 600 or status in (206, 304):
        return None
    if {"no-store", "private"} & set(said) or "no-store" in directives(asked) or "*" in fields.members("vary"):
        return None
    if "authorization" in asked and not {"public", "must-revalidate", "s-maxage"} & set(said):
        return None
    expires = fields.seconds("expires")
    if not ({"public", "max-age", "s-maxage"} & set(said) or expires is not None or status in HEURISTIC):
        return None
    if "no-cache" in said:
        return 0
    for name in ("s-maxage", "max-age"):
        if name in said:
            return said[name]
    return max(0, expires - (fields.seconds("date") or 0)) if expires else 0


@dataclass
class Stored:
    answer: object
    asked: Fields
    vary: list
    fresh_until: float


@dataclass
class SharedCache:
    stored: dict = field(default_factory=dict)

    def found(self, target, now, request=()):
        """A fresh answer to a request that the stored one was for as well (4)."""
        asked = Fields(request)
        for one in self.stored.get(target, ()):
            same = all(one.asked.values(name) == asked.values(name) for name in one.vary)
            if same and now < one.fresh_until:
                return one.answer
        return None

    def keep(self, target, status, lines, answer, asked_at, received_at, request=()):
        """Stores the answer to a request, if that is allowed. True if it was."""
        seconds = lifetime(status, lines, request)
        if seconds is None:
            return False
        fields, asked = Fields(lines), Fields(request)
        vary = [name.lower() for name in fields.members("vary")]
        # 4.2.3: what the answer says of its age, and what its date does, whichever is more.
        date = fields.seconds("date")
        apparent = max(0, int(received_at) - date) if date is not None else 0
        said = next((int(value) for value in fields.values("age") if value.isdecimal()), 0)
        age = max(apparent, said + received_at - asked_at if said else 0)
        others = [one for one in self.stored.get(target, ()) if one.fresh_until > received_at and one.vary == vary
                  and any(one.asked.values(name) != asked.values(name) for name in vary)]
        self.stored[target] = [*others, Stored(answer, asked, vary, received_at + seconds - age)]
        return True
