"""Breaks the template in many ways and sees that the checks notice each.

A check that cannot fail is worth nothing; here is what each of them is for.
"""

import copy

import check
import pytest
from check import Stack
from expand import expand, source


def set_at(*way):
    """Sets a value inside the written template: the way to it, then the value."""
    *path, key, value = way

    def change(template):
        inner = template
        for step in path:
            inner = inner[step]
        inner[key] = value

    return change


def drop_at(*way):
    *path, key = way

    def change(template):
        inner = template
        for step in path:
            inner = inner[step]
        del inner[key]

    return change


def replace_at(*way):
    """Replaces a piece of a text: the way to the text, then the piece and what takes its place."""
    *path, key, old, new = way

    def change(template):
        inner = template
        for step in path:
            inner = inner[step]
        assert old in inner[key], old
        inner[key] = inner[key].replace(old, new)

    return change


def properties(name, *way):
    return ("Resources", name, "Properties", *way)


def statement(role, index, *way):
    return properties(role, "Policies", 0, "PolicyDocument", "Statement", index, *way)


def add(name, kind, **values):
    return set_at("Resources", name, {"Type": kind, "Properties": values})


# How the projector reads views, and how it writes them.
READ_VIEWS = [f"dynamodb:{action}" for action in ("BatchGetItem", "GetItem", "Query")]
FOLD_VIEWS = [f"dynamodb:{action}" for action in ("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem")]

