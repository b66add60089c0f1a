//! Two listings of one function side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::listing::{Listing, Manner, Row};
use crate::diff::align::increasing;

/// The rows of both listings in the order in which they are drawn: in one line what is the same statement.
pub(crate) struct Aligned {
    /// Which row of the one and of the other listing stand in a line.
    pub(crate) lines: Vec<(Option<usize>, Option<usize>)>,
}

/// Puts two listings side by side. Statements keep their names, so that the same name is the same statement, however
/// the text has changed. Where statements have changed places, a longest sequence of those that have not is found by
/// Schensted's method, in n log n; the others stand alone.
pub(crate) fn align(before: &Listing, after: &Listing) -> Aligned {
    let places: BTreeMap<&str, usize> = after.rows.iter().enumerate().map(|(at, row)| (row.key.as_str(), at)).collect();
    let pairs: Vec<(usize, usize)> =
        before.rows.iter().enumerate().filter_map(|(at, row)| Some((at, *places.get(row.key.as_str())?))).collect();
    let mut lines = Vec::with_capacity(before.rows.len().max(after.rows.len()));
    let (mut left, mut right) = (0, 0);
    for (next_left, next_right) in increasing(&pairs) {
        between(&mut lines, left..next_left, right..next_right);
        lines.push((Some(next_left), Some(next_right)));
        (left, right) = (next_left + 1, next_right + 1);
    }
    between(&mut lines, left..before.rows.len(), right..after.rows.len());
    Aligned { lines }
}

/// What stands between two lines that have both sides. What was removed and what was added share lines.
fn between(
    lines: &mut Vec<(Option<usize>, Option<usize>)>,
    left: std::ops::Range<usize>,
    right: std::ops::Range<usize>,
) {
    let count = left.len().max(right.len());
    let pick = |range: &std::ops::Range<usize>, i: usize| (i < range.len()).then(|| range.start + i);
    lines.extend((0..count).map(|i| (pick(&left, i), pick(&right, i))));
}

/// Both listings as the contents of two columns.
pub(crate) fn write(before: &Listing, after: &Listing, manner: Manner<'_>) -> (String, String) {
    let aligned = align(before, after);
    let names = |listing: &Listing| -> BTreeMap<String, usize> {
        listing.rows.iter().enumerate().map(|(at, row)| (row.key.clone(), at)).collect()
    };
    let blocks = |listing: &Listing| -> BTreeSet<String> { listing.rows.iter().map(|row| row.block.clone()).collect() };
    let (in_before, in_after) = (names(before), names(after));
    let (blocks_before, blocks_after) = (blocks(before), blocks(after));
    let (mut left, mut right) = (String::new(), String::new());
    before.write_header(&mut left, manner);
    after.write_header(&mut right, manner);
    for (old, new) in aligned.lines {
        let (old, new) = (old.and_then(|at| before.rows.get(at)), new.and_then(|at| after.rows.get(at)));
        side(&mut left, old, new, (&in_after, after), &blocks_after, " gone", manner);
        side(&mut right, new, old, (&in_before, before), &blocks_before, " added", manner);
    }
    before.write_end(&mut left);
    after.write_end(&mut right);
    (left, right)
}

/// Writes a row of one side, `alone` being the class of what the other side does not have.
fn side(
    out: &mut String,
    row: Option<&Row>,
    beside: Option<&Row>,
    (places, others): (&BTreeMap<String, usize>, &Listing),
    blocks: &BTreeSet<String>,
    alone: &str,
    manner: Manner<'_>,
) {
    let Some(row) = row else {
        out.push_str("<div class=\"row gap\"></div>\n");
        return;
    };
    let other = places.get(&row.key).and_then(|&at| others.rows.get(at));
    let class = match other {
        None => alone,
        Some(other) if !row.says_the_same(other) => " changed",
        Some(other) if beside.is_none_or(|beside| beside.key != other.key) => " moved",
        Some(_) => "",
    };
    let block_class = if row.first && !blocks.contains(&row.block) { alone } else { "" };
    row.write(out, manner, class, block_class);
}
