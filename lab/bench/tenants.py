"""What tenants define, and what they are shown, compared with the recount.

Every tenant has the same rules and scores. Some are there from the start, some come in the middle of the year, some are superseded or deleted, and
some commands come too late to be in effect. Half of the aircraft that are known have payloads, sent late, twice, and in the wrong order.
"""

import itertools
import json
import random

from recount import date, instant

# Since which part of the year; of which sort; its id; what it says, or nothing where it is deleted; since when by its own account, if that is another.
DEFINED = [
    (0, "rule", "busy-day", {"event": "departed", "count": 4, "within": "day"}),
    (0, "rule", "busy-week", {"event": "arrived", "count": 10, "within": "week"}),
    (0, "rule", "grounded", {"event": "cancelled", "count": 2, "within": "month"}),
    (0, "rule", "hundred", {"event": "departed", "count": 100, "within": "ever"}),
    (0.5, "rule", "busy-month", {"event": "arrived", "count": 30, "within": "month"}),
    (0.6, "rule", "third", {"event": "cancelled", "count": 3, "within": "ever"}),
    (0, "rule", "redefined", {"event": "arrived", "count": 8, "within": "week"}),
    (0.55, "rule", "redefined", {"event": "departed", "count": 3, "within": "day"}),
    (0.7, "rule", "redefined", {"event": "departed", "count": 1, "within": "ever"}, 0.3),
    (0, "rule", "deleted", {"event": "departed", "count": 3, "within": "day"}),
    (0.4, "rule", "deleted", None),
    (0.8, "rule", "deleted", {"event": "departed", "count": 1, "within": "day"}, 0.2),
    (0, "rule", "silent", {"silent_days": 7}),
    (0, "rule", "silent-for-long", {"silent_days": 14}),
    (0.5, "rule", "silent-for-long", {"silent_days": 30}),
    (0, "rule", "silent-until", {"silent_days": 3}),
    (0.3, "rule", "silent-until", None),
    (0.65, "rule", "silent-lately", {"silent_days": 5}),
    (0, "score", "health", {"base": 40, "measures": [
        {"event": "departed", "days": 28, "points": 2, "most": 60}, {"event": "cancelled", "days": 28, "points": -10, "most": 40}], "alert_below": 45}),
    (0, "score", "activity", {"base": -5, "measures": [
        {"event": "arrived", "days": 90, "points": 1, "most": 80}, {"event": "departed", "days": 1, "points": 7, "most": 25}]}),
    (0.1, "score", "redefined", {"base": 10, "measures": [{"event": "departed", "days": 7, "points": 5, "most": 50}], "alert_below": 20}),
    (0.45, "score", "redefined", {"base": 20, "measures": [{"event": "arrived", "days": 14, "points": 4, "most": 100}], "alert_below": 30}),
    (0.25, "score", "deleted", {"base": 1, "measures": [{"event": "departed", "days": 10, "points": 1, "most": 9}], "alert_below": 3}),
    (0.7, "score", "deleted", None),
]
# A customer of each tenant of whom something is said, and who never does anything.
IDLE = "idle"
# Alerts that each tenant reads of each first page, and customers who are asked for one by one.
READ, SINGLE = 20, 25


def day_of(part, days):
    return int(part * days) if part else -1


def definitions(tenants, days):
    """What is defined and deleted, each with the day on which it is sent."""
    for since, sort, id, says, *at in DEFINED:
        day = day_of(since, days)
        command = {"at": instant(day_of(at[0], days) + 1 if at else day + 1), f"{sort}_id": id}
        command["type"] = f"{sort}.{'defined' if says else 'deleted'}"
        if says:
            command |= {"when": says} if sort == "rule" else says
        for tenant in tenants:
            yield day, command | {"tenant_id": tenant}


def updates(planes, customers, days):
    """What is said of customers, each with the day on which it is sent."""
    chance = random.Random(13)
    for tenant, customer in customers:
        plane = {"idle": True} if customer == IDLE else planes.get(customer)
        if plane is None or chance.random() < 0.5:
            continue
        said = {"type": "customer.updated", "tenant_id": tenant, "customer_id": customer}
        first = chance.randrange(-1, days)
        yield first, said | {"at": instant(first + 1), "payload": plane}
        if chance.random() < 0.4:
            later = chance.randrange(first, days) + 1
            # What is sent last may be of before.
            hours = chance.choice((-24 * (later - first) - 1, -1, 0))
            yield later, said | {"at": instant(later + 1, hours), "payload": plane | {"said": later}}


def pages(local, path, query=""):
    while query is not None:
        page = local.get(f"{path}?limit=100{query}")
        yield from page["items"]
        query = page["next_cursor"] and f"&cursor={page['next_cursor']}"


