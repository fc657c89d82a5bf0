"""Makes of a built template one that the emulator takes.

    python for_the_emulator.py .aws-sam/build/template.yaml

It knows no metric math, so an alarm on an expression becomes one on the first metric that this looks at. It has no
`dynamodb:LeadingKeys`, so roles write into all partitions of a table. And it says of a function that calls a queue which session of its
role it is (`aws:PrincipalArn`), where AWS says which role, so the dead-letter queue's policy names these sessions as well.
"""

import sys
from pathlib import Path

from samcli.yamlhelper import yaml_dump, yaml_parse

SENDERS = ("FanoutWriterRole", "ProjectorRole")
SENDERS_OF_HISTORY = ("HistoryProjectorRole",)


def without_math(alarm):
    """An alarm on the first metric that its expression looks at, if there is one."""
    watched = next((one["MetricStat"] for one in alarm.pop("Metrics", []) if "MetricStat" in one), None)
    if watched:
        alarm |= {**watched["Metric"], "Period": watched["Period"], "Statistic": watched["Stat"]}


def without_partitions(role):
    for policy in role.get("Policies", []):
        for statement in policy["PolicyDocument"]["Statement"]:
            for one in statement.get("Fn::If", [statement])[-2:]:
                if isinstance(one, dict) and "dynamodb:LeadingKeys" in str(one.get("Condition")):
                    del one["Condition"]


def main(path):
    template = yaml_parse(Path(path).read_text(encoding="utf-8"))
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::CloudWatch::Alarm":
            without_math(resource["Properties"])
        if resource["Type"] == "AWS::IAM::Role":
            without_partitions(resource["Properties"])
    [deny] = [
        statement
        for statement in template["Resources"]["DeadLetterQueuePolicy"]["Properties"]["PolicyDocument"]["Statement"]
        if statement["Sid"] == "NobodyElse"
    ]
    session = lambda role: {"Fn::Sub": f"arn:aws:sts::${{AWS::AccountId}}:assumed-role/${{{role}}}/*"}
    sessions = [session(role) for role in SENDERS]
    sessions += [{"Fn::If": ["KeepHistory", session(role), {"Ref": "AWS::NoValue"}]} for role in SENDERS_OF_HISTORY]
    deny["Condition"]["ArnNotEquals"]["aws:PrincipalArn"] += sessions
    Path(path).write_text(yaml_dump(template), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
