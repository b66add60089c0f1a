//! Interned-by-sharing names.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::sharing;

/// A name or other short text of the program: a function, a module path, a symbol, the text of a type.
///
/// Cloning shares the text, and a `Name` is one pointer wide, so that operands and types stay small. Two names are
/// equal when their texts are; there is no global table, so nothing depends on the order in which names were made.
#[derive(Clone)]
pub struct Name(Arc<Box<str>>);

impl Name {
    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the same text in the same place, which takes no time to see.
    pub(crate) fn is_same(&self, other: &Name) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A name without the modules before it: `sin`, for `Base.Math.sin`. A name that Julia quotes, as it has dots of its own
/// or other characters, keeps its quotes.
///
/// ```
/// use ircode::unqualified;
///
/// assert_eq!(unqualified("Base.Math.sin"), "sin");
/// assert_eq!(unqualified("sin"), "sin");
/// assert_eq!(unqualified("Main.var\"f.g\""), "var\"f.g\"");
/// assert_eq!(unqualified("Main..."), "..");
/// ```
pub fn unqualified(path: &str) -> &str {
    if path.ends_with('"')
        && let Some(quoted) = path.find("var\"").filter(|at| *at == 0 || path[..*at].ends_with('.'))
    {
        return &path[quoted..];
    }
    match path.trim_end_matches('.') {
        "" => path,
        // An operator made of dots, behind a module.
        module if module.len() < path.len() => &path[module.len() + 1..],
        path => path.rsplit('.').next().unwrap_or(path),
    }
}

/// A path without the module of the program itself, which may be left out: `f` for `Main.f`.
///
/// ```
/// use ircode::without_main;
///
/// assert_eq!(without_main("Main.f"), "f");
/// assert_eq!(without_main("Base.sin"), "Base.sin");
/// ```
pub fn without_main(path: &str) -> &str {
    path.strip_prefix("Main.").unwrap_or(path)
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name(Arc::new(text.into()))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Name(Arc::new(text.into_boxed_str()))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl Visitor<'_> for NameVisitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
                Ok(sharing::name(text))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}
