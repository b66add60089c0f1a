//! What the names of derivatives begin with.

use std::cell::RefCell;

use bbcode::BBCode;
use hashbrown::{HashMap, HashSet};
use ircode::{Module, is_identifier, method_of, unqualified};

use crate::free_names::FreeNames;

/// How characters of names are spelled that may stand in names of functions and not in plain words: those of Julia's
/// operators that are met in programs. Others are spelled by their numbers.
const SPELLED: [(char, &str); 27] = [
    ('!', "bang"),
    ('%', "rem"),
    ('\'', "quote"),
    ('&', "and"),
    ('*', "times"),
    ('+', "plus"),
    ('-', "minus"),
    ('/', "over"),
    ('<', "less"),
    ('=', "equal"),
    ('>', "greater"),
    ('\\', "under"),
    ('^', "power"),
    ('|', "or"),
    ('~', "not"),
    ('÷', "div"),
    ('′', "prime"),
    ('″', "second"),
    ('∂', "partial"),
    ('∇', "nabla"),
    ('∘', "compose"),
    ('√', "sqrt"),
    ('∈', "in"),
    ('≈', "approx"),
    ('≠', "unequal"),
    ('≤', "atmost"),
    ('≥', "atleast"),
];

/// What separates words in names and says nothing else.
fn is_separator(c: char) -> bool {
    matches!(c, ' ' | ',' | '.' | ':' | ';' | '(' | ')' | '{' | '}' | '[' | ']' | '"' | '#' | '@' | '$')
}

/// What the names of the derivatives of a function begin with, where no other function takes that: see [`BaseNames`].
/// Types are called so, too, whose names cannot be quoted.
pub(crate) fn base_name(function: &str) -> String {
    match method_of(function) {
        _ if function.is_empty() => "listing".into(),
        Some(of) => plain_name(function, of),
        None if function.split('.').all(is_identifier) => function.into(),
        None => plain_name(function, function),
    }
}

/// A name for the method `Main.f(::Float64, ::Int64)` that needs no quoting: `f_Float64_Int64`.
fn plain_name(method: &str, of: &str) -> String {
    let types = method.strip_prefix(of).unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    for c in unqualified(of).chars().chain([' ']).chain(types.chars()) {
        if c.is_alphanumeric() || c == '_' {
            match words.last_mut() {
                Some(word) => word.push(c),
                None => words.push(c.into()),
            }
            continue;
        }
        words.push(String::new());
        if !is_separator(c) {
            let spelled = SPELLED.iter().find(|(known, _)| *known == c).map(|(_, word)| (*word).to_string());
            words.extend([spelled.unwrap_or_else(|| format!("u{:x}", u32::from(c))), String::new()]);
        }
    }
    let name = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    if name.starts_with(|c: char| c.is_alphabetic()) { name } else { format!("method_{name}") }
}

/// What the names of the derivatives of functions begin with that are made together: no two functions share it.
#[derive(Debug, Default)]
pub(crate) struct BaseNames {
    known: RefCell<HashMap<usize, String>>,
    taken: RefCell<HashSet<String>>,
    free: RefCell<FreeNames>,
}

impl BaseNames {
    /// That of the function at this position: its [`base_name`], with a number where a function that was asked for
    /// earlier has it, as functions of two modules may.
    pub(crate) fn of(&self, module: &Module<BBCode>, function: usize) -> String {
        if let Some(known) = self.known.borrow().get(&function) {
            return known.clone();
        }
        let plain = base_name(module.functions().get(function).map_or("", |function| &function.name));
        let mut taken = self.taken.borrow_mut();
        let name = self.free.borrow_mut().find(&plain, |name| taken.contains(name)).to_string();
        taken.insert(name.clone());
        self.known.borrow_mut().insert(function, name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::base_name;

    #[test]
    fn names_say_which_function_they_are_of() {
        for (function, expected) in [
            ("Main.f(::Float64, ::Int64)", "f_Float64_Int64"),
            ("Base.Math.sin_kernel(::Float64)", "sin_kernel_Float64"),
            ("+(::Array{Float64,1}, ::Array{Float64,1})", "plus_Array_Float64_1_Array_Float64_1"),
            ("-(::Array{Float64,1}, ::Array{Float64,1})", "minus_Array_Float64_1_Array_Float64_1"),
            ("Base.:(==)(::Float64)", "equal_equal_Float64"),
            ("step!(::Float64)", "step_bang_Float64"),
            ("g′(::Float64)", "g_prime_Float64"),
            ("⊕(::Float64)", "u2295_Float64"),
            ("f(::Val{-1})", "f_Val_minus_1"),
            ("(::var\"#1#2\"{Int64})(::Float64)", "var_1_2_Int64_Float64"),
            ("f", "f"),
            ("Main.step!", "Main.step!"),
            ("listing 1", "listing_1"),
            ("f'", "f_quote"),
            ("∇f", "∇f"),
            ("f′", "f′"),
            ("a-b", "a_minus_b"),
            ("1f", "method_1f"),
            ("", "listing"),
        ] {
            assert_eq!(base_name(function), expected, "{function}");
        }
    }
}
