"""What tenants have to read, recounted in SQL over all that was sent: summaries, names, scores and alerts, as of each day of sending.

A *day* is counted from the first one. What was sent on day N reached the stack when its clock stood at the beginning of day N + 1, and what was
sent before the first event, on day -1, at the beginning of day 0. A day is decided two hours after its end, so on what was sent by that day.
"""

import json
import sqlite3
from datetime import datetime, timedelta

START = datetime(2019, 1, 1)
COLUMNS = ["tenant_id", "customer_id", "event_id", "name", "at", "properties"]
SHOWN_DAYS = 400

TABLES = f"""
CREATE TABLE events ({', '.join(COLUMNS)}, day INTEGER, sent INTEGER, PRIMARY KEY (tenant_id, customer_id, at, event_id));
CREATE TABLE updates (tenant_id, customer_id, at, payload, sent INTEGER);
CREATE TABLE definitions (tenant_id, sort, id, at, says, sent INTEGER, superseded INTEGER);
CREATE TABLE days (day INTEGER PRIMARY KEY, date, week, month);
"""

# What follows from them, up to the last day that there is.
DERIVED = """
-- A definition is superseded once another of its id, which is later by its own account, is there.
UPDATE definitions AS it SET superseded =
    (SELECT min(sent) FROM definitions AS other WHERE (other.tenant_id, other.sort, other.id) = (it.tenant_id, it.sort, it.id) AND other.at > it.at);

CREATE TABLE counts AS
    SELECT tenant_id, customer_id, name, day, sent, count(*) AS n, min(at) AS first_at, max(at) AS last_at
    FROM events GROUP BY tenant_id, customer_id, name, day, sent;
CREATE INDEX counts_by_customer ON counts (tenant_id, customer_id, name, day, sent, n);

CREATE TABLE measures AS
    SELECT tenant_id, definitions.id, at, json_extract(value, '$.event') AS event, json_extract(value, '$.days') AS days,
        json_extract(value, '$.points') AS points, json_extract(value, '$.most') AS most
    FROM definitions, json_each(says, '$.measures') WHERE sort = 'score';

-- What was known of each customer when a day was decided.
CREATE TABLE known AS
    WITH sent AS (SELECT tenant_id, customer_id, sent AS day, sum(n) AS n, max(day) AS last FROM counts GROUP BY 1, 2, sent),
    begun AS (SELECT tenant_id, customer_id, min(day) AS day FROM sent GROUP BY 1, 2)
    SELECT tenant_id, customer_id, day, sum(n) OVER earlier AS events, max(last) OVER earlier AS last
    FROM (SELECT tenant_id, customer_id, days.day FROM begun JOIN days ON days.day >= begun.day) LEFT JOIN sent USING (tenant_id, customer_id, day)
    WINDOW earlier AS (PARTITION BY tenant_id, customer_id ORDER BY day);

-- Rules with a count: who reached it in which period, and on which day of sending that was known.
CREATE TABLE counted AS
    WITH rules AS (
        SELECT tenant_id, id, at, sent AS defined, superseded, json_extract(says, '$.event') AS name, json_extract(says, '$.count') AS most,
            json_extract(says, '$.within') AS within
        FROM definitions WHERE sort = 'rule' AND json_extract(says, '$.count') IS NOT NULL AND (superseded IS NULL OR superseded > sent)),
    periods AS (
        SELECT rules.*, customer_id, counts.sent, n,
            CASE within WHEN 'day' THEN date WHEN 'week' THEN week WHEN 'month' THEN month ELSE within END AS period
        FROM rules JOIN counts USING (tenant_id, name) JOIN days USING (day)),
    sums AS (
        SELECT *, sum(n) OVER (PARTITION BY tenant_id, id, at, customer_id, period ORDER BY sent) AS total FROM periods)
    SELECT tenant_id, id, superseded, customer_id, period, most AS events, max(defined, min(sent)) AS decided
    FROM sums WHERE total >= most GROUP BY tenant_id, id, at, customer_id, period;

-- What is decided by day: the days on which it begins to hold, from the day on in which it was recorded.
CREATE TABLE begun AS
    WITH daily AS (
        SELECT * FROM definitions WHERE json_extract(says, '$.silent_days') IS NOT NULL OR json_extract(says, '$.alert_below') IS NOT NULL),
    held AS (
        SELECT tenant_id, sort, id, daily.at, customer_id, day, events, CASE sort
            WHEN 'rule' THEN last <= day - json_extract(says, '$.silent_days')
            ELSE json_extract(says, '$.alert_below') > max(0, min(100, json_extract(says, '$.base') + (
                SELECT sum(max(-most, min(most, points * (
                    SELECT coalesce(sum(n), 0) FROM counts WHERE counts.tenant_id = known.tenant_id AND counts.customer_id = known.customer_id
                        AND name = event AND counts.day BETWEEN known.day - days + 1 AND known.day AND sent <= known.day))))
                FROM measures WHERE measures.tenant_id = daily.tenant_id AND measures.id = daily.id AND measures.at = daily.at)))
            END AS holds
        FROM daily JOIN known USING (tenant_id) WHERE day > sent AND (superseded IS NULL OR day < superseded))
    SELECT tenant_id, sort, id, customer_id, day, events FROM (
        SELECT *, lag(holds) OVER (PARTITION BY tenant_id, sort, id, at, customer_id ORDER BY day) AS held FROM held)
    WHERE holds AND NOT coalesce(held, 0);
"""

