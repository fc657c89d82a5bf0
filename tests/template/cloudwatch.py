"""Evaluates alarms of CloudWatch over figures of whole minutes, as CloudWatch does.

Each minute an alarm looks at its last periods, of which the newest ends then. Figures arrive later than they were counted: `ARRIVE`.

AWS's documentation of `FILL` has two readings, and an alarm has to be right by both: it fills a metric that has no data at all
(`fills_empty`), or only gaps between data.
"""

import re
from dataclasses import dataclass

# Minutes until CloudWatch has the figures of a minute.
ARRIVE = 1

COMPARE = {
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
}
# The figure of a minute is the percentile itself.
STATISTICS = {"Sum": sum, "Maximum": max, "Minimum": min, "p99": max}


@dataclass
class Metric:
    """A metric of an alarm, by its name and the resource that it is of."""

    name: str
    resource: str
    statistic: str
    period: int

    def value(self, figures, end):
        """The statistic of the period that ends with this minute; None without data."""
        minutes = self.period // 60
        known = figures.get((self.name, self.resource), {})
        values = [known[minute] for minute in range(end - minutes + 1, end + 1) if known.get(minute) is not None]
        return STATISTICS[self.statistic](values) if values else None


class Expression:
    """A formula of CloudWatch's. It has no value if one that it uses is missing; a list leaves out missing values."""

    def __init__(self, text):
        self.names = set(re.findall(r"\b[a-z]\w*\b", text))
        text = re.sub(r"\bFILL\((\w+), (\d+)\)", r"_fill('\1', \2)", text)
        text = re.sub(r"\bSUM\(\[([\w, ]+)\]\)", r"_sum('\1')", text)
        self.text = chosen(text.replace(" AND ", " and ").replace(" OR ", " or "))
        assert not re.search(r"\b[A-Z]", self.text), f"this knows no {text}"

    def value(self, values, empty=frozenset(), fills_empty=True):
        """Its value, of values by name. `empty`: names without any data in the alarm's whole range."""

        def fill(name, default):
            if values[name] is not None:
                return values[name]
            if name in empty and not fills_empty:
                raise Missing
            return default

        def total(names):
            known = [values[name] for name in names.split(", ") if values[name] is not None]
            if not known:
                raise Missing
            return sum(known)

        try:
            return eval(self.text, {"_fill": fill, "_sum": total}, Known(values))  # noqa: S307
        except (Missing, ZeroDivisionError):
            return None


def chosen(text):
    """An IF as Python has it. All branches at once would divide by zero where another is taken."""
    if not text.startswith("IF("):
        return text
    depth, parts = 0, [""]
    for letter in text.removeprefix("IF(").removesuffix(")"):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    condition, yes, no = (chosen(part.strip()) for part in parts)
    return f"({yes}) if ({condition}) else ({no})"


class Missing(Exception):
    """A value is missing."""


class Known(dict):
    def __getitem__(self, name):
        value = super().__getitem__(name)
        if value is None:
            raise Missing
        return value


class Alarm:
    """An alarm of a rendered template. `number` makes a number of a property, and `resource` a name of dimensions."""

    def __init__(self, properties, number, resource):
        self.threshold = number(properties["Threshold"])
        self.periods = number(properties["EvaluationPeriods"])
        self.enough = number(properties.get("DatapointsToAlarm", self.periods))
        self.compare = COMPARE[properties["ComparisonOperator"]]
        self.missing_breaches = properties["TreatMissingData"] == "breaching"
        assert properties["TreatMissingData"] in ("breaching", "notBreaching")
        self.metrics, self.expressions, self.returned = {}, {}, "watched"
        if "Metrics" in properties:
            for one in properties["Metrics"]:
                if "MetricStat" in one:
                    stat = one["MetricStat"]
                    metric = stat["Metric"]
                    self.metrics[one["Id"]] = Metric(metric["MetricName"], resource(metric["Dimensions"]), stat["Stat"], stat["Period"])
                else:
                    self.expressions[one["Id"]] = Expression(one["Expression"])
        else:
            statistic = properties.get("Statistic") or properties["ExtendedStatistic"]
            self.metrics["watched"] = Metric(properties["MetricName"], resource(properties["Dimensions"]), statistic, properties["Period"])
        [self.period] = {metric.period for metric in self.metrics.values()}

    def is_raised(self, figures, minute, fills_empty=True):
        """True if it is raised at the end of a minute, by the figures that have arrived."""
        ends = [minute - ARRIVE - n * self.period // 60 for n in range(self.periods)]
        series = {name: [metric.value(figures, end) for end in ends] for name, metric in self.metrics.items()}
        empty = {name for name, values in series.items() if all(value is None for value in values)}
        breaching = 0
        for index in range(self.periods):
            values = {name: values[index] for name, values in series.items()}
            waiting = dict(self.expressions)
            while waiting:
                ready = [name for name, one in waiting.items() if one.names <= set(values)]
                assert ready, f"expressions that use each other: {sorted(waiting)}"
                for name in ready:
                    values[name] = waiting.pop(name).value(values, empty, fills_empty)
            value = values[self.returned]
            breaching += self.missing_breaches if value is None else self.compare(value, self.threshold)
        return breaching >= self.enough

    def raised_after(self, figures, minutes, fills_empty=True):
        """Minutes from the beginning until it is raised; None if it is not."""
        return next((minute for minute in range(1, minutes + 1) if self.is_raised(figures, minute, fills_empty)), None)
