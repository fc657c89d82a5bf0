//! Conditions and updates as `shared` writes them, applied to one item. The engine parses every expression several times for that.
//!
//! What is not certain is `None`, and then the engine decides: other functions, documents, sets, comparisons of anything but texts, and
//! whatever it may refuse.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use dynoxide::types::{AttributeValue, Item};

/// Attributes that are named without a placeholder. None of them is a reserved word.
const PLAIN: [&str; 5] = ["pk", "changed_at", "following", "actor", "deleted"];
/// Attributes that no update may change.
const KEY: [&str; 2] = ["pk", "sk"];

/// The placeholders of a request, and which of them are used.
pub(super) struct Expressions<'r> {
    names: Option<&'r HashMap<String, String>>,
    values: Option<&'r HashMap<String, AttributeValue>>,
    used: RefCell<HashSet<&'r str>>,
}

/// The rest of an expression.
struct Tokens<'t>(std::iter::Peekable<std::vec::IntoIter<&'t str>>);

impl<'r> Expressions<'r> {
    pub(super) fn new(
        names: Option<&'r HashMap<String, String>>,
        values: Option<&'r HashMap<String, AttributeValue>>,
    ) -> Self {
        Self { names, values, used: RefCell::default() }
    }

    /// True if a condition holds for an item, which is empty if there is none.
    pub(super) fn holds(&self, condition: &str, item: &Item) -> Option<bool> {
        let mut tokens = Tokens::of(condition)?;
        let holds = self.either(&mut tokens, item)?;
        tokens.0.next().is_none().then_some(holds)
    }

    /// An item after an update.
    pub(super) fn updated(&self, expression: &str, item: &Item) -> Option<Item> {
        let mut tokens = Tokens::of(expression)?;
        let (mut updated, mut changed) = (item.clone(), HashSet::new());
        let mut change =
            |name: &'r str| (!KEY.contains(&name) && changed.insert(name)).then_some(name);
        if tokens.takes("SET") {
            loop {
                let name = change(self.name(&mut tokens)?)?;
                tokens.expect("=")?;
                updated.insert(name.to_owned(), self.operand(&mut tokens, item)?);
                if !tokens.takes(",") {
                    break;
                }
            }
        }
        if tokens.takes("REMOVE") {
            loop {
                updated.remove(change(self.name(&mut tokens)?)?);
                if !tokens.takes(",") {
                    break;
                }
            }
        }
        tokens.0.next().is_none().then_some(updated)
    }

    /// True if every placeholder is used: the engine refuses others.
    pub(super) fn are_used(&self) -> bool {
        let used = self.used.borrow();
        let names = self.names.into_iter().flat_map(HashMap::keys);
        names
            .chain(self.values.into_iter().flat_map(HashMap::keys))
            .all(|it| used.contains(it.as_str()))
    }

    fn either(&self, tokens: &mut Tokens<'_>, item: &Item) -> Option<bool> {
        let mut holds = self.both(tokens, item)?;
        while tokens.takes("OR") {
            holds |= self.both(tokens, item)?;
        }
        Some(holds)
    }

    fn both(&self, tokens: &mut Tokens<'_>, item: &Item) -> Option<bool> {
        let mut holds = self.term(tokens, item)?;
        while tokens.takes("AND") {
            holds &= self.term(tokens, item)?;
        }
        Some(holds)
    }

    fn term(&self, tokens: &mut Tokens<'_>, item: &Item) -> Option<bool> {
        if tokens.takes("(") {
            let holds = self.either(tokens, item)?;
            tokens.expect(")")?;
            return Some(holds);
        }
        for (function, expected) in [("attribute_exists", true), ("attribute_not_exists", false)] {
            if tokens.takes(function) {
                tokens.expect("(")?;
                let name = self.name(tokens)?;
                tokens.expect(")")?;
                return Some(item.contains_key(name) == expected);
            }
        }
        let there = item.get(self.name(tokens)?);
        let comparator = tokens.0.next()?;
        compare(there, comparator, self.value(tokens)?)
    }

    fn operand(&self, tokens: &mut Tokens<'_>, item: &Item) -> Option<AttributeValue> {
        if !tokens.takes("if_not_exists") {
            return self.value(tokens).cloned();
        }
        tokens.expect("(")?;
        let there = item.get(self.name(tokens)?);
        tokens.expect(",")?;
        let otherwise = self.value(tokens)?;
        tokens.expect(")")?;
        tokens.expect("+")?;
        let sum = number(there.unwrap_or(otherwise))?.checked_add(number(self.value(tokens)?)?)?;
        Some(AttributeValue::N(sum.to_string()))
    }

    /// The attribute that the next token names.
    fn name(&self, tokens: &mut Tokens<'_>) -> Option<&'r str> {
        let token = tokens.0.next()?;
        if let Some(plain) = PLAIN.into_iter().find(|name| *name == token) {
            return Some(plain);
        }
        let (placeholder, name) = self.names?.get_key_value(token)?;
        self.used.borrow_mut().insert(placeholder);
        Some(name)
    }

    fn value(&self, tokens: &mut Tokens<'_>) -> Option<&'r AttributeValue> {
        let (placeholder, value) = self.values?.get_key_value(tokens.0.next()?)?;
        self.used.borrow_mut().insert(placeholder);
        Some(value)
    }
}

impl<'t> Tokens<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | ':');
        let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '(' | ')' | ',' | '=' | '+' => 1,
                '<' | '>' => 1 + usize::from(rest[1..].starts_with(['=', '>'])),
                _ => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            };
            let (token, behind) = rest.split_at_checked(length).filter(|_| length > 0)?;
            tokens.push(token);
            rest = behind.trim_start();
        }
        Some(Self(tokens.into_iter().peekable()))
    }

    fn takes(&mut self, token: &str) -> bool {
        self.0.next_if_eq(&token).is_some()
    }

    fn expect(&mut self, token: &str) -> Option<()> {
        self.takes(token).then_some(())
    }
}

/// Compares texts, and tells whether booleans are the same. What is not there does not compare.
fn compare(there: Option<&AttributeValue>, by: &str, with: &AttributeValue) -> Option<bool> {
    use AttributeValue::{BOOL, S};
    Some(match (there, by, with) {
        (None, "=" | "<" | "<=" | ">" | ">=", S(_)) | (None, "=", BOOL(_)) => false,
        (Some(S(there)), "=", S(with)) => there == with,
        (Some(S(there)), "<", S(with)) => there < with,
        (Some(S(there)), "<=", S(with)) => there <= with,
        (Some(S(there)), ">", S(with)) => there > with,
        (Some(S(there)), ">=", S(with)) => there >= with,
        (Some(BOOL(there)), "=", BOOL(with)) => there == with,
        (Some(S(_)), "=", BOOL(_)) | (Some(BOOL(_)), "=", S(_)) => false,
        _ => return None,
    })
}

fn number(value: &AttributeValue) -> Option<i64> {
    match value {
        AttributeValue::N(digits) if digits.len() <= 18 => digits.parse().ok(),
        _ => None,
    }
}
