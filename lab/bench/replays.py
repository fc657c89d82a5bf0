"""Summaries of tenants are counted again from tables and archives while events come in, and views that are broken are found and replaced."""

import collections
import json
import random
import threading
import time
import urllib.request

from recount import date

# How often to replace what is broken, where a tenant does not rest for long enough.
TRIES = 20


class Feed:
    """Sends events one by one, over HTTP, for as long as the block lasts; and then what is left."""

    def __init__(self, local, events, line, pause):
        """With so many seconds between two events."""
        self.local, self.line, self.pause = local, line, pause
        self.waiting, self.sent = collections.defaultdict(collections.deque), collections.Counter()
        for one in events:
            self.waiting[one["tenant_id"]].append(one)
        self.order = [one["tenant_id"] for one in events]
        random.Random(7).shuffle(self.order)
        # The tenant that every other event is of, and the one that no event is of.
        self.more, self.without = None, None
        self.over, self.failure = threading.Event(), None
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.failure:
            raise self.failure
        if left := [one for of in self.waiting.values() for one in of]:
            self.local.send_events(left)

    def run(self):
        try:
            while not self.over.wait(self.pause):
                if tenant := self.next():
                    self.send_one(tenant)
        except Exception as failure:
            self.failure = failure

    def next(self):
        if self.waiting[self.more] and self.sent.total() % 2:
            return self.more
        return next((tenant for tenant in self.order if self.waiting[tenant] and tenant != self.without), None)

    def send_one(self, tenant):
        body = f'{{"events":[{self.line(self.waiting[tenant].popleft())}]}}'.encode()
        url = f"{self.local.exports['NAGARE_API_URL']}/v1/tenants/{tenant}/events"
        with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})) as answer:
            if answer.status != 202:
                raise SystemExit(f"an event was answered with {answer.status}")
        self.order.remove(tenant)
        self.sent[tenant] += 1


def since(begun, feed, tenant):
    came = feed.sent - begun
    return f"while {came.total():,} events came in, {came[tenant]:,} its own"


def counted_again(local, comparison, feed, today, tenants):
    """A replay of each of these tenants finds nothing else than what is there."""
    for tenant in tenants:
        feed.more, before, begun = tenant, feed.sent.copy(), time.monotonic()
        code, _, said = local.run("events", "replay", "--tenant", tenant)
        what = f"{date(today)} events replay of {tenant}, {time.monotonic() - begun:.1f} s, {since(before, feed, tenant)}"
        comparison.holds(f"{what}: {said.strip().splitlines()[-1]}", code == 0)
    comparison.holds(f"{date(today)} events came in to the end", any(feed.waiting.values()))


class Broken:
    """Views of a tenant, broken by hand in the table."""

    def __init__(self, local, recount, comparison, tenant, day):
        self.local, self.recount, self.comparison, self.tenant, self.day = local, recount, comparison, tenant, day

    def views(self, operation, **of):
        body = {"TableName": self.local.exports["NAGARE_VIEWS_TABLE"]} | of
        return self.local.call(self.local.exports["AWS_ENDPOINT_URL_DYNAMODB"], f"DynamoDB_20120810.{operation}", body)

    def key(self, pk, sk):
        return {"pk": {"S": pk}, "sk": {"S": sk}}

    def break_some(self):
        """A customer without their days, one with the counts of another, one who is gone, a name without some of its events, and a witness."""
        # Whoever does nothing meanwhile is given no alert, and misses none, by what is broken.
        resting = "SELECT customer_id FROM counts WHERE tenant_id = :tenant GROUP BY 1 HAVING sum(sent BETWEEN :day AND :day + 1) = 0 AND min(sent) < :day" \
                  " ORDER BY sum((sent < :day) * n) DESC, 1 LIMIT 4"
        gone, days, other, one = [customer for (customer,) in self.recount.rows(resting, tenant=self.tenant, day=self.day)]
        of = lambda customer: self.key(f"customer#{self.tenant}#{customer}", "summary")
        self.views("DeleteItem", Key=of(gone))
        self.views("UpdateItem", Key=of(days), UpdateExpression="REMOVE recent")
        counts = self.views("GetItem", Key=of(one), ConsistentRead=True)["Item"]
        values = {f":{name}": counts[name] for name in ("tally", "names", "recent")}
        self.views("UpdateItem", Key=of(other), UpdateExpression="SET tally = :tally, #names = :names, recent = :recent",
                   ExpressionAttributeNames={"#names": "names"}, ExpressionAttributeValues=values)
        parts = [self.key(f"names#{self.tenant}#{part}", "arrived") for part in range(8)]
        part = next(key for key in parts if "tally" in self.views("GetItem", Key=key, ConsistentRead=True).get("Item", {}))
        self.views("UpdateItem", Key=part, UpdateExpression="REMOVE tally, days")
        # Of a period whose stream has nothing left.
        [period] = self.recount.rows("SELECT date FROM counts JOIN days USING (day) WHERE tenant_id = :tenant AND day < :day - 10 ORDER BY day DESC LIMIT 1",
                                     tenant=self.tenant, day=self.day)[0]
        parts = [self.key(f"witness#{period}#{part}", self.tenant) for part in range(8)]
        part = next(key for key in parts if "events" in self.views("GetItem", Key=key, ConsistentRead=True).get("Item", {}))
        self.views("UpdateItem", Key=part, UpdateExpression="SET events = :n", ExpressionAttributeValues={":n": {"N": "1000000"}})
        return sorted([("customer", customer) for customer in (gone, days, other)] + [("name", "arrived"), ("witness", period)])

    def found(self, *command):
        code, printed, said = self.local.run(*command, "--tenant", self.tenant, "--json")
        return code, sorted((one["difference"], one["of"]) for one in map(json.loads, printed.splitlines())), said

    def compare(self, feed):
        """All that is broken is found, and nothing else; it is replaced while events come in; then nothing is found."""
        when, broken, begun = date(self.day + 1), self.break_some(), feed.sent.copy()
        _, found, _ = self.found("audit")
        self.comparison.of(f"{when} broken views of {self.tenant}, as audit finds them {since(begun, feed, self.tenant)}", found, broken)
        tries, code, begun = 0, None, feed.sent.copy()
        while code != 0 and tries < TRIES:
            code, found, said = self.found("events", "replay", "--switch")
            # A name is of all customers: it is replaced when nothing of the tenant comes for as long as its tables are read.
            tries, feed.without = tries + 1, self.tenant
            what = f"{when} replay {tries} of {self.tenant} with --switch {since(begun, feed, self.tenant)}"
            self.comparison.of(f"{what}: {said.strip().splitlines()[0]}; what was not broken", [one for one in found if one not in broken], [])
        code, left, _ = self.found("audit")
        self.comparison.of(f"{when} broken views of {self.tenant} after that", left, [])
        self.comparison.holds(f"{when} audit of {self.tenant} says that all is well", code == 0)
        self.comparison.holds(f"{when} events came in to the end", any(feed.waiting.values()))