BREAKS = {
    "an archive without the history": (
        drop_at("Resources", "ArchiveBucket", "Condition"),
        check.test_nothing_of_the_event_history_is_there_where_it_is_off,
    ),
    "a tenant's route without the history": (
        drop_at("Resources", "AlertsRoute", "Condition"),
        check.test_nothing_of_the_event_history_is_there_where_it_is_off,
    ),
    "a role that reaches events without the history": (
        set_at(*statement("FanoutWriterRole", 6, "Fn::If", 0, "UseCanary")),
        check.test_nothing_of_the_event_history_is_there_where_it_is_off,
    ),
    "no alarm of projections without the history": (
        set_at("Resources", "ProjectionLagAlarm", "Condition", "KeepHistory"),
        check.test_nothing_of_the_event_history_is_there_where_it_is_off,
    ),
    "no history unless it is asked for": (
        set_at("Parameters", "History", "Default", "off"),
        check.test_nothing_of_the_event_history_is_there_where_it_is_off,
    ),
    "a route without authorization": (
        set_at(*properties("DefaultRoute", "AuthorizationType", "NONE")),
        check.test_every_route_has_an_authorizer,
    ),
    "a route that says nothing of it": (
        drop_at(*properties("TimelinesRoute", "AuthorizationType")),
        check.test_every_route_has_an_authorizer,
    ),
    "a JWT route without its authorizer": (
        drop_at(*properties("TimelinesRoute", "AuthorizerId")),
        check.test_every_route_has_an_authorizer,
    ),
    "another route": (
        add("Debug", "AWS::ApiGatewayV2::Route", RouteKey="GET /debug", AuthorizationType="AWS_IAM"),
        check.test_every_route_has_an_authorizer,
    ),
    "a path of the reader that no route leads to": (
        drop_at("Resources", "LikesRoute"),
        check.test_every_route_has_an_authorizer,
    ),
    "what somebody likes, without authorization": (
        set_at(*properties("LikesRoute", "AuthorizationType", "NONE")),
        check.test_every_route_has_an_authorizer,
    ),
    "what somebody is notified of, without authorization": (
        set_at(*properties("NotificationsRoute", "AuthorizationType", "NONE")),
        check.test_every_route_has_an_authorizer,
    ),
    "notifications that no route leads to": (
        drop_at("Resources", "NotificationsRoute"),
        check.test_every_route_has_an_authorizer,
    ),
    "hits that no route leads to": (
        drop_at("Resources", "HitsRoute"),
        check.test_every_route_has_an_authorizer,
    ),
    "polls without authorization": (
        set_at(*properties("PollsRoute", "AuthorizationType", "NONE")),
        check.test_every_route_has_an_authorizer,
    ),
    "activities for any scope": (
        drop_at(*properties("ActivitiesRoute", "AuthorizationScopes")),
        check.test_every_route_has_an_authorizer,
    ),
    "preflights behind the authorizer": (
        drop_at("Resources", "PreflightRoute"),
        check.test_a_preflight_needs_no_token_and_reaches_nothing,
    ),
    "preflights where there is no CORS": (
        drop_at("Resources", "PreflightRoute", "Condition"),
        check.test_every_route_has_an_authorizer,
    ),
    "an open route for more than preflights": (
        set_at(*properties("PreflightRoute", "RouteKey", "ANY /{proxy+}")),
        check.test_every_route_has_an_authorizer,
    ),
    "CORS for everybody": (
        set_at(*properties("HttpApi", "CorsConfiguration", "Fn::If", 1, "AllowOrigins", ["*"])),
        check.test_pages_of_the_named_origins_may_call_and_no_others,
    ),
    "CORS for what no browser sends": (
        set_at("Parameters", "CorsOrigins", "AllowedPattern", "^.*$"),
        check.test_origins_are_written_as_browsers_send_them,
    ),
    "CORS without being asked": (
        set_at("Parameters", "CorsOrigins", "Default", "*"),
        check.test_pages_of_the_named_origins_may_call_and_no_others,
    ),
    "cookies of any page": (
        set_at(*properties("HttpApi", "CorsConfiguration", "Fn::If", 1, "AllowCredentials", True)),
        check.test_pages_of_the_named_origins_may_call_and_no_others,
    ),
    "CORS that lets no token through": (
        set_at(*properties("HttpApi", "CorsConfiguration", "Fn::If", 1, "AllowHeaders", ["*"])),
        check.test_pages_of_the_named_origins_may_call_and_no_others,
    ),
    "a second API": (
        set_at(*properties("TimelineReader", "Events", {"Get": {"Type": "HttpApi"}})),
        check.test_nothing_else_invokes_a_function_by_http,
    ),
    "a function URL": (
        set_at(*properties("TimelineReader", "FunctionUrlConfig", {"AuthType": "NONE"})),
        check.test_nothing_else_invokes_a_function_by_http,
    ),
    "a route that takes any scope": (
        drop_at(*properties("DefaultRoute", "AuthorizationScopes")),
        check.test_every_route_has_an_authorizer,
    ),
    "an open reader behind tokens": (
        set_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_AUTHORIZATION", "open")),
        check.test_the_reader_is_never_open,
    ),
    "an open reader behind signatures": (
        set_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_AUTHORIZATION", {"Fn::If": ["UseJwt", "jwt", "open"]})),
        check.test_the_reader_is_never_open,
    ),
    "a service that acts for any account": (
        drop_at(*properties("DeploymentRole", "AssumeRolePolicyDocument", "Statement", 0, "Condition")),
        check.test_services_act_for_this_account_only,
    ),
    "a chat that acts for any account": (
        drop_at(*properties("SlackRole", "AssumeRolePolicyDocument", "Statement", 0, "Condition")),
        check.test_services_act_for_this_account_only,
    ),
    "alarms of any account": (
        drop_at(*properties("AlarmTopicPolicy", "PolicyDocument", "Statement", 0, "Condition", "StringEquals")),
        check.test_services_act_for_this_account_only,
    ),
    "every action on a table": (
        set_at(*statement("TimelineReaderRole", 0, "Action", "dynamodb:*")),
        check.test_no_policy_has_a_wildcard,
    ),
    "every table": (
        set_at(*statement("TimelineReaderRole", 0, "Resource", "*")),
        check.test_no_policy_has_a_wildcard,
    ),
    "every index": (
        set_at(*statement("FanoutWriterRole", 4, "Resource", {"Fn::Sub": "${LedgerTable.Arn}/*"})),
        check.test_no_policy_has_a_wildcard,
    ),
    "a queue open to anybody": (
        set_at(*properties("CommandQueuePolicy", "PolicyDocument", "Statement", 0, "Effect", "Allow")),
        check.test_no_policy_has_a_wildcard,
    ),
    "a managed policy": (
        set_at(*properties("DlqAlerterRole", "ManagedPolicyArns", ["arn:aws:iam::aws:policy/AdministratorAccess"])),
        check.test_no_managed_policy,
    ),
    "a policy of SAM's": (
        set_at(*properties("DlqAlerter", "Policies", ["AmazonSQSFullAccess"])),
        check.test_no_managed_policy,
    ),
    "one action more": (
        set_at(*statement("TimelineReaderRole", 0, "Action", ["dynamodb:Query", "dynamodb:Scan"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "one action less": (
        set_at(*statement("FanoutWriterRole", 3, "Action", ["dynamodb:BatchWriteItem", "dynamodb:BatchGetItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "an action that nothing needs any more": (
        set_at(*statement("FanoutWriterRole", 3, "Action", ["dynamodb:BatchWriteItem", "dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:PutItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "an action for another table": (
        set_at(*statement("TimelineReaderRole", 1, "Resource", {"Fn::GetAtt": "DeadLettersTable.Arn"})),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a reader that may write anything about anybody": (
        set_at(*statement("TimelineReaderRole", 2, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys", ["person#*"])),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a reader whose writes need no key that is named": (
        drop_at(*statement("TimelineReaderRole", 2, "Condition", "Null")),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a reader that may write anything": (
        drop_at(*statement("TimelineReaderRole", 2, "Condition")),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a reader that may change any item where idle viewers are skipped": (
        drop_at(*statement("TimelineReaderRole", 5, "Fn::If", 1, "Condition")),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a projector that writes summaries": (
        set_at(*statement("ProjectorRole", -1, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys", ["*"])),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a history projector that writes counts of likes": (
        set_at(*statement("HistoryProjectorRole", -2, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys", ["*"])),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a projector that may write anything into the ledger": (
        drop_at(*statement("HistoryProjectorRole", -1, "Condition")),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a keeper that may write what people have": (
        set_at(*statement("PeriodKeeperRole", -1, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys", ["events#*", "tenant#*", "tenants#daily", "person#*"])),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a keeper that may not write what it decides": (
        set_at(*statement("PeriodKeeperRole", -1, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys", ["events#*", "tenants#daily"])),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "a writer that reads only with such a key": (
        set_at(*statement("FanoutWriterRole", -1, "Action", ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:Query"])),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "stages whose tables others reach": (
        set_at("Parameters", "Stage", "AllowedPattern", "^[a-z][a-z0-9-]{0,15}$"),
        check.test_no_stage_reaches_what_is_another_s,
    ),
    "stages that two patterns take": (
        set_at("Parameters", "Stage", "AllowedPattern", "^(?!.*-events)[a-z][a-z0-9-]{0,15}$"),
        check.test_no_stage_reaches_what_is_another_s,
    ),
    "a stage with a dot": (
        set_at("Parameters", "Stage", "AllowedPattern", "^[a-z][a-z0-9.]{0,15}$"),
        check.test_parameters_are_checked_before_anything_is_deployed,
    ),
    "ticks that are run three times": (
        drop_at(*properties("PeriodKeeper", "EventInvokeConfig", "MaximumRetryAttempts")),
        check.test_the_keeper_is_woken_in_time,
    ),
    "ticks that Scheduler tries for a day": (
        set_at(*properties("KeeperSchedule", "Target", "RetryPolicy", {"MaximumRetryAttempts": 185, "MaximumEventAgeInSeconds": 86_400})),
        check.test_the_keeper_is_woken_in_time,
    ),
    "a canary whose alarms it does not reach": (
        set_at(*properties("FanoutWriter", "DeploymentPreference", "Alarms", "Fn::If", 1, 0, {"Ref": "FanoutWriterErrorsAlarm"})),
        check.test_canary_deployment_is_off_by_default_and_leaves_nothing_then,
    ),
    "a canary of what runs four times an hour": (
        set_at(*properties("PeriodKeeper", "DeploymentPreference", {"Enabled": {"Ref": "CanaryDeployment"}, "Type": "AllAtOnce", "Role": {"Fn::GetAtt": "DeploymentRole.Arn"}})),
        check.test_canary_deployment_is_off_by_default_and_leaves_nothing_then,
    ),
    "a canary that ends by the old version's errors": (
        drop_at(*properties("TimelineReaderCanaryAlarm", "Dimensions", 2)),
        check.test_a_canary_is_ended_by_what_few_requests_raise,
    ),
    "a canary that takes ten failures": (
        set_at(*properties("EventIntakeCanaryAlarm", "Threshold", 10)),
        check.test_a_canary_is_ended_by_what_few_requests_raise,
    ),
    "another queue": (
        add("Third", "AWS::SQS::Queue"),
        check.test_no_update_replaces_or_deletes_what_has_state,
    ),
    "a table that nothing protects": (
        add("Third", "AWS::DynamoDB::Table"),
        check.test_no_update_replaces_or_deletes_what_has_state,
    ),
    "a budget without a subscriber": (
        drop_at(*properties("Budget", "NotificationsWithSubscribers", 0, "Subscribers", 0)),
        check.test_spending_is_told_of_once_a_budget_is_named,
    ),
    "a budget without being asked": (
        drop_at("Resources", "Budget", "Condition"),
        check.test_spending_is_told_of_once_a_budget_is_named,
    ),
    "a log group of another name": (
        replace_at(*properties("FanoutWriterLogs", "LogGroupName", "Fn::Sub"), "fanout-writer", "writer"),
        check.test_runbooks_have_commands_that_fit,
    ),
    "a reader that may always write entries": (
        set_at(*statement("TimelineReaderRole", 3, "Fn::If", 2, {"Sid": "X", "Effect": "Allow", "Action": "dynamodb:BatchWriteItem", "Resource": {"Fn::GetAtt": "TimelinesTable.Arn"}})),
        check.test_the_reader_writes_entries_only_for_idle_viewers,
    ),
    "viewers who are idle within days": (
        set_at("Parameters", "IdleDays", "AllowedPattern", "^[0-9]+$"),
        check.test_the_reader_writes_entries_only_for_idle_viewers,
    ),
    "a queue that the writer may no longer send to": (
        set_at(*statement("FanoutWriterRole", 1, "Resource", {"Fn::GetAtt": "DeadLetterQueue.Arn"})),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a projector that cannot tell whose an activity is": (
        drop_at(*properties("ProjectorRole", "Policies", 0, "PolicyDocument", "Statement", 1)),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a projector that states facts": (
        set_at(*statement("ProjectorRole", 1, "Action", ["dynamodb:BatchGetItem", "dynamodb:PutItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a stream that Lambda refuses to map": (
        set_at(*statement("ProjectorRole", 0, "Action", ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "every stream": (
        set_at(*statement("ProjectorRole", 0, "Resource", {"Fn::Sub": "${FactsTable.Arn}/stream/*"})),
        check.test_no_policy_has_a_wildcard,
    ),
    "notifications that cannot go elsewhere": (
        set_at(*statement("ProjectorRole", -1, "Action", [one for one in FOLD_VIEWS if one != "dynamodb:DeleteItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a projector that cannot look at blocks": (
        set_at(*statement("ProjectorRole", 2, "Action", [one for one in READ_VIEWS if one != "dynamodb:Query"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a projector that cannot tell many viewers of their hits": (
        set_at(*statement("ProjectorRole", -1, "Action", [one for one in FOLD_VIEWS if one != "dynamodb:BatchWriteItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a projector that looks at all views": (
        set_at(*statement("ProjectorRole", 2, "Action", [*READ_VIEWS, "dynamodb:Scan"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "changes that are given up and cannot be sent anywhere": (
        set_at(*statement("ProjectorRole", 3, "Resource", {"Fn::GetAtt": "CommandQueue.Arn"})),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a projector that sends commands": (
        set_at(*statement("ProjectorRole", 2, "Resource", [{"Fn::GetAtt": "DeadLetterQueue.Arn"}, {"Fn::GetAtt": "CommandQueue.Arn"}])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a writer that cannot state likes": (
        drop_at(*properties("FanoutWriterRole", "Policies", 0, "PolicyDocument", "Statement", 5)),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a writer that writes counts": (
        set_at(*statement("FanoutWriterRole", 5, "Resource", [{"Fn::GetAtt": "FactsTable.Arn"}, {"Fn::GetAtt": "ViewsTable.Arn"}])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a keeper of periods that writes summaries": (
        set_at(*statement("PeriodKeeperRole", 2, "Action", ["dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:Query"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a writer that marks all, whatever was marked before": (
        set_at(*statement("FanoutWriterRole", 5, "Action", ["dynamodb:PutItem", "dynamodb:UpdateItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a writer that cannot see what there is to mark": (
        drop_at(*properties("FanoutWriterRole", "Policies", 0, "PolicyDocument", "Statement", 6)),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a writer that marks notifications by itself": (
        set_at(*statement("FanoutWriterRole", 6, "Fn::If", 1, "Action", ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a reader that cannot list likes": (
        set_at(*statement("TimelineReaderRole", 6, "Action", ["dynamodb:BatchGetItem", "dynamodb:GetItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a reader that cannot see what was opened": (
        set_at(*statement("TimelineReaderRole", 6, "Action", ["dynamodb:BatchGetItem", "dynamodb:Query"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a reader that writes counts": (
        set_at(*statement("TimelineReaderRole", 7, "Action", ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a reader that cannot list notifications": (
        set_at(*statement("TimelineReaderRole", 7, "Action", ["dynamodb:BatchGetItem", "dynamodb:GetItem"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a reader that cannot go on with notifications": (
        set_at(*statement("TimelineReaderRole", 7, "Action", ["dynamodb:BatchGetItem", "dynamodb:Query"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "traces that somebody pays for without asking": (
        set_at("Globals", "Function", "Tracing", "Active"),
        check.test_tracing_is_off_and_grants_nothing_until_it_is_on,
    ),
    "events to every bus": (
        set_at(*statement("ProjectorRole", 4, "Fn::If", 1, "Resource", "*")),
        check.test_nobody_is_told_and_nothing_is_granted_until_a_bus_is_named,
    ),
    "events that are granted without a bus": (
        set_at(*statement("FanoutWriterRole", 8, "Fn::If", 2, {"Sid": "X", "Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"})),
        check.test_nobody_is_told_and_nothing_is_granted_until_a_bus_is_named,
    ),
    "a bus that may be missing": (
        drop_at("Resources", "BusIsThere", "Condition"),
        check.test_a_bus_that_does_not_exist_stops_the_deployment,
    ),
    "a rule of ours that is at work": (
        set_at(*properties("BusIsThere", "State", "ENABLED")),
        check.test_a_bus_that_does_not_exist_stops_the_deployment,
    ),
    "a keeper that tells nobody": (
        drop_at(*properties("PeriodKeeper", "Environment", "Variables", "NAGARE_EVENT_BUS_NAME")),
        check.test_nobody_is_told_and_nothing_is_granted_until_a_bus_is_named,
    ),
    "a reader that is told of the bus": (
        set_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_EVENT_BUS_NAME", {"Ref": "EventBusName"})),
        check.test_nobody_is_told_and_nothing_is_granted_until_a_bus_is_named,
    ),
    "a bus that nobody asked for": (
        set_at("Parameters", "EventBusName", "Default", "default"),
        check.test_nobody_is_told_and_nothing_is_granted_until_a_bus_is_named,
    ),
    "traces of everything": (
        set_at(*properties("ProjectorRole", "Policies", 0, "PolicyDocument", "Statement", 6, "Fn::If", 1, "Action", "xray:*")),
        check.test_tracing_is_off_and_grants_nothing_until_it_is_on,
    ),
    "two functions with one role": (
        set_at(*properties("DlqAlerter", "Role", {"Fn::GetAtt": "FanoutWriterRole.Arn"})),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "a table that the function may not use": (
        set_at(*properties("DlqAlerter", "Environment", "Variables", "NAGARE_LEDGER_TABLE", {"Ref": "LedgerTable"})),
        check.test_functions_are_told_of_what_they_may_use_and_of_nothing_else,
    ),
    "a projector that is told of the queue of commands": (
        set_at(*properties("Projector", "Environment", "Variables", "NAGARE_QUEUE_URL", {"Ref": "CommandQueue"})),
        check.test_functions_are_told_of_what_they_may_use_and_of_nothing_else,
    ),
    "counts that go to the table of facts": (
        set_at(*properties("Projector", "Environment", "Variables", "NAGARE_VIEWS_TABLE", {"Ref": "FactsTable"})),
        check.test_functions_are_told_of_what_they_may_use_and_of_nothing_else,
    ),
    "a Slack channel that can do everything": (
        set_at(*properties("SlackChannel", "GuardrailPolicies", [])),
        check.test_slack_can_do_nothing,
    ),
    "a function that is not deployed": (
        set_at("Resources", "Projector", "Metadata", "BuildProperties", "Binary", "dlq-alerter"),
        check.test_binaries_are_the_crates_of_the_functions,
    ),
    "another binary": (
        set_at("Resources", "DlqAlerter", "Metadata", "BuildProperties", "Binary", "alerter"),
        check.test_binaries_are_the_crates_of_the_functions,
    ),
    "a flag that the SAM CLI does not pass on": (
        set_at("Resources", "DlqAlerter", "Metadata", "BuildProperties", "CargoLambdaFlags", ["--locked"]),
        check.test_binaries_are_the_crates_of_the_functions,
    ),
    "a variable that nobody reads": (
        set_at(*properties("DlqAlerter", "Environment", "Variables", "NAGARE_TABLE", "x")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "a variable that is missing": (
        drop_at(*properties("FanoutWriter", "Environment", "Variables", "NAGARE_DEAD_LETTER_QUEUE_URL")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "a writer without the views": (
        drop_at(*properties("FanoutWriter", "Environment", "Variables", "NAGARE_VIEWS_TABLE")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "a projector that does not know how long to keep what was read": (
        drop_at(*properties("Projector", "Environment", "Variables", "NAGARE_READ_NOTIFICATION_DAYS")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "a projector without its dead-letter queue": (
        drop_at(*properties("Projector", "Environment", "Variables", "NAGARE_DEAD_LETTER_QUEUE_URL")),
        check.test_functions_are_told_of_what_they_may_use_and_of_nothing_else,
    ),
    "a projector whose letters the writer does not know": (
        set_at(*properties("Projector", "Environment", "Variables", "NAGARE_INTERNAL_SECRET", {"Fn::Sub": "{{resolve:secretsmanager:${CursorSecret}}}"})),
        check.test_functions_are_told_of_what_they_may_use_and_of_nothing_else,
    ),
    "a projector without its views": (
        drop_at(*properties("Projector", "Environment", "Variables", "NAGARE_VIEWS_TABLE")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "another retention": (
        set_at("Parameters", "RetentionDays", "Default", 31),
        check.test_retention_is_the_code_s,
    ),
    "notifications that are kept for a century": (
        set_at("Parameters", "ReadNotificationDays", "MaxValue", 36500),
        check.test_retention_is_the_code_s,
    ),
    "another timeout": (
        set_at("Globals", "Function", "Timeout", 30),
        check.test_timeouts_are_the_code_s,
    ),
    "a projector that ends before it has given up": (
        set_at(*properties("Projector", "Timeout", 10)),
        check.test_timeouts_are_the_code_s,
    ),
    "a reader slower than its API": (
        set_at(*properties("TimelineReader", "Timeout", 20)),
        check.test_timeouts_are_the_code_s,
    ),
    "a short secret": (
        set_at(*properties("CursorSecret", "GenerateSecretString", "PasswordLength", 16)),
        check.test_secrets_are_generated_and_long_enough,
    ),
    "a reader that opens with one secret": (
        drop_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_OTHER_CURSOR_SECRET")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "one cursor secret twice": (
        set_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_OTHER_CURSOR_SECRET", {"Fn::Sub": "{{resolve:secretsmanager:${CursorSecret}}}"})),
        check.test_two_secrets_are_valid_at_a_time,
    ),
    "a cursor secret that is never made again": (
        drop_at(*properties("SecondCursorSecret", "Name")),
        check.test_two_secrets_are_valid_at_a_time,
    ),
    "a writer that opens with one secret": (
        drop_at(*properties("FanoutWriter", "Environment", "Variables", "NAGARE_OTHER_INTERNAL_SECRET")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "one internal secret twice": (
        set_at(*properties("FanoutWriter", "Environment", "Variables", "NAGARE_OTHER_INTERNAL_SECRET", {"Fn::Sub": "{{resolve:secretsmanager:${InternalSecret}}}"})),
        check.test_two_secrets_are_valid_at_a_time,
    ),
    "an internal secret that is never made again": (
        drop_at(*properties("InternalSecret", "Name")),
        check.test_two_secrets_are_valid_at_a_time,
    ),
    "an internal secret that the reader is told": (
        set_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_INTERNAL_SECRET", {"Fn::Sub": "{{resolve:secretsmanager:${InternalSecret}}}"})),
        check.test_functions_are_told_of_what_they_may_use_and_of_nothing_else,
    ),
    "one cursor secret that seals for good": (
        set_at("Conditions", "FirstSeals", {"Fn::Equals": [{"Ref": "InternalSeal"}, "first"]}),
        check.test_two_secrets_are_valid_at_a_time,
    ),
    "a new secret that reaches no version": (
        replace_at(*properties("TimelineReaderSettings", "Description", "Fn::Sub", "${SecondCursorSealGeneration}", "x")),
        check.test_a_change_of_parameters_publishes_a_version,
    ),
    "readers without a bound": (
        drop_at(*properties("TimelineReader", "ReservedConcurrentExecutions")),
        check.test_one_caller_does_not_use_up_the_account,
    ),
    "more requests at once than Lambda takes": (
        set_at("Parameters", "ApiBurstLimit", "Default", 2000),
        check.test_one_caller_does_not_use_up_the_account,
    ),
    "an API that never says 429": (
        set_at(*properties("HttpApiStage", "DefaultRouteSettings", "ThrottlingRateLimit", 1_000_000)),
        check.test_the_api_throttles_and_logs_ids_only,
    ),
    "nobody notices that requests are refused": (
        drop_at("Resources", "Api4xxAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "an issuer without TLS": (
        set_at("Parameters", "JwtIssuer", "AllowedPattern", "^(https?://.+)?$"),
        check.test_parameters_are_checked_before_anything_is_deployed,
    ),
    "an issuer with a query": (
        set_at("Parameters", "JwtIssuer", "AllowedPattern", "^(https://[^ ]+)?$"),
        check.test_parameters_are_checked_before_anything_is_deployed,
    ),
    "any log level": (
        drop_at("Parameters", "LogLevel", "AllowedPattern"),
        check.test_parameters_are_checked_before_anything_is_deployed,
    ),
    "audiences with spaces": (
        set_at("Parameters", "JwtAudience", "AllowedPattern", "^.*$"),
        check.test_parameters_are_checked_before_anything_is_deployed,
    ),
    "scopes with spaces": (
        set_at("Parameters", "JwtScopes", "AllowedPattern", "^.*$"),
        check.test_parameters_are_checked_before_anything_is_deployed,
    ),
    "logs kept permanently": (
        drop_at(*properties("DlqAlerterLogs", "RetentionInDays")),
        check.test_each_function_logs_to_a_group_that_forgets,
    ),
    "logs that Lambda makes by itself": (
        set_at(*properties("DlqAlerter", "LoggingConfig", "LogGroup", "elsewhere")),
        check.test_each_function_logs_to_a_group_that_forgets,
    ),
    "lines about every invocation": (
        set_at(*properties("TimelineReader", "LoggingConfig", "SystemLogLevel", "INFO")),
        check.test_each_function_logs_to_a_group_that_forgets,
    ),
    "a filter that metrics may not pass": (
        set_at(*properties("DlqAlerter", "LoggingConfig", "ApplicationLogLevel", "WARN")),
        check.test_each_function_logs_to_a_group_that_forgets,
    ),
    "a parameter that reaches no version": (
        set_at(*properties("FanoutWriterSettings", "Description", {"Fn::Sub": "${Architecture}, log ${LogLevel}"})),
        check.test_a_change_of_parameters_publishes_a_version,
    ),
    "a version that does not change with its settings": (
        set_at(*properties("EventIntake", "VersionDescription", "the intake")),
        check.test_a_change_of_parameters_publishes_a_version,
    ),
    "a projector's parameter that reaches no version": (
        set_at(*properties("ProjectorSettings", "Description", {"Fn::Sub": "${Stage}, ${Architecture}"})),
        check.test_a_change_of_parameters_publishes_a_version,
    ),
    "canary deployment for everybody": (
        set_at("Parameters", "CanaryDeployment", "Default", "true"),
        check.test_canary_deployment_is_off_by_default_and_leaves_nothing_then,
    ),
    "two batches of a shard at once": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "ParallelizationFactor", 2)),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "batches that do not say which shard they are of": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "TumblingWindowInSeconds", 0)),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "a stream that is read from now on": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "StartingPosition", "LATEST")),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "changes that a filter leaves out": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "FilterCriteria", {"Filters": [{"Pattern": "{}"}]})),
        check.test_the_history_projector_is_given_what_comes_back_and_the_other_one_all,
    ),
    "changes that come back under another key": (
        replace_at(*properties("HistoryProjector", "Events", "BroughtBack", "Properties", "FilterCriteria", "Filters", 0, "Pattern"), "changed#", "back#"),
        check.test_the_history_projector_is_given_what_comes_back_and_the_other_one_all,
    ),
    "a history projector that reads a shard twice at once": (
        set_at(*properties("HistoryProjector", "Events", "BroughtBack", "Properties", "ParallelizationFactor", 2)),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "a stream of the row after alone": (
        set_at(*properties("FactsTable", "StreamSpecification", {"StreamViewType": "NEW_IMAGE"})),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "a stream of another table": (
        set_at(*properties("LedgerTable", "StreamSpecification", {"StreamViewType": "KEYS_ONLY"})),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "another batch size of the stream": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "BatchSize", 100)),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "counts that wait for more likes": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "MaximumBatchingWindowInSeconds", 60)),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "one record that fails its batch for good": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "BisectBatchOnFunctionError", False)),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "whole batches of the stream": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "FunctionResponseTypes", [])),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "changes that are given up without a word": (
        drop_at(*properties("Projector", "Events", "Facts", "Properties", "DestinationConfig")),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "changes that are given up to be applied as commands": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "DestinationConfig", {"OnFailure": {"Type": "SQS", "Destination": {"Fn::GetAtt": ["CommandQueue", "Arn"]}}})),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "a shard that stands still for a day": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "MaximumRecordAgeInSeconds", -1)),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "a shard that stands still for good": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "MaximumRetryAttempts", -1)),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "changes that a throttled table loses": (
        set_at(*properties("Projector", "Events", "Facts", "Properties", "MaximumRetryAttempts", 10)),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "another batch size": (
        set_at(*properties("FanoutWriter", "Events", "Commands", "Properties", "BatchSize", 100)),
        check.test_event_sources_report_single_messages,
    ),
    "whole batches": (
        set_at(*properties("FanoutWriter", "Events", "Commands", "Properties", "FunctionResponseTypes", [])),
        check.test_event_sources_report_single_messages,
    ),
    "one invocation at a time, which AWS refuses": (
        set_at(*properties("DlqAlerter", "Events", "DeadLetters", "Properties", "ScalingConfig", {"MaximumConcurrency": 1})),
        check.test_event_sources_report_single_messages,
    ),
    "a short visibility timeout": (
        set_at(*properties("CommandQueue", "VisibilityTimeout", 90)),
        check.test_visibility_is_six_times_the_timeout,
    ),
    "more receives": (
        set_at(*properties("CommandQueue", "RedrivePolicy", "maxReceiveCount", 6)),
        check.test_commands_give_up_after_as_many_receives_as_the_code_thinks,
    ),
    "a renamed queue": (
        set_at(*properties("CommandQueue", "QueueName", {"Fn::Sub": "nagare-${Stage}"})),
        check.test_commands_give_up_after_as_many_receives_as_the_code_thinks,
    ),
    "dead letters kept as long as commands": (
        set_at(*properties("DeadLetterQueue", "MessageRetentionPeriod", 345600)),
        check.test_dead_letters_are_kept_longest,
    ),
    "a queue in the clear": (
        drop_at("Resources", "DeadLetterQueuePolicy"),
        check.test_queues_take_large_messages_encrypted_and_over_tls_only,
    ),
    "producers named, and everybody else let in": (
        drop_at(*properties("CommandQueuePolicy", "PolicyDocument", "Statement", 2)),
        check.test_producers_can_be_named,
    ),
    "producers named, and the writer shut out": (
        set_at(
            *properties("CommandQueuePolicy", "PolicyDocument", "Statement", 2, "Fn::If", 1, "Condition"),
            {"ArnNotEquals": {"aws:PrincipalArn": {"Ref": "Producers"}}},
        ),
        check.test_producers_can_be_named,
    ),
    "dead letters of anybody whom a policy lets": (
        drop_at(*properties("DeadLetterQueuePolicy", "PolicyDocument", "Statement", 1)),
        check.test_nobody_but_the_functions_sends_dead_letters,
    ),
    "dead letters that the projector cannot send": (
        drop_at(*properties("DeadLetterQueuePolicy", "PolicyDocument", "Statement", 1, "Condition", "ArnNotEquals", "aws:PrincipalArn", 1)),
        check.test_nobody_but_the_functions_sends_dead_letters,
    ),
    "an alerter that takes another queue's letters for its own": (
        set_at(*properties("DlqAlerter", "Environment", "Variables", "NAGARE_QUEUE_ARN", {"Fn::GetAtt": "DeadLetterQueue.Arn"})),
        check.test_nobody_but_the_functions_sends_dead_letters,
    ),
    "an alerter that cannot tell the writer's letters": (
        drop_at(*properties("DlqAlerter", "Environment", "Variables", "NAGARE_INTERNAL_SECRET")),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "anybody can be named": (
        set_at("Parameters", "Producers", "AllowedPattern", "^.*$"),
        check.test_producers_can_be_named,
    ),
    "producers named, and refused when nobody is": (
        set_at("Conditions", "NameProducers", {"Fn::Equals": ["", ""]}),
        check.test_producers_can_be_named,
    ),
    "everybody may send": (
        set_at(*properties("CommandQueuePolicy", "PolicyDocument", "Statement", 1, "Fn::If", 1, "Principal", "*")),
        check.test_producers_can_be_named,
    ),
    "small messages": (
        set_at(*properties("CommandQueue", "MaximumMessageSize", 262144)),
        check.test_queues_take_large_messages_encrypted_and_over_tls_only,
    ),
    "another sort key": (
        set_at(*properties("TimelinesTable", "KeySchema", 1, "AttributeName", "sk")),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "another key of facts": (
        set_at(*properties("FactsTable", "KeySchema", 1, "AttributeName", "at")),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "another key of views": (
        set_at(*properties("ViewsTable", "KeySchema", 0, "AttributeName", "activity_id")),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "another index": (
        set_at(*properties("LedgerTable", "GlobalSecondaryIndexes", 0, "IndexName", "by_followee")),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "an index of everything": (
        set_at(*properties("LedgerTable", "GlobalSecondaryIndexes", 0, "Projection", {"ProjectionType": "ALL"})),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "entries that never expire": (
        set_at(*properties("TimelinesTable", "TimeToLiveSpecification", "AttributeName", "ttl")),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "a ledger whose items expire by themselves": (
        set_at(*properties("LedgerTable", "TimeToLiveSpecification", "AttributeName", "expires_at")),
        check.test_tables_survive,
    ),
    "a ledger that goes with its stack": (
        set_at("Resources", "LedgerTable", "DeletionPolicy", "Delete"),
        check.test_tables_survive,
    ),
    "a ledger without backups": (
        set_at(*properties("LedgerTable", "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled", False)),
        check.test_tables_survive,
    ),
    "facts that go with their stack": (
        set_at("Resources", "FactsTable", "DeletionPolicy", "Delete"),
        check.test_tables_survive,
    ),
    "facts that anybody can delete": (
        set_at(*properties("FactsTable", "DeletionProtectionEnabled", False)),
        check.test_tables_survive,
    ),
    "facts without backups": (
        drop_at(*properties("FactsTable", "PointInTimeRecoverySpecification")),
        check.test_tables_survive,
    ),
    "facts that expire": (
        set_at(*properties("FactsTable", "TimeToLiveSpecification", "AttributeName", "changed_at")),
        check.test_tables_survive,
    ),
    "counts of what was erased, kept for good": (
        drop_at(*properties("ViewsTable", "TimeToLiveSpecification")),
        check.test_tables_survive,
    ),
    "views that go with their stack": (
        set_at("Resources", "ViewsTable", "UpdateReplacePolicy", "Delete"),
        check.test_tables_survive,
    ),
    "views that a restore would set back": (
        set_at(*properties("ViewsTable", "PointInTimeRecoverySpecification", {"PointInTimeRecoveryEnabled": True})),
        check.test_tables_survive,
    ),
    "a table with a name": (
        set_at(*properties("DeadLettersTable", "TableName", "dead-letters")),
        check.test_tables_survive,
    ),
    "a cold index under a warm table": (
        set_at(*properties("LedgerTable", "GlobalSecondaryIndexes", 0, "WarmThroughput", None)),
        check.test_tables_can_be_warm,
    ),
    "facts that are never warm": (
        drop_at(*properties("FactsTable", "WarmThroughput")),
        check.test_tables_can_be_warm,
    ),
    "facts that are warm for reads alone": (
        set_at("Conditions", "WarmFacts", {"Fn::Not": [{"Fn::Equals": [{"Ref": "FactsWarmReads"}, "0"]}]}),
        check.test_tables_can_be_warm,
    ),
    "half a setting of warm facts": (
        set_at("Rules", "WarmFactsAreComplete", "Assertions", 0, "Assert", {"Fn::Equals": [{"Ref": "FactsWarmReads"}, "0"]}),
        check.test_tables_can_be_warm,
    ),
    "query strings in the access log": (
        set_at(*properties("HttpApiStage", "AccessLogSettings", "Format", "Fn::If", 1, '{"path":"$context.path"}')),
        check.test_the_api_throttles_and_logs_ids_only,
    ),
    "an API around the alias": (
        set_at(*properties("ReaderIntegration", "IntegrationUri", {"Fn::GetAtt": "TimelineReader.Arn"})),
        check.test_the_api_calls_the_aliases_of_readers_and_intake,
    ),
    "tenants who are answered by the timeline reader": (
        set_at(*properties("ArchivesRoute", "Target", {"Fn::Sub": "integrations/${ReaderIntegration}"})),
        check.test_the_api_calls_the_aliases_of_readers_and_intake,
    ),
    "unknown paths of tenants that nobody answers with 405": (
        drop_at("Resources", "TenantsRoute"),
        check.test_every_route_has_an_authorizer,
    ),
    "a timeline reader that writes what a tenant's clients have seen": (
        drop_at(*statement("TimelineReaderRole", 2, "Condition", "ForAllValues:StringNotLike")),
        check.test_roles_write_only_the_partitions_that_they_own,
    ),
    "an open reader of history": (
        set_at(*properties("HistoryReader", "Environment", "Variables", "NAGARE_AUTHORIZATION", "open")),
        check.test_the_reader_is_never_open,
    ),
    "events that are sent to the reader": (
        set_at(*properties("EventIntakeRoute", "Target", {"Fn::Sub": "integrations/${ReaderIntegration}"})),
        check.test_the_api_calls_the_aliases_of_readers_and_intake,
    ),
    "another path for events": (
        set_at(*properties("EventIntakeRoute", "RouteKey", "POST /v1/events")),
        check.test_every_route_has_an_authorizer,
    ),
    "an intake that takes anything from anybody": (
        set_at(*properties("EventIntake", "Environment", "Variables", "NAGARE_AUTHORIZATION", "open")),
        check.test_the_reader_is_never_open,
    ),
    "an intake with a claim of its own": (
        set_at(*properties("EventIntake", "Environment", "Variables", "NAGARE_TENANT_CLAIM", "team")),
        check.test_the_reader_is_never_open,
    ),
    "a reader with a viewer of its own": (
        set_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_VIEWER_CLAIM", "email")),
        check.test_the_reader_is_never_open,
    ),
    "a viewer who is a tenant": (
        set_at("Rules", "ClaimsDiffer", "Assertions", 0, "Assert", {"Fn::Equals": ["a", "a"]}),
        check.test_the_reader_is_never_open,
    ),
    "a subject that is a tenant": (
        set_at("Parameters", "TenantClaim", "AllowedPattern", "^[\\x21-\\x7e]{1,128}$"),
        check.test_the_reader_is_never_open,
    ),
    "an intake that the API gives up before it answers": (
        set_at(*properties("IntakeIntegration", "TimeoutInMillis", 9000)),
        check.test_timeouts_are_the_code_s,
    ),
    "an intake that may receive commands": (
        set_at(*statement("EventIntakeRole", 0, "Action", ["sqs:SendMessage", "sqs:ReceiveMessage"])),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "an intake that sends elsewhere": (
        set_at(*statement("EventIntakeRole", 0, "Resource", {"Fn::GetAtt": "DeadLetterQueue.Arn"})),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "named producers who silence the intake": (
        set_at(*properties("CommandQueuePolicy", "PolicyDocument", "Statement", 2, "Fn::If", 1, "Condition", "ArnNotEquals", "aws:PrincipalArn", "Fn::Split", 1, "Fn::Sub", 1, "Intake", "")),
        check.test_producers_can_be_named,
    ),
    "a function without an alarm": (
        drop_at("Resources", "FanoutWriterThrottlesAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices that nothing is folded": (
        drop_at("Resources", "FactsAgeAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices that counts are late": (
        drop_at("Resources", "ProjectionLagAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices a projector that fails": (
        drop_at("Resources", "ProjectorErrorsAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices a projector that does not run": (
        drop_at("Resources", "ProjectorThrottlesAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices likes that the table refuses": (
        drop_at("Resources", "FactsWriteThrottlesAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices counts that the table refuses": (
        drop_at("Resources", "ViewsWriteThrottlesAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices likes that cannot be read": (
        drop_at("Resources", "FactsReadThrottlesAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "nobody notices counts that cannot be read": (
        drop_at("Resources", "ViewsReadThrottlesAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "one shard that stands still among many": (
        set_at(*properties("FactsAgeAlarm", "Statistic", "Average")),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "an alarm on the mean of the lag": (
        drop_at(*properties("ProjectionLagAlarm", "ExtendedStatistic")),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "an alarm on depth instead of arrivals": (
        set_at(*properties("DeadLettersAlarm", "MetricName", "ApproximateNumberOfMessagesVisible")),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "an alarm that names no section": (
        set_at(*properties("Api5xxAlarm", "AlarmDescription", "Viewers are answered with 5xx.")),
        check.test_alarms_tell_what_to_do_and_reach_somebody,
    ),
    "a message of a producer that wakes somebody": (
        set_at(*properties("AnyDeadLettersAlarm", "AlarmActions", [{"Ref": "AlarmTopic"}])),
        check.test_alarms_tell_what_to_do_and_reach_somebody,
    ),
    "viewers who are refused until tomorrow": (
        set_at(*properties("Api5xxAlarm", "AlarmActions", [{"Ref": "NoticeTopic"}])),
        check.test_alarms_tell_what_to_do_and_reach_somebody,
    ),
    "a share of nothing": (
        set_at(*properties("Api5xxAlarm", "Metrics", 0, "Expression", "IF(FILL(failed, 0) >= 1, 100 * failed / requests, 0)")),
        check.test_what_traffic_makes_more_of_is_watched_as_a_share,
    ),
    "a number that grows with traffic": (
        set_at(*properties("FanoutWriterErrorsAlarm", "Metrics", 0, "Expression", "IF(FILL(errors, 0) >= 3, errors, 0)")),
        check.test_what_traffic_makes_more_of_is_watched_as_a_share,
    ),
    "a writer that stands still for a quarter of an hour": (
        set_at("Parameters", "WriterStoppedMinutes", "Default", 15),
        check.test_a_writer_that_stands_still_is_told_of_within_five_minutes,
    ),
    "a writer that stands still and tells of nothing": (
        replace_at(*properties("WriterStoppedAlarm", "Metrics", 0, "Expression", "FILL(waiting, 0) > 0 OR ", "")),
        check.test_a_writer_that_stands_still_is_told_of_within_five_minutes,
    ),
    "a stopped writer that nobody notices": (
        drop_at("Resources", "WriterStoppedAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "readers that are reserved in an account of ten": (
        drop_at("Rules", "ReservedReadersFit", "Assertions", 1),
        check.test_an_account_that_cannot_reserve_readers_is_told_so_before_anything_is_made,
    ),
    "a topic that anybody publishes to": (
        set_at(*properties("NoticeTopicPolicy", "PolicyDocument", "Statement", 0, "Condition", {})),
        check.test_services_act_for_this_account_only,
    ),
    "notices in the clear": (
        drop_at(*properties("NoticeTopic", "KmsMasterKeyId")),
        check.test_the_topics_are_encrypted_and_open_to_alarms_only,
    ),
    "an alarm that reaches nobody": (
        set_at(*properties("Api5xxAlarm", "AlarmActions", [])),
        check.test_alarms_tell_what_to_do_and_reach_somebody,
    ),
    "a fixed threshold": (
        set_at(*properties("Api5xxAlarm", "Threshold", 5)),
        check.test_thresholds_are_parameters,
    ),
    "a metric that no code emits": (
        set_at(*properties("DeadLettersAlarm", "MetricName", "DeadLetterCount")),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "an alarm on a metric of all stages": (
        drop_at(*properties("DeadLettersAlarm", "Dimensions")),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "an alarm by what the metric is not told apart by": (
        set_at(*properties("FanOutLatencyAlarm", "Dimensions", 0, "Name", "Environment")),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "an alarm in another namespace": (
        set_at(*properties("FanOutLatencyAlarm", "Namespace", "nagare")),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "a metric on the dashboard that no code emits": (
        replace_at(*properties("Dashboard", "DashboardBody", "Fn::Sub", 0, '"EntriesRepeated"', '"EntriesResent"')),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "a search on the dashboard that finds nothing": (
        replace_at(*properties("Dashboard", "DashboardBody", "Fn::Sub", 0, "{Nagare,Reason,Stage}", "{Nagare,Reason}")),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "a table on the dashboard of what nobody logs": (
        replace_at(*properties("Dashboard", "DashboardBody", "Fn::Sub", 0, "sum(entries)", "sum(entry)")),
        check.test_tables_on_the_dashboard_ask_for_what_is_logged,
    ),
    "a metric that nobody sees": (
        replace_at(*properties("Dashboard", "DashboardBody", "Fn::Sub", 0, '[".", "Problems", ".", "."],', "")),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "metrics of another stage": (
        set_at(*properties("TimelineReader", "Environment", "Variables", "NAGARE_STAGE", "prod")),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "a function that does not know its stage": (
        drop_at("Globals", "Function", "Environment", "Variables", "NAGARE_STAGE"),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "nobody notices that fan-outs are late": (
        drop_at("Resources", "FanOutLatencyAlarm"),
        check.test_everything_that_can_go_wrong_has_an_alarm,
    ),
    "a topic that CloudWatch cannot encrypt for": (
        set_at(*properties("AlarmTopic", "KmsMasterKeyId", "alias/aws/sns")),
        check.test_the_topics_are_encrypted_and_open_to_alarms_only,
    ),
    "an alarm that is not on the dashboard": (
        add("Another", "AWS::CloudWatch::Alarm"),
        check.test_the_dashboard_shows_every_alarm,
    ),
    "an output that is missing": (
        set_at("Outputs", "Environment", "Value", {"Fn::Sub": "export NAGARE_API_URL=${HttpApi.ApiEndpoint}\n"}),
        check.test_outputs_tell_the_command_line_where_the_stack_is,
    ),
    "an output without the facts": (
        replace_at("Outputs", "Environment", "Value", "Fn::Sub", 0, "export NAGARE_FACTS_TABLE=${FactsTable}\n", ""),
        check.test_outputs_tell_the_command_line_where_the_stack_is,
    ),
    "views that are called facts": (
        set_at("Outputs", "NagareViewsTable", "Value", {"Ref": "FactsTable"}),
        check.test_outputs_tell_the_command_line_where_the_stack_is,
    ),
    "an output that does not say what the API demands": (
        replace_at("Outputs", "Environment", "Value", "Fn::Sub", 0, "export NAGARE_AUTHORIZATION=${Authorization}\n", ""),
        check.test_outputs_tell_the_command_line_where_the_stack_is,
    ),
    "a parameter that is gone": (
        drop_at("Parameters", "LogRetentionDays"),
        check.test_samconfig_has_dev_and_prod,
    ),
    "a secret among the parameters": (
        set_at("Parameters", "CursorSecret", {"Type": "String", "Default": "", "Description": "A secret."}),
        check.test_no_parameter_is_left_to_chance,
    ),
    "the keeper drops any table": (
        set_at(*statement("PeriodKeeperRole", 0, "Resource"), {"Fn::GetAtt": "LedgerTable.Arn"}),
        check.test_the_keeper_has_no_power_over_other_tables,
    ),
    "nothing keeps the keeper from other tables": (
        replace_at(*statement("PeriodKeeperRole", 9, "Action", 5), "DeleteTable", "DescribeTable"),
        check.test_the_keeper_has_no_power_over_other_tables,
    ),
    "the keeper lists all of the bucket": (
        drop_at(*statement("PeriodKeeperRole", 4, "Condition")),
        check.test_the_keeper_has_no_power_over_other_tables,
    ),
    "the keeper maps streams to any function": (
        drop_at(*statement("PeriodKeeperRole", 5, "Condition")),
        check.test_the_keeper_maps_streams_to_the_history_projector_and_to_nothing_else,
    ),
    "the keeper maps streams to the writer": (
        set_at(*statement("PeriodKeeperRole", 5, "Condition", "ArnEquals", "lambda:FunctionArn", 0), {"Fn::GetAtt": "FanoutWriter.Arn"}),
        check.test_the_keeper_maps_streams_to_the_history_projector_and_to_nothing_else,
    ),
    "the keeper unmaps streams of any function": (
        drop_at(*statement("PeriodKeeperRole", 6, "Condition")),
        check.test_the_keeper_maps_streams_to_the_history_projector_and_to_nothing_else,
    ),
    "the keeper may not unmap": (
        set_at(*statement("PeriodKeeperRole", 6, "Action"), "lambda:GetEventSourceMapping"),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "the keeper does not see the views": (
        set_at(*statement("PeriodKeeperRole", 2, "Resource"), {"Fn::GetAtt": "FactsTable.Arn"}),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "the history projector does not see the streams of events": (
        drop_at(*statement("HistoryProjectorRole", 0, "Resource", 1)),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "the history projector sees any stream": (
        set_at(*statement("HistoryProjectorRole", 0, "Resource", 1), "*"),
        check.test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does,
    ),
    "streams of events are read two batches at a time": (
        replace_at(
            *properties("PeriodKeeper", "Environment", "Variables", "NAGARE_STREAM_MAPPING", "Fn::Sub"),
            '"ParallelizationFactor": 1',
            '"ParallelizationFactor": 2',
        ),
        check.test_streams_of_events_are_mapped_as_that_of_the_facts_is,
    ),
    "the keeper comes once a day": (
        set_at(*properties("KeeperSchedule", "ScheduleExpression"), "rate(1 day)"),
        check.test_the_keeper_is_woken_in_time,
    ),
    "the schedule is off": (
        set_at(*properties("KeeperSchedule", "State"), "DISABLED"),
        check.test_the_keeper_is_woken_in_time,
    ),
    "events are provisioned unasked": (
        set_at("Parameters", "EventCapacity", "Default", "provisioned"),
        check.test_the_keeper_is_woken_where_events_are_behind,
    ),
    "the keeper is woken after an hour": (
        set_at(*properties("EventsBehindAlarm", "Threshold"), 3600),
        check.test_the_keeper_is_woken_where_events_are_behind,
    ),
    "any alarm wakes the keeper": (
        drop_at(*properties("EventsBehindPermission", "SourceArn")),
        check.test_the_keeper_is_woken_where_events_are_behind,
    ),
    "the keeper measures whether or not it provisions": (
        set_at(*statement("PeriodKeeperRole", 8), {"Sid": "M", "Effect": "Allow", "Action": "cloudwatch:GetMetricData", "Resource": "*"}),
        check.test_the_keeper_is_woken_where_events_are_behind,
    ),
    "the archive goes with the stack": (
        set_at("Resources", "ArchiveBucket", "DeletionPolicy", "Delete"),
        check.test_the_archive_is_private_and_keeps_what_the_keeper_keeps,
    ),
    "the archive may become public": (
        set_at(*properties("ArchiveBucket", "PublicAccessBlockConfiguration", "BlockPublicPolicy"), False),
        check.test_the_archive_is_private_and_keeps_what_the_keeper_keeps,
    ),
    "the archive expires by itself": (
        set_at(*properties("ArchiveBucket", "LifecycleConfiguration", "Rules", 0, "ExpirationInDays"), 30),
        check.test_the_archive_is_private_and_keeps_what_the_keeper_keeps,
    ),
    "the archive is read without TLS": (
        drop_at("Resources", "ArchiveBucketPolicy", "Properties", "PolicyDocument", "Statement", 0, "Condition"),
        check.test_the_archive_is_private_and_keeps_what_the_keeper_keeps,
    ),
    "events are dropped sooner than the code thinks": (
        set_at("Parameters", "EventDays", "Default", 30),
        check.test_events_are_kept_as_the_code_keeps_them,
    ),
    "periods of an hour": (
        set_at("Parameters", "EventPeriod", "AllowedValues", ["hour", "day", "week", "month"]),
        check.test_events_are_kept_as_the_code_keeps_them,
    ),
}


BREAKS |= {
    "an alarm that the bill leaves out": (
        add("Another", "AWS::CloudWatch::Alarm", Namespace="Nagare", MetricName="DeadLetters"),
        check.test_the_bill_is_of_this_template,
    ),
    "a secret that the bill leaves out": (
        add("ThirdCursorSecret", "AWS::SecretsManager::Secret"),
        check.test_the_bill_is_of_this_template,
    ),
    "a key that the bill leaves out": (
        add("AnotherKey", "AWS::KMS::Key"),
        check.test_the_bill_is_of_this_template,
    ),
    "memory that the bill leaves out": (
        set_at(*properties("TimelineReader", "MemorySize"), 1024),
        check.test_the_bill_is_of_this_template,
    ),
    "more lines than the bill has": (
        set_at("Parameters", "LogOneIn", "Default", 1),
        check.test_the_bill_is_of_this_template,
    ),
    "longer lines than the bill has": (
        replace_at(*properties("HttpApiStage", "AccessLogSettings", "Format", "Fn::If", 1), "latency", "milliseconds"),
        check.test_the_bill_is_of_this_template,
    ),
    "a variable that its function does not read": (
        set_at(*properties("DlqAlerter", "Environment", "Variables", "NAGARE_QUEUE_URL"), {"Ref": "CommandQueue"}),
        check.test_variables_are_those_that_the_code_reads,
    ),
}


def function(name, *way):
    return ("functions", name, *way)


def append_to(*way):
    """Appends to a list: the way to it, then the value."""
    *path, key, value = way

    def change(code):
        inner = code
        for step in path:
            inner = inner[step]
        inner[key] = [*inner[key], value]

    return change


def remove_from(*way):
    *path, key, value = way

    def change(code):
        inner = code
        for step in path:
            inner = inner[step]
        assert value in inner[key], value
        inner[key] = [one for one in inner[key] if one != value]

    return change


# The same template, and other code.
CODE_BREAKS = {
    "a path of the reader that the template does not know": (
        append_to("api", "routes", "GET /v1/debug"),
        check.test_every_route_has_an_authorizer,
    ),
    "a path of the reader that is gone": (
        remove_from("api", "routes", "GET /v1/polls/{poll_id}"),
        check.test_every_route_has_an_authorizer,
    ),
    "events that are sent elsewhere": (
        remove_from("api", "routes", "POST /v1/tenants/{tenant_id}/events"),
        check.test_every_route_has_an_authorizer,
    ),
    "a path that the document of the API does not describe": (
        append_to("api", "routes", "GET /v1/debug"),
        check.test_the_document_of_the_api_names_what_the_code_names,
    ),
    "a problem that it does not describe": (
        append_to("api", "problems", "out-of-luck"),
        check.test_the_document_of_the_api_names_what_the_code_names,
    ),
    "a problem that is gone": (
        remove_from("api", "problems", "throttled"),
        check.test_the_document_of_the_api_names_what_the_code_names,
    ),
    "preflights that the reader does not know": (
        set_at("api", "preflight", "OPTIONS /"),
        check.test_a_preflight_needs_no_token_and_reaches_nothing,
    ),
    "another mode": (
        append_to("api", "modes", "none"),
        check.test_the_reader_is_never_open,
    ),
    "another claim": (
        set_at("api", "tenant_claim", "team"),
        check.test_the_reader_is_never_open,
    ),
    **{
        f"a local stack with other CORS: {header}": (
            set_at("api", "cors", header, value),
            check.test_pages_of_the_named_origins_may_call_and_no_others,
        )
        for header, value in (("AllowMethods", ["GET", "POST"]), ("AllowHeaders", ["authorization"]), ("ExposeHeaders", []), ("MaxAge", 60))
    },
    "archives elsewhere": (
        set_at("events", "prefix", "archive/"),
        check.test_the_keeper_has_no_power_over_other_tables,
    ),
    **{
        f"events that are kept otherwise: {parameter}, {bound}": (
            set_at("events", parameter, bound, 12),
            check.test_events_are_kept_as_the_code_keeps_them,
        )
        for parameter in ("EventLatenessDays", "EventDays", "EventArchiveDays")
        for bound in ("default", "least", "most")
    },
    **{
        f"activities that are kept otherwise: {bound}": (
            set_at("retention_days", bound, 12),
            check.test_retention_is_the_code_s,
        )
        for bound in ("default", "least", "most")
    },
    "events of another source": (
        set_at("bus_source", "another"),
        check.test_a_bus_that_does_not_exist_stops_the_deployment,
    ),
    "tables of events with another key": (
        set_at("table_of_events", "SSEDescription", None),
        check.test_tables_of_events_are_made_as_the_template_s,
    ),
    "tables of events that can be dropped": (
        set_at("table_of_events", "DeletionProtectionEnabled", False),
        check.test_tables_of_events_are_made_as_the_template_s,
    ),
    "a variable that nobody sets": (
        append_to(*function("DlqAlerter", "variables"), "NAGARE_NEW"),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "a variable that nobody reads": (
        remove_from(*function("Projector", "variables"), "NAGARE_READ_NOTIFICATION_DAYS"),
        check.test_variables_are_those_that_the_code_reads,
    ),
    "a function that runs for longer": (
        set_at("local", "function_timeout_seconds", 120),
        check.test_timeouts_are_the_code_s,
    ),
    "a reader that waits for longer than it may run": (
        set_at(*function("TimelineReader", "patience_seconds"), 10),
        check.test_timeouts_are_the_code_s,
    ),
    "an intake that waits for longer than it may run": (
        set_at(*function("EventIntake", "patience_seconds"), 15),
        check.test_timeouts_are_the_code_s,
    ),
    "longer secrets": (
        set_at("least_secret", 65),
        check.test_secrets_are_generated_and_long_enough,
    ),
    "larger batches of messages": (
        set_at("local", "messages_in_a_batch", 100),
        check.test_event_sources_report_single_messages,
    ),
    "larger batches of changes": (
        set_at("local", "changes_in_a_batch", 100),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "a stream without what was before": (
        set_at("tables", "facts", "definition", "StreamSpecification", "StreamViewType", "NEW_IMAGE"),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "a projector that is not told of the shard": (
        set_at(*function("Projector", "is_told_of_the_shard"), False),
        check.test_changes_are_folded_in_the_order_of_their_shard,
    ),
    "changes that are given up sooner": (
        set_at("local", "change_age_seconds", 60),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "changes that are tried less often": (
        set_at("local", "change_retries", 10),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "marks that go before what they are for": (
        set_at("marks_kept_seconds", 86_400),
        check.test_what_cannot_be_folded_ends_as_a_dead_letter,
    ),
    "messages that come again sooner": (
        set_at("local", "visibility_seconds", 90),
        check.test_visibility_is_six_times_the_timeout,
    ),
    "more receives": (
        set_at("max_receives", 6),
        check.test_commands_give_up_after_as_many_receives_as_the_code_thinks,
    ),
    "dead letters that go sooner": (
        set_at("local", "dead_letter_retention_seconds", 86_400),
        check.test_dead_letters_are_kept_longest,
    ),
    **{
        f"another key: {field}": (
            set_at("tables", field, "definition", "KeySchema", 0, "AttributeName", "key"),
            check.test_tables_have_the_keys_that_the_code_uses,
        )
        for field in check.TABLES
    },
    "another index": (
        set_at("by_follower", "by_viewer"),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "an index that has more": (
        set_at("tables", "ledger", "definition", "GlobalSecondaryIndexes", 0, "Projection", {"ProjectionType": "ALL"}),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "entries that expire by something else": (
        set_at("tables", "timelines", "expiry", "until"),
        check.test_tables_have_the_keys_that_the_code_uses,
    ),
    "marks of another name": (
        set_at("forget_at", "gone_at"),
        check.test_tables_survive,
    ),
    "facts that do not expire": (
        set_at("tables", "facts", "expiry", None),
        check.test_tables_survive,
    ),
    "a metric that is counted under another name": (
        remove_from(*function("DlqAlerter", "counts", "metrics"), "SystemDeadLetters"),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "a new metric that nobody sees": (
        append_to(*function("Projector", "counts", "metrics"), "NewMetric"),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "dead letters that are not told apart": (
        set_at(*function("DlqAlerter", "counts", "by"), None),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "another namespace": (
        set_at("metrics", "namespace", "Another"),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "another dimension": (
        set_at("metrics", "stage", "Deployment"),
        check.test_metrics_of_ours_are_those_that_the_code_emits,
    ),
    "lines of commands that say less": (
        remove_from(*function("FanoutWriter", "logs"), "fan_out_ms"),
        check.test_tables_on_the_dashboard_ask_for_what_is_logged,
    ),
    "lines of requests that say less": (
        remove_from(*function("TimelineReader", "logs"), "parameter"),
        check.test_tables_on_the_dashboard_ask_for_what_is_logged,
    ),
    "a variable of the command line that no output has": (
        append_to("command_line", "NAGARE_NEW"),
        check.test_outputs_tell_the_command_line_where_the_stack_is,
    ),
    "metrics of another function of the history": (
        append_to(*function("FanoutWriter", "counts", "metrics"), "KeeperTicks"),
        check.test_nothing_of_the_event_history_is_there_where_it_is_off,
    ),
    **{
        f"another bill: {what}": (
            set_at("bill", what, value),
            check.test_the_bill_is_of_this_template,
        )
        for what, value in (("alarm_metrics", 1), ("alarm_metrics_without_history", 1), ("secrets", 1), ("keys", 2), ("writer_memory", 128), ("reader_memory", 128), ("projector_memory", 128), ("log_one_in", 1), ("access_line", "{}"))
    },
}


@pytest.fixture(scope="module")
def written():
    return source()


@pytest.fixture(scope="module")
def whole(written):
    return Stack(written, expand(None, written))


@pytest.mark.parametrize("name", BREAKS)
def test_it_is_noticed(name, written, monkeypatch):
    change, checked = BREAKS[name]
    broken = copy.deepcopy(written)
    change(broken)
    # Checks that expand the template themselves get the broken one.
    monkeypatch.setattr(check, "expand", lambda parameters=None: expand(parameters, broken))
    with pytest.raises(AssertionError):
        checked(Stack(broken, expand(None, broken)))


@pytest.mark.parametrize("name", CODE_BREAKS)
def test_it_is_noticed_of_the_code(name, whole, monkeypatch):
    change, checked = CODE_BREAKS[name]
    checked(whole)
    broken = copy.deepcopy(check.code())
    change(broken)
    monkeypatch.setattr(check, "code", lambda: broken)
    with pytest.raises(AssertionError):
        checked(whole)


def test_every_check_is_broken_once():
    checks = {name for name in vars(check) if name.startswith("test_")}
    broken = {checked.__name__ for _, checked in [*BREAKS.values(), *CODE_BREAKS.values()]}
    assert checks <= broken, f"nothing breaks {checks - broken}"
