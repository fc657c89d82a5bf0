//! Expressions: their size, their operators, and the names and values that they use.

use std::collections::HashMap;

use dynoxide::DynoxideError;
use dynoxide::types::AttributeValue;
use shared::platform::dynamo::Limits;

use super::{are_shrunk, refusal};

/// The longest name of a placeholder, with its `#` or `:`.
const PLACEHOLDER_BYTES: usize = 255;
/// The most operands of one `IN`.
const IN_OPERANDS: usize = 100;

/// The expressions of one request or action, and what they are given.
#[derive(Default)]
pub(super) struct Expressions<'a> {
    /// What each is called, and its text.
    pub(super) texts: [(&'static str, Option<&'a str>); 3],
    pub(super) names: Option<&'a HashMap<String, String>>,
    pub(super) values: Option<&'a HashMap<String, AttributeValue>>,
}

impl Expressions<'_> {
    pub(super) fn check(&self, limits: &Limits) -> Result<(), DynoxideError> {
        for (called, text) in &self.texts {
            if let Some(text) = text {
                check_text(called, text, limits)?;
            }
        }
        self.check_placeholders()?;
        let names = self.names.into_iter().flatten().map(|(name, of)| name.len() + of.len());
        let values =
            self.values.into_iter().flatten().map(|(name, value)| name.len() + value.size());
        for (called, bytes) in [
            ("ExpressionAttributeNames", names.sum::<usize>()),
            ("ExpressionAttributeValues", values.sum()),
        ] {
            if bytes > limits.expression_values_bytes {
                return Err(refusal(format!("{called} exceeds max size")));
            }
        }
        Ok(())
    }

    fn check_placeholders(&self) -> Result<(), DynoxideError> {
        let names = self.names.into_iter().flatten().map(|(name, _)| ("Names", name));
        let values = self.values.into_iter().flatten().map(|(name, _)| ("Values", name));
        match names.chain(values).find(|(_, name)| name.len() > PLACEHOLDER_BYTES) {
            None => Ok(()),
            Some((of, name)) => Err(refusal(format!(
                "ExpressionAttribute{of} contains invalid key: The expression attribute map contains a key that is \
                 too long; key: \"{name}\""
            ))),
        }
    }
}

fn check_text(called: &str, text: &str, limits: &Limits) -> Result<(), DynoxideError> {
    if are_shrunk(limits) && text.len() > limits.expression_bytes {
        return Err(refusal(format!(
            "Invalid {called}: Expression size has exceeded the maximum allowed size;"
        )));
    }
    // An operator is at least one byte, between operands of one byte.
    if text.len() <= limits.expression_operators.min(IN_OPERANDS) {
        return Ok(());
    }
    let counted = count(text);
    if counted.operators > limits.expression_operators {
        return Err(refusal(format!(
            "Invalid {called}: The expression contains too many operators; operator count: {}",
            counted.operators
        )));
    }
    if counted.in_operands > IN_OPERANDS {
        return Err(refusal(format!(
            "Invalid {called}: The IN operator is provided with too many operands; number of operands: {}",
            counted.in_operands
        )));
    }
    Ok(())
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    operators: usize,
    /// Of the longest `IN`.
    in_operands: usize,
}

/// Counts operators and functions as DynamoDB does: each comparison, `+` and `-`, `AND`, `OR`, `NOT`, `IN` and
/// `BETWEEN`, whose own `AND` does not count, and each call of a function. The `=` of an assignment is none.
fn count(text: &str) -> Counted {
    let mut counted = Counted::default();
    let tokens = tokens(text);
    let (mut betweens, mut assigns) = (0_usize, false);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).copied().unwrap_or_default();
        match token.to_ascii_uppercase().as_str() {
            "SET" => assigns = true,
            "REMOVE" | "ADD" | "DELETE" => assigns = false,
            "=" if assigns => {}
            "AND" if betweens > 0 => betweens -= 1,
            "BETWEEN" => {
                betweens += 1;
                counted.operators += 1;
            }
            "IN" => {
                counted.operators += 1;
                let operands = tokens[at..].iter().take_while(|token| **token != ")");
                let operands = 1 + operands.filter(|token| **token == ",").count();
                counted.in_operands = counted.in_operands.max(operands);
            }
            "=" | "<>" | "<" | "<=" | ">" | ">=" | "+" | "-" | "AND" | "OR" | "NOT" => {
                counted.operators += 1;
            }
            word if next == "(" && word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                counted.operators += 1;
            }
            _ => {}
        }
    }
    counted
}

/// Words, and single signs; comparisons of two signs are one.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | ':' | '.');
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
        } else if ["<>", "<=", ">="].iter().any(|sign| rest.starts_with(sign)) {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if !token.trim().is_empty() {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_functions_are_counted() {
        for (text, operators) in [
            ("SET a = :a + :b - :c, d = if_not_exists(d, :e)", 3),
            ("REMOVE a, b[0] ADD c :c", 0),
            ("attribute_not_exists(pk) OR #at < :at", 3),
            ("a BETWEEN :a AND :b AND NOT c IN (:c, :d)", 4),
            ("(a<>:a) and size(b)>=:b", 4),
        ] {
            assert_eq!(count(text).operators, operators, "{text}");
        }
        assert_eq!(count("a IN (:a, :b) OR c IN (:a, :b, :c)").in_operands, 3);
    }
}
