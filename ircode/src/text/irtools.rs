//! Listings of IRTools, whose blocks take arguments, as listings of Julia's, which have φs in their place.

use std::borrow::Cow;
use std::fmt::Write;

use hashbrown::HashMap;

use super::balanced::{find_depth_0, split_depth_0};

/// The text with listings of IRTools — those of its packages, Mjolnir's among them — written as Julia's own. What
/// cannot be is left as it is: code that is not finished, and what the author left out.
///
/// Arguments of the first block are those of the function, with itself as `%1`; those of other blocks are φs, or φᶜs
/// where they are what a block catches. Branches of which the last one does not go to the next block get a block of
/// their own.
pub(super) fn as_listings(text: &str) -> Cow<'_, str> {
    if !["1: (%", "1:\n", "1:\r\n", "1: \n"].iter().any(|start| text.contains(start)) {
        return Cow::Borrowed(text);
    }
    let mut lines = text.split_inclusive('\n').peekable();
    let mut out = String::with_capacity(text.len());
    let mut found = false;
    while let Some(line) = lines.next() {
        if block_header(line.trim()).is_none_or(|header| header.number != 1) {
            out.push_str(line);
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let mut listing = vec![line];
        while let Some(next) = lines.next_if(|next| goes_on(next, indent)) {
            listing.push(next);
        }
        match Listing::of(&listing).and_then(|listing| listing.translated()) {
            Some(translated) => {
                out.push_str(&translated);
                found = true;
            }
            None => listing.iter().for_each(|line| out.push_str(line)),
        }
    }
    if found { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// Whether a line belongs to the listing above it: it starts another block, or stands farther to the right.
fn goes_on(line: &str, indent: usize) -> bool {
    let trimmed = line.trim();
    let own = line.len() - line.trim_start().len();
    own == indent && block_header(trimmed).is_some() || own > indent && !trimmed.is_empty()
}

/// Whether a line starts a block of such a listing.
pub(super) fn starts_block(line: &str) -> bool {
    block_header(line).is_some()
}

/// Whether a line starts the first block of such a listing, and says which arguments there are.
pub(super) fn starts_listing(line: &str) -> bool {
    block_header(line.trim()).is_some_and(|header| header.number == 1 && !header.parameters.is_empty())
}

/// Whether a line can be one of such a listing.
pub(super) fn is_part_of_listing(line: &str) -> bool {
    block_header(line.trim()).is_some() || Line::of(line.trim()).is_some()
}

/// `2: (%4, %5 :: Int64)`.
struct BlockHeader<'t> {
    number: usize,
    parameters: Vec<(&'t str, Option<&'t str>)>,
}

fn block_header(line: &str) -> Option<BlockHeader<'_>> {
    let (number, rest) = line.split_once(':')?;
    let digits = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    let number = number.parse().ok().filter(|_| digits)?;
    let parameters = match rest.trim() {
        "" => Vec::new(),
        rest => {
            let inside = rest.strip_prefix('(')?.strip_suffix(')')?;
            let parts = split_depth_0(inside, ',')?.into_iter().map(|part| typed(part.trim()));
            let parameters: Vec<_> = parts.filter(|(name, _)| !name.is_empty()).collect();
            parameters.iter().all(|(name, _)| value(name).is_some()).then_some(parameters)?
        }
    };
    Some(BlockHeader { number, parameters })
}

/// The digits of `%4`.
fn value(text: &str) -> Option<&str> {
    text.strip_prefix('%').filter(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()))
}

/// What stands before ` :: T`, and the type.
fn typed(text: &str) -> (&str, Option<&str>) {
    match find_depth_0(text, " :: ") {
        Some(colons) => (text.get(..colons).unwrap_or_default(), text.get(colons + " :: ".len()..).map(str::trim)),
        None => (text, None),
    }
}

fn spelled(ty: &str) -> String {
    match ty.strip_prefix("const(") {
        Some(constant) => format!("Core.Const({constant}"),
        None => ty.to_string(),
    }
}

