//! How deep types are nested.

use std::cell::RefCell;

use hashbrown::HashMap;

use crate::types::Type;

/// Which types are nested deeper than a limit, each found once.
///
/// Declared types can be nested as deep as a program has types, and share their parts, so that what is written out of
/// them is as large as two to the power of that. What has to be written out, and what is found by going down, asks here
/// first. The answer for a type does not depend on what else was asked for.
///
/// ```
/// use ircode::{Type, TypeNesting};
///
/// let nesting = TypeNesting::new(2);
/// let parts = |ty: &Type| match ty {
///     Type::Tuple(parts) => parts.to_vec(),
///     _ => Vec::new(),
/// };
/// let is_deeper = |ty: &str| nesting.is_deeper(&Type::parse(ty), &parts);
/// assert!(!is_deeper("Tuple{Tuple{Int64}, Int64}"));
/// assert!(is_deeper("Tuple{Tuple{Tuple{Int64}}, Int64}"));
/// ```
#[derive(Debug)]
pub struct TypeNesting {
    most: usize,
    /// How deep types are nested; `None` if that is more than `most`.
    known: RefCell<HashMap<Type, Option<usize>>>,
}

impl TypeNesting {
    /// Deeper than this is too deep: a type without parts is at 0.
    pub fn new(most: usize) -> Self {
        TypeNesting { most, known: RefCell::default() }
    }

    /// Whether a type is nested too deep. `parts` are the types that lie in it, the same whenever it is asked. Types
    /// that hold themselves are, unless `parts` leaves them out.
    pub fn is_deeper(&self, ty: &Type, parts: &dyn Fn(&Type) -> Vec<Type>) -> bool {
        self.height(ty, self.most, parts).is_none()
    }

    fn height(&self, ty: &Type, most: usize, parts: &dyn Fn(&Type) -> Vec<Type>) -> Option<usize> {
        if let Some(known) = self.known.borrow().get(ty) {
            return known.filter(|height| *height <= most);
        }
        let mut height = Some(0);
        for part in parts(ty) {
            let inside = most.checked_sub(1).and_then(|most| self.height(&part, most, parts));
            height = height.zip(inside).map(|(height, inside)| height.max(inside + 1));
            if height.is_none() {
                break;
            }
        }
        // That a type is deeper than what is left where it stands is not known of it elsewhere.
        if height.is_some() || most == self.most {
            self.known.borrow_mut().insert(ty.clone(), height);
        }
        height
    }
}
