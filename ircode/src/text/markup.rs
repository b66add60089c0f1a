//! What pages of HTML have in the place of characters, and what logs have in the place of escape sequences.

/// The text without the tags around code and with the characters that its entities stand for; `None` if it is no HTML.
pub(super) fn without_markup(text: &str) -> Option<String> {
    // Strings of a program may have any of this: where it is HTML, characters that every listing has are entities.
    let values_are_entities =
        || !text.split('%').skip(1).any(|behind| behind.starts_with(|c: char| c.is_ascii_digit()));
    let is_html = text.contains("&#37;") && values_are_entities()
        || text.contains("=&gt;") && !text.contains("=>")
        || text.contains("<span class=\"")
        || text.contains("<pre") && text.lines().any(|line| line.trim_start().starts_with("<pre"));
    if !is_html {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<']) {
        let (before, special) = rest.split_at(at);
        out.push_str(before);
        rest = special;
        if let Some(length) = tag_length(rest) {
            rest = rest.get(length..).unwrap_or_default();
        } else if let Some((c, length)) = entity(rest) {
            out.push(c);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            let (sign, behind) = rest.split_at(1);
            out.push_str(sign);
            rest = behind;
        }
    }
    out.push_str(rest);
    Some(out)
}

/// How long a tag or an entity is, at most. It bounds the time for text that only looks like one.
const LONGEST: usize = 200;

/// How long the tag is that starts here, if it is one that stands around code.
fn tag_length(text: &str) -> Option<usize> {
    let name = text.strip_prefix("</").or_else(|| text.strip_prefix('<'))?;
    let behind = ["span", "pre", "code", "div", "br"].iter().find_map(|tag| name.strip_prefix(tag))?;
    let end = behind.bytes().take(LONGEST).position(|byte| byte == b'>')?;
    if !behind.starts_with(['>', ' ', '/']) {
        return None;
    }
    Some(text.len() - behind.len() + end + 1)
}

/// The character that an entity stands for which starts here, and how long that is.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let c = match text.get(1..end)? {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(number) => u32::from_str_radix(number, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((c, end + 1))
}

/// The text without the colours of a terminal whose escape character was lost, `[90m1 ─[39m`, or is spelled, `\e[90m`;
/// `None` if there are none.
pub(super) fn without_colours(text: &str) -> Option<String> {
    const SPELLED: [&str; 7] = ["\\e", "\\033", "\\x1b", "\\u001b", "^[", "^", "␛"];
    // Where only a string has them they are a part of it.
    let in_colour = |line: &str| {
        let line = line.trim_start();
        let sequence = SPELLED.iter().find_map(|escape| line.strip_prefix(escape)).unwrap_or(line);
        let is_parameter = |c: char| c.is_ascii_digit() || c == ';';
        let parameters = sequence.strip_prefix('[').map(|rest| rest.trim_start_matches(is_parameter));
        parameters.is_some_and(|end| end.len() + 1 < sequence.len() && end.starts_with('m'))
    };
    if !text.contains('m') || !text.lines().any(in_colour) {
        return None;
    }
    let text = text.replace("^[[", "^[");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('[') {
        let (before, sequence) = rest.split_at(at);
        let parameters = sequence.get(1..).unwrap_or_default();
        let length = parameters.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        let end = parameters.get(length..).unwrap_or_default();
        let plain = SPELLED.iter().find_map(|escape| before.strip_suffix(escape)).unwrap_or(before);
        // Moves stand behind a colour, before what is written elsewhere, and before that where the line goes on.
        let is_move = || match end.strip_prefix('G') {
            Some(behind) => behind.starts_with(['[', '\\', '^', '␛']) || behind.starts_with('│') && plain.is_empty(),
            None => false,
        };
        if length > 0 && (end.starts_with('m') || is_move()) {
            out.push_str(plain);
            rest = parameters.get(length + 1..).unwrap_or_default();
        } else {
            out.push_str(before);
            out.push('[');
            rest = parameters;
        }
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use crate::text::clean;

    const PLAIN: &str = "1 ─ %1 = Base.add_int(_2, 1)::Union{Int64, Vector{<:Real}}\n└──      return %1\n";

    #[test]
    fn entities_and_tags_of_a_page_are_what_they_stand_for() {
        let entities = "1 ─ &#37;1 &#61; Base.add_int&#40;_2&#44; 1&#x29;::Union&#123;Int64, Vector&#123;&lt;:Real&#125;&#125;\n└──      return &#37;1\n";
        assert_eq!(clean(entities), PLAIN);
        let tags = "<pre class=\"code\">1 ─ %1 = Base.add_int(_2, 1)<span class=\"t\">::Union{Int64, Vector{&lt;:Real}}</span>\n└──      return %1\n</pre>";
        assert_eq!(clean(tags), PLAIN);
        // In strings it stays.
        for text in ["(\"&lt;\", \"<pre>\", \"=&gt;\", φ (#1 => %1))", "(\"&#37;\", %1)", "(\"</span>\")"] {
            let text = format!("1 ─ %1 = Main.f{text}::Any\n└──      return %1\n");
            assert_eq!(clean(&text), text);
        }
    }

    #[test]
    fn colours_go_whose_escape_character_is_lost_or_spelled() {
        for escape in ["", "^[", "\\e", "\\033", "\\x1b"] {
            let text = PLAIN.replace("1 ─", &format!("{escape}[90m1 ─{escape}[39m"));
            assert_eq!(clean(&text.replace("::Union", &format!("{escape}[36;1m::Union"))), PLAIN, "{text}");
            // Moves, between which stands what is at the right.
            let moved = text.replace("1 ─", &format!("{escape}[90m{escape}[40G│╻ +{escape}[1G{escape}[39m1 ─"));
            let read = crate::parse_function(&moved).unwrap_or_else(|error| panic!("{error}\n{moved}"));
            assert_eq!(read, crate::parse_function(PLAIN).unwrap());
        }
        let text = "1 ─ %1 = Main.f([0, 1], \"\\e[90m\", \"\\e[39m\", \"[0m\")::Any\n";
        assert_eq!(clean(text), text);
        let text = "[90m1 ─[39m %1 = Main.f(\"[40G│\")::Any\n";
        assert_eq!(clean(text), "1 ─ %1 = Main.f(\"[40G│\")::Any\n");
    }
}
