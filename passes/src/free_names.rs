//! Names that nothing has yet.

use hashbrown::HashMap;
use ircode::Name;

/// For each name that was wanted before, the number that the last one got: to find names for many that want the same in
/// one of these is linear.
#[derive(Debug, Default)]
pub(crate) struct FreeNames {
    numbers: HashMap<String, usize>,
}

impl FreeNames {
    /// The name itself, if it is free and was not wanted before; else the first of `name_2`, `name_3`, … of which that
    /// holds.
    pub(crate) fn find(&mut self, wanted: &str, is_taken: impl Fn(&str) -> bool) -> Name {
        let number = match self.numbers.get_mut(wanted) {
            Some(number) => number,
            None => self.numbers.entry(wanted.to_string()).or_insert(0),
        };
        loop {
            *number += 1;
            let name = if *number == 1 { wanted.to_string() } else { format!("{wanted}_{number}") };
            if !is_taken(&name) {
                return name.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FreeNames;

    #[test]
    fn a_name_is_given_once_and_never_if_it_is_taken() {
        let mut names = FreeNames::default();
        let mut find = |wanted| names.find(wanted, |name| name == "f_2").to_string();
        assert_eq!([find("f"), find("f"), find("g"), find("f")], ["f", "f_3", "g", "f_4"]);
    }
}
