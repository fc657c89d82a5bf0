"""Renders the expanded template as CloudFormation does, for the values that its parameters may have.

A resource depends on some parameters only. For these, `variants` combines each value that turns a condition or is one of a list
with the defaults, the shortest and the longest values of all others. Names and ARNs that AWS chooses are as long as they get.
"""

import itertools
import json
import re
import string
from re import _constants as op
from re import _parser

NO_VALUE = object()
# No name of a region of this partition is longer.
PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::Region": "ap-southeast-1",
    "AWS::AccountId": "123456789012",
    "AWS::NoValue": NO_VALUE,
}
LONGEST_STACK_NAME = 128
# A generated name is the stack's, the resource's and a random suffix, cut to the limit of its service.
SUFFIX = 13
# A secret of 64 characters takes the place of its address.
DYNAMIC = re.compile(r"\{\{resolve:secretsmanager:[^}]*\}\}")


class Unbounded(Exception):
    """A value has no longest form."""


# --- Parameters -----------------------------------------------------------------------------------


class Pattern:
    """The texts that a pattern of a parameter admits."""

    def __init__(self, pattern, most=None):
        self.pattern, self.most = pattern, most
        self.tree = _parser.parse(pattern)
        self.counts = {}
        self.repeats = {}
        self._find(self.tree)

    def _find(self, items):
        for kind, value in items:
            if kind is op.MAX_REPEAT:
                self.repeats[id(value)] = value[:2]
                self.counts[id(value)] = value[0]
                self._find(value[2])
            elif kind is op.SUBPATTERN:
                self._find(value[-1])
            elif kind is op.BRANCH:
                for branch in value[1]:
                    self._find(branch)

    def shortest(self):
        return self._checked(self._text(self.tree, min))

    def longest(self):
        """Raises each repetition in turn as far as the length admits."""
        for key, (least, most) in self.repeats.items():
            if most is op.MAXREPEAT and self.most is None:
                raise Unbounded(f"{self.pattern} repeats without an end and has no MaxLength")
            low, high = least, min(int(most), self.most if self.most is not None else int(most))
            while low < high:
                self.counts[key] = middle = (low + high + 1) // 2
                fits = self.most is None or len(self._text(self.tree, max)) <= self.most
                low, high = (middle, high) if fits else (low, middle - 1)
            self.counts[key] = low
        return self._checked(self._text(self.tree, max))

    def _checked(self, text):
        assert re.fullmatch(self.pattern, text), f"{self.pattern} does not admit {text!r}"
        return text

    def _text(self, items, choose):
        return "".join(self._one(kind, value, choose) for kind, value in items)

    def _one(self, kind, value, choose):
        if kind is op.LITERAL:
            return chr(value)
        if kind in (op.IN, op.NOT_LITERAL, op.ANY):
            return next(c for c in string.ascii_lowercase[::-1] + string.digits + string.printable if self._admits(kind, value, c))
        if kind is op.MAX_REPEAT:
            return self._text(value[2], choose) * self.counts[id(value)]
        if kind is op.SUBPATTERN:
            return self._text(value[-1], choose)
        if kind is op.BRANCH:
            return choose((self._text(branch, choose) for branch in value[1]), key=len)
        return ""

    def _admits(self, kind, value, character):
        if kind is op.ANY:
            return True
        if kind is op.NOT_LITERAL:
            return ord(character) != value
        found = any(
            (how is op.LITERAL and ord(character) == of)
            or (how is op.RANGE and of[0] <= ord(character) <= of[1])
            or (how is op.CATEGORY and (of is op.CATEGORY_SPACE) == character.isspace())
            for how, of in value
            if how is not op.NEGATE
        )
        return found != (value[0][0] is op.NEGATE)