class Comparison:
    """Compares, and prints a line for each comparison."""

    def __init__(self):
        self.number, self.compared, self.differences = 0, 0, []

    def of(self, what, found, wanted):
        """The same, in the same order."""
        found, wanted = list(found), list(wanted)
        self.number, self.compared = self.number + 1, self.compared + len(wanted)
        pairs = enumerate(itertools.zip_longest(found, wanted))
        said = next((f"{number} is {one}, and not {other}" for number, (one, other) in pairs if one != other), None)
        if said:
            self.differences.append(what)
        print(f"{what}: {len(wanted):,}, {'equal' if said is None else f'{len(found):,} found, they DIFFER: {said}'}", flush=True)

    def all_of(self, what, found, wanted):
        """The same, in whatever order."""
        self.of(what, sorted(found), sorted(wanted))

    def holds(self, what, is_so):
        self.number += 1
        if not is_so:
            self.differences.append(what)
        print(f"{what}: {'yes' if is_so else 'NO'}", flush=True)


class Tenants:
    """All that tenants read, as of a day of sending."""

    def __init__(self, local, recount, comparison):
        self.local, self.recount, self.comparison = local, recount, comparison
        self.tenants, self.read, self.chance = recount.tenants(), set(), random.Random(3)

    def each(self, of):
        return [(tenant, one) for tenant in self.tenants for one in of(tenant)]

    def compare(self, day, today):
        """Nothing may be on its way. `today` is the day that the clock shows."""
        when = date(today)
        customers = self.each(lambda tenant: pages(self.local, f"/v1/tenants/{tenant}/customers"))
        wanted = self.each(lambda tenant: self.recount.customers(tenant, day, today))
        self.comparison.of(f"{when} customers with their names, scores and payloads", customers, wanted)
        some = sorted(self.chance.sample(wanted, min(SINGLE * len(self.tenants), len(wanted))), key=lambda of: (of[0], of[1]["customer_id"]))
        single = [(tenant, self.local.get(f"/v1/tenants/{tenant}/customers/{one['customer_id']}")) for tenant, one in some]
        self.comparison.of(f"{when} customers, one by one", single, some)
        names = self.each(lambda tenant: pages(self.local, f"/v1/tenants/{tenant}/names"))
        self.comparison.of(f"{when} names", names, self.each(lambda tenant: self.recount.names(tenant, day)))
        by_day = [(tenant, self.local.get(f"/v1/tenants/{tenant}/names/{one['name']}")) for tenant, one in names]
        wanted = self.each(lambda tenant: self.recount.names_by_day(tenant, day, today))
        self.comparison.of(f"{when} names by day ({sum(len(one['days']) for _, one in wanted):,} days)", by_day, wanted)
        self.compare_alerts(day, today)

    def compare_alerts(self, day, today):
        when, path = date(today), "/v1/tenants/{}/alerts".format
        listed = self.each(lambda tenant: pages(self.local, path(tenant)))
        of = lambda one, *members: tuple(one[member] for member in members) + (one["decided_on"]["events"], one["decided_at"][:13])
        counts = [(tenant, of(one, "rule_id", "customer_id", "period")) for tenant, one in listed if "period" in one]
        self.comparison.all_of(f"{when} alerts of counts", counts, self.each(lambda tenant: self.recount.alerts_of_counts(tenant, day)))
        by_day = [(tenant, (sort, *of(one, f"{sort}_id", "customer_id", "day"))) for tenant, one in listed if "day" in one
                  for sort in ("rule", "score") if f"{sort}_id" in one]
        # Of yesterday nothing is decided before two o'clock.
        begun = self.each(lambda tenant: self.recount.alerts_of_days(tenant, today - 2))
        for sort, what in (("rule", "silence"), ("score", "scores")):
            own = lambda alerts: [alert for alert in alerts if alert[1][0] == sort]
            self.comparison.all_of(f"{when} alerts of {what}", own(by_day), own(begun))
        ids = [(tenant, one["alert_id"]) for tenant, one in listed]
        self.comparison.holds(f"{when} all {len(ids):,} alerts have ids of their own", len(ids) == len(set(ids)))
        latest_first = [one["decided_at"] for tenant in self.tenants for of, one in listed if of == tenant]
        order = self.each(lambda tenant: sorted((one["decided_at"] for of, one in listed if of == tenant), reverse=True))
        self.comparison.of(f"{when} alerts, the latest first", latest_first, [at for _, at in order])
        read = [key for key, (_, one) in zip(ids, listed) if one["state"] == "read"]
        self.comparison.all_of(f"{when} alerts that were read", read, self.read & set(ids))
        unread = self.each(lambda tenant: pages(self.local, path(tenant), "&state=unread"))
        self.comparison.of(f"{when} unread alerts", unread, [(tenant, one) for tenant, one in listed if (tenant, one["alert_id"]) not in self.read])

    def read_some(self):
        """Reads the first alerts of each tenant, and one that there never was."""
        for tenant in self.tenants:
            first = [one["alert_id"] for one in itertools.islice(pages(self.local, f"/v1/tenants/{tenant}/alerts"), READ)]
            read = [{"alert_id": id} for id in [*first, "0" * 32]]
            self.local.send([{"type": "alerts.read", "tenant_id": tenant, "read": read}])
            self.read |= {(tenant, id) for id in first}