/// A line in a block.
enum Line<'t> {
    /// What a value is.
    Statement {
        name: &'t str,
        text: &'t str,
        ty: Option<&'t str>,
    },
    /// `br 3 (%5) unless %6`.
    Branch {
        to: usize,
        arguments: Vec<&'t str>,
        unless: Option<&'t str>,
    },
    Return(&'t str),
    Unreachable,
    /// `%2 = try #3`: what throws goes there.
    Try {
        name: &'t str,
        catch: usize,
    },
    /// `catch 3 (%1, %2)`: what the block that catches finds in its arguments.
    Catch {
        to: usize,
        arguments: Vec<&'t str>,
    },
    EndTry,
    PopException(&'t str),
}

impl<'t> Line<'t> {
    fn of(line: &'t str) -> Option<Line<'t>> {
        if let Some(branch) = line.strip_prefix("br ") {
            let (target, unless) = match branch.rsplit_once(" unless ") {
                Some((target, unless)) => (target, Some(unless.trim())),
                None => (branch, None),
            };
            let (to, arguments) = target_of(target)?;
            return Some(Line::Branch { to, arguments, unless });
        }
        if line == "unreachable" {
            return Some(Line::Unreachable);
        }
        if let Some(value) = line.strip_prefix("return ") {
            return Some(Line::Return(value.trim()));
        }
        // Whatever else is done has a name, even if nothing asks for what it gives.
        let (name, text) = line.split_once(" = ").filter(|(name, _)| value(name).is_some())?;
        let text = text.trim();
        if let Some(catch) = text.strip_prefix("try #") {
            return Some(Line::Try { name, catch: catch.trim().parse().ok()? });
        }
        if let Some(target) = text.strip_prefix("catch ") {
            let (to, arguments) = target_of(target)?;
            return Some(Line::Catch { to, arguments });
        }
        if let Some(token) = text.strip_prefix("pop exception ") {
            return Some(Line::PopException(token.trim()));
        }
        let (plain, ty) = typed(text);
        Some(if text == "end try" { Line::EndTry } else { Line::Statement { name, text: plain, ty } })
    }
}

/// `3 (%5, 1)`.
fn target_of(text: &str) -> Option<(usize, Vec<&str>)> {
    let (number, arguments) = text.trim().split_once(' ').unwrap_or((text.trim(), "()"));
    let inside = arguments.trim().strip_prefix('(')?.strip_suffix(')')?;
    let arguments = split_depth_0(inside, ',')?.into_iter().map(str::trim).filter(|argument| !argument.is_empty());
    Some((number.parse().ok()?, arguments.collect()))
}

struct Block<'t> {
    parameters: Vec<(&'t str, Option<&'t str>)>,
    lines: Vec<Line<'t>>,
}

struct Listing<'t> {
    blocks: Vec<Block<'t>>,
}

/// A block of the listing that is made.
type Made<'t> = Vec<Statement<'t>>;

/// A statement of it.
enum Statement<'t> {
    /// An argument of a block of IRTools, by the block and its place there.
    Argument {
        name: &'t str,
        block: usize,
        place: usize,
        ty: Option<&'t str>,
    },
    /// What a block finds in an argument of it when it catches.
    Stored {
        block: usize,
        place: usize,
        text: &'t str,
    },
    Plain {
        name: &'t str,
        text: &'t str,
        ty: Option<&'t str>,
    },
    /// A jump to a block of IRTools.
    Goto {
        to: usize,
        unless: Option<&'t str>,
    },
    Return(&'t str),
    Unreachable,
    Enter {
        name: &'t str,
        catch: usize,
    },
    Leave,
    PopException(&'t str),
}

/// From where a block comes to one of IRTools, with which arguments.
struct Edge<'t> {
    from: usize,
    arguments: Vec<&'t str>,
}