def values_of(name, parameter):
    """The values at the bounds of a parameter: default, shortest, longest, and each of a list."""
    default = str(parameter["Default"])
    if allowed := parameter.get("AllowedValues"):
        texts = [str(value) for value in allowed]
        return {"default": default, "shortest": min(texts, key=len), "longest": max(texts, key=len), "all": texts}
    if parameter["Type"] == "Number":
        if not {"MinValue", "MaxValue"} <= set(parameter):
            raise Unbounded(f"{name} needs MinValue and MaxValue")
        least, most = str(parameter["MinValue"]), str(parameter["MaxValue"])
        return {"default": default, "shortest": least, "longest": most, "all": [default, least, most]}
    if parameter["Type"] != "String" or "AllowedPattern" not in parameter:
        raise Unbounded(f"{name} needs a pattern")
    pattern, most = parameter["AllowedPattern"], parameter.get("MaxLength")
    try:
        shortest, longest = Pattern(pattern, most).shortest(), Pattern(pattern, most).longest()
    except Unbounded as error:
        raise Unbounded(f"{name}: {error}") from None
    return {"default": default, "shortest": shortest, "longest": longest, "all": [default, shortest, longest]}


# --- Names that AWS chooses -----------------------------------------------------------------------


def _arn(service, resource, region=PSEUDO["AWS::Region"]):
    return f"arn:{PSEUDO['AWS::Partition']}:{service}:{region}:{PSEUDO['AWS::AccountId']}:{resource}"


# {type: (name property, longest name, Ref, {attribute: value})}; `{}` is the name.
RESOURCES = {
    "AWS::ApiGatewayV2::Api": (None, 10, "{}", {"ApiEndpoint": "https://{}.execute-api." + PSEUDO["AWS::Region"] + ".amazonaws.com"}),
    "AWS::ApiGatewayV2::Authorizer": (None, 6, "{}", {}),
    "AWS::ApiGatewayV2::Integration": (None, 7, "{}", {}),
    "AWS::CloudWatch::Alarm": ("AlarmName", 255, "{}", {"Arn": _arn("cloudwatch", "alarm:{}")}),
    "AWS::CodeDeploy::Application": ("ApplicationName", 100, "{}", {}),
    "AWS::CodeDeploy::DeploymentGroup": ("DeploymentGroupName", 100, "{}", {}),
    "AWS::DynamoDB::Table": ("TableName", 255, "{}", {"Arn": _arn("dynamodb", "table/{}"), "StreamArn": _arn("dynamodb", "table/{}/stream/2026-11-29T00:00:00.000")}),
    "AWS::IAM::ManagedPolicy": ("ManagedPolicyName", 128, _arn("iam", "policy/{}", ""), {}),
    "AWS::IAM::Role": ("RoleName", 64, "{}", {"Arn": _arn("iam", "role/{}", "")}),
    "AWS::KMS::Key": (None, 36, "{}", {"Arn": _arn("kms", "key/{}")}),
    "AWS::Lambda::Alias": (None, 64, _arn("lambda", "function:{}:live"), {}),
    "AWS::Lambda::Function": ("FunctionName", 64, "{}", {"Arn": _arn("lambda", "function:{}")}),
    "AWS::Lambda::Version": (None, 64, _arn("lambda", "function:{}:999999"), {"Version": "999999"}),
    "AWS::Logs::LogGroup": ("LogGroupName", 512, "{}", {"Arn": _arn("logs", "log-group:{}:*")}),
    "AWS::S3::Bucket": ("BucketName", 63, "{}", {"Arn": f"arn:{PSEUDO['AWS::Partition']}:s3:::{{}}"}),
    "AWS::SNS::Topic": ("TopicName", 256, _arn("sns", "{}"), {}),
    "AWS::SQS::Queue": ("QueueName", 80, f"https://sqs.{PSEUDO['AWS::Region']}.amazonaws.com/{PSEUDO['AWS::AccountId']}/{{}}", {"Arn": _arn("sqs", "{}"), "QueueName": "{}"}),
    "AWS::SecretsManager::Secret": ("Name", 512, _arn("secretsmanager", "secret:{}-AbCdEf"), {}),
}


def _generated(kind, logical, most):
    if kind == "AWS::KMS::Key":
        return "12345678-1234-1234-1234-123456789012"
    name = f"{'s' * LONGEST_STACK_NAME}-{logical}-{'x' * (SUFFIX - 1)}"[-most:]
    return name.lower() if kind == "AWS::S3::Bucket" else name.lstrip("-").rjust(min(most, len(name)), "s")