TALLY = "sum(n), min(first_at), max(last_at)"
IN_FORCE = "sent <= :day AND (superseded IS NULL OR superseded > :day) AND says IS NOT NULL"


def date(day):
    return f"{START + timedelta(days=day):%Y-%m-%d}"


def instant(day, hours=0):
    return f"{START + timedelta(days=day, hours=hours):%Y-%m-%dT%H:%M:%S.000Z}"


def tally(row):
    return dict(zip(("count", "first_at", "last_at"), row))


class Recount:
    """A database with all that is ever sent. Its answers are as of a day of sending."""

    def __init__(self):
        self.database = sqlite3.connect(":memory:")
        self.database.executescript(TABLES)

    def rows(self, query, **values):
        return self.database.execute(query, values).fetchall()

    def record(self, day, events):
        """What comes again stays as it was sent first: days come in order."""
        rows = [[one[name] for name in COLUMNS] + [(datetime.fromisoformat(one["at"][:10]) - START).days, day] for one in events]
        self.database.executemany(f"INSERT OR IGNORE INTO events VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def update(self, day, command):
        row = (command["tenant_id"], command["customer_id"], command["at"], json.dumps(command["payload"]), day)
        self.database.execute("INSERT INTO updates VALUES (?, ?, ?, ?, ?)", row)

    def define(self, day, command):
        sort, becomes = command["type"].split(".")
        says = command["when"] if sort == "rule" and becomes == "defined" else command
        says = None if becomes == "deleted" else json.dumps(says)
        row = (command["tenant_id"], sort, command[f"{sort}_id"], command["at"], says, day)
        self.database.execute("INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?, NULL)", row)

    def derive(self, last_day):
        """Once all is there."""
        days = [START + timedelta(days=day) for day in range(last_day + 1)]
        weeks = ["{0.year}-W{0.week:02}".format(day.isocalendar()) for day in days]
        rows = [(number, f"{day:%Y-%m-%d}", week, f"{day:%Y-%m}") for number, (day, week) in enumerate(zip(days, weeks))]
        self.database.executemany("INSERT INTO days VALUES (?, ?, ?, ?)", rows)
        self.database.executescript(DERIVED)

    def tenants(self):
        return [tenant for (tenant,) in self.rows("SELECT DISTINCT tenant_id FROM events ORDER BY 1")]

    def customers(self, tenant, day, today):
        """Their summaries, in their order."""
        of = {"tenant": tenant, "day": day, "today": today}
        shown = {}
        known = "SELECT customer_id FROM counts WHERE tenant_id = :tenant AND sent <= :day" \
                " UNION SELECT customer_id FROM updates WHERE tenant_id = :tenant AND sent <= :day ORDER BY 1"
        for (customer,) in self.rows(known, **of):
            shown[customer] = {"customer_id": customer, "payload": None, "events": 0, "first_at": None, "last_at": None, "names": {}, "scores": {}}
        payloads = "SELECT customer_id, payload, max(at) FROM updates WHERE tenant_id = :tenant AND sent <= :day GROUP BY 1"
        for customer, payload, _ in self.rows(payloads, **of):
            shown[customer]["payload"] = json.loads(payload)
        sums = f"SELECT customer_id, {TALLY} FROM counts WHERE tenant_id = :tenant AND sent <= :day GROUP BY 1"
        for customer, *sum_of in self.rows(sums, **of):
            shown[customer].update(zip(("events", "first_at", "last_at"), sum_of))
        names = f"SELECT customer_id, name, {TALLY} FROM counts WHERE tenant_id = :tenant AND sent <= :day GROUP BY 1, 2"
        for customer, name, *sum_of in self.rows(names, **of):
            shown[customer]["names"][name] = tally(sum_of)
        for customer, score, value in self.scores(of):
            shown[customer]["scores"][score] = {"value": value, "as_of": date(today)}
        return list(shown.values())

    def scores(self, of):
        return self.rows(f"""
            WITH everybody AS (
                SELECT customer_id FROM counts WHERE tenant_id = :tenant AND sent <= :day
                UNION SELECT customer_id FROM updates WHERE tenant_id = :tenant AND sent <= :day),
            lately AS (
                SELECT measures.rowid AS measure, customer_id, sum(n) AS n FROM measures JOIN counts
                ON counts.tenant_id = measures.tenant_id AND name = event AND day > :today - days AND day <= :today AND sent <= :day
                WHERE measures.tenant_id = :tenant GROUP BY 1, 2)
            SELECT everybody.customer_id, id, max(0, min(100, json_extract(says, '$.base') + sum(max(-most, min(most, points * coalesce(n, 0))))))
            FROM everybody JOIN (SELECT * FROM definitions WHERE {IN_FORCE} AND sort = 'score' AND tenant_id = :tenant)
            JOIN measures USING (tenant_id, id, at) LEFT JOIN lately ON measure = measures.rowid AND lately.customer_id = everybody.customer_id
            GROUP BY 1, 2""", **of)

    def names(self, tenant, day):
        names = f"SELECT name, {TALLY} FROM counts WHERE tenant_id = :tenant AND sent <= :day GROUP BY 1 ORDER BY 1"
        return [{"name": name} | tally(row) for name, *row in self.rows(names, tenant=tenant, day=day)]

    def names_by_day(self, tenant, day, today):
        """Each of them alone."""
        days = "SELECT date, sum(n) FROM counts JOIN days USING (day) WHERE tenant_id = :tenant AND name = :name AND sent <= :day" \
               " AND day > :today - :shown GROUP BY 1 ORDER BY 1 DESC"
        of = lambda name: self.rows(days, tenant=tenant, name=name, day=day, today=today, shown=SHOWN_DAYS)
        return [name | {"days": [{"date": date, "count": n} for date, n in of(name["name"])]} for name in self.names(tenant, day)]

    def alerts_of_counts(self, tenant, day):
        """Rule, customer, period, on how many events, and the hour in which it was decided."""
        counted = "SELECT id, customer_id, period, events, decided FROM counted" \
                  " WHERE tenant_id = :tenant AND decided <= :day AND (superseded IS NULL OR superseded > :day)"
        return [(*row, instant(decided + 1)[:13]) for *row, decided in self.rows(counted, tenant=tenant, day=day)]

    def alerts_of_days(self, tenant, last):
        """Sort, rule or score, customer, day, on how many events, and the hour in which it was decided: all of up to a last day."""
        begun = "SELECT sort, id, customer_id, day, events FROM begun WHERE tenant_id = :tenant AND day <= :last"
        return [(sort, id, customer, date(day), events, instant(day, 26)[:13])
                for sort, id, customer, day, events in self.rows(begun, tenant=tenant, last=last)]
