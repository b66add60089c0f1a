//! Versions of Julia, which differ in what code is valid and in how it prints.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A version of Julia, as far as it changes anything here: `1.5`, `1.10`.
///
/// ```
/// use ircode::JuliaVersion;
///
/// let version: JuliaVersion = "1.5.3".parse()?;
/// assert_eq!(version, JuliaVersion::new(1, 5));
/// assert!(version < JuliaVersion::new(1, 10));
/// # Ok::<(), ircode::NoVersion>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JuliaVersion {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

impl JuliaVersion {
    /// The version of these numbers.
    pub const fn new(major: u16, minor: u16) -> Self {
        JuliaVersion { major, minor }
    }
}

impl fmt::Display for JuliaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is no version.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no version of Julia, such as 1.10")]
pub struct NoVersion(pub String);

impl FromStr for JuliaVersion {
    type Err = NoVersion;

    /// Reads `1.5` and what begins so, such as `1.5.3` and `1.12.0-DEV.5`.
    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let mut parts = text.splitn(3, '.');
        let mut number = || parts.next()?.parse().ok();
        match (number(), number()) {
            (Some(major), Some(minor)) => Ok(JuliaVersion { major, minor }),
            _ => Err(NoVersion(text.into())),
        }
    }
}

impl TryFrom<String> for JuliaVersion {
    type Error = NoVersion;

    fn try_from(text: String) -> Result<Self, NoVersion> {
        text.parse()
    }
}

impl From<JuliaVersion> for String {
    fn from(version: JuliaVersion) -> String {
        version.to_string()
    }
}