# --- Intrinsic functions --------------------------------------------------------------------------


class Rendering:
    """A template with one value for each parameter."""

    def __init__(self, template, parameters):
        self.template, self.parameters = template, parameters

    def condition(self, name):
        return self._holds(self.template["Conditions"][name])

    def _holds(self, it):
        [(function, value)] = it.items()
        if function == "Condition":
            return self.condition(value)
        if function == "Fn::Equals":
            left, right = (str(self.value(side)) for side in value)
            return left == right
        if function == "Fn::Not":
            return not self._holds(value[0])
        return {"Fn::And": all, "Fn::Or": any}[function](self._holds(one) for one in value)

    def is_allowed(self, parameters):
        """Whether the rules about these parameters admit their values."""
        return all(
            self._holds(one["Assert"])
            for rule in self.template.get("Rules", {}).values()
            if set(re.findall(r'"Ref": "([^"]+)"', json.dumps(rule))) <= parameters
            and ("RuleCondition" not in rule or self._holds(rule["RuleCondition"]))
            for one in rule["Assertions"]
        )

    def exists(self, logical):
        condition = self.template["Resources"][logical].get("Condition")
        return condition is None or self.condition(condition)

    def properties(self, logical):
        return self.value(self.template["Resources"][logical].get("Properties", {}))

    def value(self, it):
        if isinstance(it, list):
            values = (self.value(one) for one in it)
            return [value for value in values if value is not NO_VALUE]
        if not isinstance(it, dict):
            return it
        if len(it) == 1:
            [(function, argument)] = it.items()
            if function == "Ref":
                return self._ref(argument)
            if function.startswith("Fn::"):
                return getattr(self, "_" + function.removeprefix("Fn::").lower())(argument)
        values = {key: self.value(one) for key, one in it.items()}
        return {key: value for key, value in values.items() if value is not NO_VALUE}

    def _ref(self, name):
        if name in PSEUDO:
            return PSEUDO[name]
        if name in self.parameters:
            return self.parameters[name]
        return self._named(name, RESOURCES[self.template["Resources"][name]["Type"]][2])

    def _getatt(self, target):
        name, attribute = target.split(".", 1) if isinstance(target, str) else target
        return self._named(name, RESOURCES[self.template["Resources"][name]["Type"]][3][attribute])

    def _named(self, logical, form):
        assert self.exists(logical), f"{logical} is not there, and something refers to it"
        resource = self.template["Resources"][logical]
        given, most, _, _ = RESOURCES[resource["Type"]]
        name = self.value(resource.get("Properties", {}).get(given, {"Ref": "AWS::NoValue"}))
        return form.replace("{}", _generated(resource["Type"], logical, most) if name is NO_VALUE else name)

    def _sub(self, argument):
        text, given = argument if isinstance(argument, list) else (argument, {})

        def filled(match):
            name = match[1]
            if name.startswith("!"):
                return "${" + name[1:] + "}"
            if name in given:
                return str(self.value(given[name]))
            return str(self._getatt(name) if "." in name else self._ref(name))

        return DYNAMIC.sub("x" * 64, re.sub(r"\$\{([^}]+)\}", filled, text))

    def _if(self, argument):
        name, yes, no = argument
        return self.value(yes if self.condition(name) else no)

    def _join(self, argument):
        between, values = argument
        return between.join(str(one) for one in self.value(values))

    def _split(self, argument):
        by, text = argument
        return str(self.value(text)).split(by)

    def _select(self, argument):
        index, values = argument
        return self.value(values)[int(index)]


# --- The event history ----------------------------------------------------------------------------