impl<'t> Listing<'t> {
    fn of(lines: &[&'t str]) -> Option<Listing<'t>> {
        let mut blocks: Vec<Block<'t>> = Vec::new();
        for line in lines {
            let line = line.trim();
            if let Some(header) = block_header(line) {
                if header.number != blocks.len() + 1 {
                    return None;
                }
                blocks.push(Block { parameters: header.parameters, lines: Vec::new() });
            } else {
                blocks.last_mut()?.lines.push(Line::of(line)?);
            }
        }
        blocks.iter().all(|block| !block.lines.is_empty()).then_some(Listing { blocks })
    }

    fn translated(&self) -> Option<String> {
        Translation::of(self)?.text(self)
    }
}

struct Translation<'t> {
    made: Vec<Made<'t>>,
    /// The first block that is made of each block.
    first: Vec<usize>,
    /// By block.
    edges: Vec<Vec<Edge<'t>>>,
}

impl<'t> Translation<'t> {
    fn of(listing: &Listing<'t>) -> Option<Translation<'t>> {
        let count = listing.blocks.len();
        let edges = (0..count).map(|_| Vec::new()).collect();
        let mut this = Translation { made: Vec::new(), first: Vec::new(), edges };
        for (number, block) in listing.blocks.iter().enumerate() {
            this.first.push(this.made.len());
            let mut open = Made::new();
            if number > 0 {
                for (place, (name, ty)) in block.parameters.iter().enumerate() {
                    open.push(Statement::Argument { name, block: number, place, ty: *ty });
                }
            }
            this.block(number, block, open, count)?;
        }
        // The arguments of the first block are those of the function; to others as many are passed as they have.
        let known = |number: usize| listing.blocks.get(number).filter(|_| number > 0);
        let expected = |number: usize| known(number).map_or(0, |block| block.parameters.len());
        let mut edges = this.edges.iter().enumerate();
        edges.all(|(to, edges)| edges.iter().all(|edge| edge.arguments.len() == expected(to))).then_some(this)
    }

    /// Makes the blocks of one.
    fn block(&mut self, number: usize, block: &Block<'t>, mut open: Made<'t>, count: usize) -> Option<()> {
        let inside = |to: usize| to.checked_sub(1).filter(|to| *to < count);
        let mut ended = false;
        let mut lines = block.lines.iter().peekable();
        while let Some(line) = lines.next() {
            if ended {
                // Nothing comes here.
                return None;
            }
            let mut closes = false;
            match line {
                Line::Statement { name, text, ty } => {
                    open.push(Statement::Plain { name, text, ty: *ty });
                }
                Line::Catch { to, arguments } => {
                    let to = inside(*to)?;
                    let stored = arguments.iter().enumerate();
                    open.extend(stored.map(|(place, text)| Statement::Stored { block: to, place, text }));
                }
                Line::PopException(token) => open.push(Statement::PopException(token)),
                Line::Try { name, catch } => {
                    open.push(Statement::Enter { name, catch: inside(*catch)? });
                    closes = true;
                }
                Line::EndTry => {
                    open.push(Statement::Leave);
                    closes = true;
                }
                Line::Branch { to, arguments, unless: Some(unless) } => {
                    let to = inside(*to)?;
                    self.edges.get_mut(to)?.push(Edge { from: self.made.len(), arguments: arguments.clone() });
                    open.push(Statement::Goto { to, unless: Some(unless) });
                    // What it goes to otherwise is the next block.
                    let next = match lines.peek() {
                        Some(Line::Branch { to, arguments, unless: None }) => Some((*to, arguments.is_empty())),
                        None => Some((number + 2, true)),
                        Some(_) => None,
                    };
                    if next == Some((number + 2, true)) && to != number + 1 {
                        self.edges.get_mut(number + 1)?.push(Edge { from: self.made.len(), arguments: Vec::new() });
                        lines.next();
                        ended = true;
                    }
                    closes = true;
                }
                Line::Branch { to, arguments, unless: None } => {
                    let to = inside(*to)?;
                    self.edges.get_mut(to)?.push(Edge { from: self.made.len(), arguments: arguments.clone() });
                    open.push(Statement::Goto { to, unless: None });
                    (closes, ended) = (true, true);
                }
                Line::Return(value) => {
                    open.push(Statement::Return(value));
                    (closes, ended) = (true, true);
                }
                Line::Unreachable => {
                    open.push(Statement::Unreachable);
                    (closes, ended) = (true, true);
                }
            }
            if closes {
                self.made.push(std::mem::take(&mut open));
            }
        }
        if !ended {
            // It goes on with the next block.
            if number + 1 < count {
                self.edges.get_mut(number + 1)?.push(Edge { from: self.made.len(), arguments: Vec::new() });
                open.push(Statement::Goto { to: number + 1, unless: None });
            }
            if !open.is_empty() {
                self.made.push(open);
            }
        }
        Some(())
    }

    fn text(&self, listing: &Listing<'t>) -> Option<String> {
        let parameters = listing.blocks.first().map(|block| block.parameters.as_slice()).unwrap_or_default();
        let mut names: HashMap<&str, String> = HashMap::new();
        for (place, (name, _)) in parameters.iter().enumerate() {
            names.insert(value(name)?, format!("_{}", place + 1));
        }
        // By block and argument, what stores what the block finds there when it catches.
        let mut stored: HashMap<(usize, usize), Vec<String>> = HashMap::new();
        for (at, statement) in self.made.iter().flatten().enumerate() {
            let own = format!("%{}", at + 1);
            match statement {
                Statement::Argument { name, .. } | Statement::Plain { name, .. } | Statement::Enter { name, .. } => {
                    names.insert(value(name)?, own);
                }
                Statement::Stored { block, place, .. } => stored.entry((*block, *place)).or_default().push(own),
                _ => {}
            }
        }
        let mut out = String::new();
        if parameters.iter().any(|(_, ty)| ty.is_some()) {
            out.push_str("Arguments\n");
            for (place, (_, ty)) in parameters.iter().enumerate() {
                let ty = ty.map_or_else(|| "Any".to_string(), spelled);
                writeln!(out, "  #{}::{ty}", place + 1).ok()?;
            }
        }
        if out.is_empty() && parameters.len() > 1 {
            // Those that nothing uses are arguments, too.
            writeln!(out, "MethodInstance for _({})", vec!["_"; parameters.len() - 1].join(", ")).ok()?;
        }
        let mut number = 0;
        for (block, made) in self.made.iter().enumerate() {
            for (at, statement) in made.iter().enumerate() {
                number += 1;
                let margin = match at {
                    0 => format!("{} ─ ", block + 1),
                    _ if at + 1 == made.len() => "└── ".to_string(),
                    _ => "│   ".to_string(),
                };
                writeln!(out, "{margin}{}", self.statement(statement, number, &names, &stored)?).ok()?;
            }
        }
        Some(out)
    }

    fn statement(
        &self,
        statement: &Statement<'t>,
        number: usize,
        names: &HashMap<&str, String>,
        stored: &HashMap<(usize, usize), Vec<String>>,
    ) -> Option<String> {
        let target = |to: usize| self.first.get(to).map(|first| format!("#{}", first + 1));
        let with_type = |text: String, ty: &Option<&str>| match ty {
            Some(ty) => format!("{text}::{}", spelled(ty)),
            None => text,
        };
        Some(match statement {
            Statement::Argument { block, place, ty, .. } => {
                let edges = self.edges.get(*block)?;
                let text = match stored.get(&(*block, *place)) {
                    Some(values) if edges.is_empty() => format!("φᶜ ({})", values.join(", ")),
                    Some(_) => return None,
                    None => {
                        let entry = |edge: &Edge<'t>| {
                            Some(format!("#{} => {}", edge.from + 1, renamed(edge.arguments.get(*place)?, names)?))
                        };
                        format!("φ ({})", edges.iter().map(entry).collect::<Option<Vec<_>>>()?.join(", "))
                    }
                };
                format!("%{number} = {}", with_type(text, ty))
            }
            Statement::Stored { text, .. } => format!("%{number} = ϒ ({})", renamed(text, names)?),
            Statement::Plain { text, ty, .. } => {
                let text = renamed(text, names)?;
                // An operator is in parentheses before a type.
                let infix = ty.is_some() && find_depth_0(&text, " ").is_some();
                let text = if infix { format!("({text})") } else { text };
                format!("%{number} = {}", with_type(text, ty))
            }
            Statement::Goto { to, unless: None } => format!("goto {}", target(*to)?),
            Statement::Goto { to, unless: Some(unless) } => {
                format!("goto {} if not {}", target(*to)?, renamed(unless, names)?)
            }
            Statement::Return(value) => format!("return {}", renamed(value, names)?),
            Statement::Unreachable => "unreachable".to_string(),
            Statement::Enter { catch, .. } => format!("%{number} = $(Expr(:enter, {}))", target(*catch)?),
            Statement::Leave => "$(Expr(:leave, 1))".to_string(),
            Statement::PopException(token) => format!("$(Expr(:pop_exception, :({})))", renamed(token, names)?),
        })
    }
}

/// A text in which values have the names that they have in the listing; `None` if one has none there.
fn renamed(text: &str, names: &HashMap<&str, String>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        // What is escaped ends no string, and as a character a quote begins none.
        let plain = if quoted { ["\\\"", "\\\\"] } else { ["'\"'", "'%'"] };
        if let Some(plain) = plain.into_iter().find(|plain| rest.starts_with(plain)) {
            out.push_str(plain);
            rest = rest.get(plain.len()..)?;
            continue;
        }
        rest = rest.get(c.len_utf8()..)?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if c == '%' && digits > 0 && !quoted {
            out.push_str(names.get(rest.get(..digits)?)?);
            rest = rest.get(digits..)?;
            continue;
        }
        quoted ^= c == '"';
        out.push(c);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_with_arguments_are_blocks_with_phis() {
        let power = "1: (%1, %2, %3)\n  br 2 (%3, 1)\n2: (%4, %5)\n  %6 = %4 > 0\n  br 4 unless %6\n  br 3\n3:\n  %7 = %4 - 1\n  %8 = %5 * %2\n  br 2 (%7, %8)\n4:\n  return %5\n";
        let listing = "MethodInstance for _(_, _)\n1 ─ goto #2\n2 ─ %2 = φ (#1 => _3, #3 => %6)\n│   %3 = φ (#1 => 1, #3 => %7)\n│   %4 = %2 > 0\n└── goto #4 if not %4\n3 ─ %6 = %2 - 1\n│   %7 = %3 * _2\n└── goto #2\n4 ─ return %3\n";
        assert_eq!(as_listings(power), listing);
        // A branch whose both ways lead on with arguments gets a block of its own.
        let both = "1: (%1, %2)\n  %3 = %2 < 0\n  br 2 (1) unless %3\n  br 2 (%2)\n2: (%4)\n  return %4\n";
        let listing = "MethodInstance for _(_)\n1 ─ %1 = _2 < 0\n└── goto #3 if not %1\n2 ─ goto #3\n3 ─ %4 = φ (#1 => 1, #2 => _2)\n└── return %4\n";
        assert_eq!(as_listings(both), listing);
    }

    #[test]
    fn arguments_that_nothing_uses_are_arguments() {
        let function = crate::parse_function("1: (%1, %2, %3, %4)\n  %5 = %2 + 1\n  return %5\n").unwrap();
        assert_eq!(function.body.argtypes, vec![crate::Type::Untyped; 4]);
    }

    #[test]
    fn other_ends_of_lines_are_as_good() {
        let plain = "1:\n  %1 = Main.f()\n  return %1\n";
        let listing = as_listings(plain);
        assert!(listing.starts_with("1 ─ %1 = Main.f()\n"), "{listing}");
        for text in [plain.replace('\n', "\r\n"), plain.replace("1:\n", "1: \n")] {
            assert_eq!(as_listings(&text), listing);
        }
    }

    #[test]
    fn what_is_not_finished_is_left() {
        for text in [
            "1: (%1)\n",
            "1: (%1)\n  br 2\n2: ...\n",
            "1: (%1)\n  br 3\n2:\n  return 1\n",
            // A value that is nowhere, an argument too few, a way back to the arguments of the function.
            "1: (%1)\n  %2 = %1 + %7\n  return %2\n",
            "1: (%1)\n  br 2\n2: (%2)\n  return %2\n",
            "1: (%1)\n  br 1 (%1)\n",
            "a dictionary:\n1: one\n",
            "1:\n   what else is counted\n",
        ] {
            assert_eq!(as_listings(text), text);
        }
    }
    #[test]
    fn what_strings_hold_is_no_value() {
        let text = "1: (%1, %2)\n  %4 = Main.f(\"%2\\\"%2\", '\"', %2)\n  return %4\n";
        assert_eq!(
            as_listings(text),
            "MethodInstance for _(_)\n1 ─ %1 = Main.f(\"%2\\\"%2\", '\"', _2)\n└── return %1\n"
        );
    }
}
