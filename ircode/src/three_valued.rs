//! Questions that may stay open: `None` is an answer that is not known (the strong three-valued logic of Kleene).

/// Whether all answers are yes. One no decides, whatever is not known.
///
/// ```
/// use ircode::three_valued::all;
///
/// assert_eq!(all([Some(true), None, Some(false)]), Some(false));
/// assert_eq!(all([Some(true), None]), None);
/// assert_eq!(all([]), Some(true));
/// ```
pub fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    decided_by(false, answers)
}

/// Whether one answer is yes. One yes decides, whatever is not known.
///
/// ```
/// use ircode::three_valued::any;
///
/// assert_eq!(any([Some(false), None, Some(true)]), Some(true));
/// assert_eq!(any([Some(false), None]), None);
/// assert_eq!(any([]), Some(false));
/// ```
pub fn any(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    decided_by(true, answers)
}

/// What decides if it is among the answers; the opposite if all are known and none is that.
fn decided_by(deciding: bool, answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_open = false;
    for answer in answers {
        match answer {
            Some(answer) if answer == deciding => return Some(deciding),
            Some(_) => {}
            None => is_open = true,
        }
    }
    (!is_open).then_some(!deciding)
}