def with_history(template):
    """The template as it is where the event history is on, without a trace of the parameter."""
    # The conditions that are true then, and those that others are the same as.
    conditions, meant = {}, {"KeepHistory": None}
    for name, condition in template["Conditions"].items():
        terms = [one for one in condition.get("Fn::And", []) if one != {"Condition": "KeepHistory"}]
        if len(terms) == 1 and "Condition" in terms[0]:
            meant[name] = terms[0]["Condition"]
        elif name not in meant:
            conditions[name] = terms[0] if len(terms) == 1 else condition

    def reduced(it):
        if isinstance(it, list):
            return [reduced(one) for one in it]
        if not isinstance(it, dict):
            return it
        if "Fn::If" in it:
            name, yes, no = it["Fn::If"]
            name = meant.get(name, name)
            return {"Fn::If": [name, reduced(yes), reduced(no)]} if name else reduced(yes)
        if isinstance(it.get("Fn::Sub"), list):
            return {"Fn::Sub": spelled_out(*reduced(it["Fn::Sub"]))}
        it = {key: reduced(value) for key, value in it.items()}
        if isinstance(condition := it.get("Condition"), str) and not (condition := meant.get(condition, condition)):
            del it["Condition"]
        elif isinstance(condition, str):
            it["Condition"] = condition
        return it

    return reduced({**template, "Conditions": conditions})


def spelled_out(text, variables):
    """The text of an `Fn::Sub`, with what its variables stand for in their place."""
    for name, value in variables.items():
        said = value if isinstance(value, str) else value.get("Fn::Sub") or "${" + value["Ref"] + "}"
        text = text.replace("${" + name + "}", said)
    return text


# --- Variants -------------------------------------------------------------------------------------


def dependencies(template, value):
    """(parameters, conditions) that a value depends on, through the names of other resources too."""
    parameters, conditions, seen, todo = set(), set(), set(), [value]
    while todo:
        text = json.dumps(todo.pop())
        names = set(re.findall(r'"Ref": "([^"]+)"', text)) | set(re.findall(r"\$\{([A-Za-z0-9:]+)[.}]", text))
        names |= {name.split(".")[0] for name in re.findall(r'"Fn::GetAtt": (?:\[)?"([^"]+)"', text)}
        conditions |= (turns := set(re.findall(r'"(?:Fn::If": \[|Condition": )"([^"]+)"', text)) & set(template["Conditions"])) - conditions
        todo += [template["Conditions"][name] for name in turns if ("condition", name) not in seen]
        seen |= {("condition", name) for name in turns}
        for name in names - seen:
            seen.add(name)
            if name in template["Parameters"]:
                parameters.add(name)
            elif resource := template["Resources"].get(name):
                if given := RESOURCES[resource["Type"]][0]:
                    todo.append(resource.get("Properties", {}).get(given, ""))
    return parameters, conditions


def distinct(template, values):
    """The same values, and different ones of the same length where a rule refuses equal ones. Otherwise no rendering would have the
    longest of both."""
    for rule in template["Rules"].values():
        for one in rule["Assertions"]:
            [both] = re.findall(r'^\{"Fn::Not": \[\{"Fn::Equals": \[\{"Ref": "(\w+)"\}, \{"Ref": "(\w+)"\}\]\}\]\}$', json.dumps(one["Assert"])) or [()]
            if both and values[both[0]] == values[both[1]]:
                text, pattern = values[both[1]], template["Parameters"][both[1]]["AllowedPattern"]
                others = (text[:-1] + last for last in string.ascii_lowercase if last != text[-1:])
                values = values | {both[1]: next((other for other in others if re.fullmatch(pattern, other)), text)}
    return values


def variants(template, logical, bounds):
    """Renderings for a resource: all values of what turns a condition or is one of a list, with the default, the shortest and the
    longest of everything else."""
    parameters, conditions = dependencies(template, template["Resources"][logical])
    turning = dependencies(template, [{"Condition": name} for name in conditions])[0]
    parameters |= turning
    turning |= {name for name in parameters if "AllowedValues" in template["Parameters"][name]}
    # A long list of numbers turns nothing: its ends will do.
    turning = sorted(name for name in turning if len(bounds[name]["all"]) < 10)
    for end in ("default", "shortest", "longest"):
        base = {name: bounds[name][end] for name in bounds}
        for chosen in itertools.product(*(dict.fromkeys(bounds[name]["all"]) for name in turning)):
            rendering = Rendering(template, distinct(template, base | dict(zip(turning, chosen, strict=True))))
            if rendering.is_allowed(parameters):
                yield rendering
