//! A reader for pages as strict as one for XML: tags must nest, attributes must be quoted.

/// An element.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Node>,
}

/// An element or a text.
#[derive(Debug)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

impl Node {
    /// The element, if it is one.
    pub(crate) fn element(&self) -> Option<&Element> {
        match self {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        }
    }
}

impl Element {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Whether the class is among those of the element.
    pub(crate) fn has_class(&self, class: &str) -> bool {
        self.attribute("class").is_some_and(|classes| classes.split_whitespace().any(|other| other == class))
    }

    /// All texts inside.
    pub(crate) fn text(&self) -> String {
        let text = |child: &Node| match child {
            Node::Text(text) => text.clone(),
            Node::Element(element) => element.text(),
        };
        self.children.iter().map(text).collect()
    }

    /// Visits the element and all inside.
    pub(crate) fn each<'e>(&'e self, visit: &mut dyn FnMut(&'e Element)) {
        visit(self);
        for child in self.children.iter().filter_map(Node::element) {
            child.each(visit);
        }
    }

    /// The elements of this name.
    pub(crate) fn find_all(&self, name: &str) -> Vec<&Element> {
        let mut found = Vec::new();
        self.each(&mut |element| {
            if element.name == name {
                found.push(element);
            }
        });
        found
    }
}

/// Reads a page. The result is an element without a name around everything.
pub(crate) fn parse(page: &str) -> Result<Element, String> {
    let mut open = vec![Element::default()];
    let mut rest = page.trim_start();
    rest = match rest.get(..15) {
        Some(doctype) if doctype.eq_ignore_ascii_case("<!doctype html>") => &rest[15..],
        _ => return Err("it does not begin with its type".into()),
    };
    while !rest.is_empty() {
        let length = rest.find('<').unwrap_or(rest.len());
        if length > 0 {
            last(&mut open)?.children.push(Node::Text(unescaped(&rest[..length])?));
            rest = &rest[length..];
            continue;
        }
        let end = tag_end(rest).ok_or("a tag has no end")?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let element = open.pop().ok_or("nothing is open")?;
            if element.name != name {
                return Err(format!("</{name}> closes <{}>", element.name));
            }
            last(&mut open)?.children.push(Node::Element(element));
            continue;
        }
        let element = element(tag.trim_end_matches('/'))?;
        if tag.ends_with('/') || matches!(element.name.as_str(), "meta" | "input") {
            last(&mut open)?.children.push(Node::Element(element));
        } else if matches!(element.name.as_str(), "style" | "script") {
            // What is inside is no HTML.
            let close = format!("</{}>", element.name);
            let length = rest.find(&close).ok_or("a script has no end")?;
            last(&mut open)?.children.push(Node::Element(element));
            rest = &rest[length + close.len()..];
        } else {
            open.push(element);
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(root), true) => Ok(root),
        (last, _) => Err(format!("{last:?} is not closed").chars().take(200).collect()),
    }
}

fn last(open: &mut [Element]) -> Result<&mut Element, String> {
    open.last_mut().ok_or_else(|| "more is closed than is open".into())
}

/// Where the tag at the start of the text ends: at the first `>` that is in no quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(at)
    })
}

fn element(tag: &str) -> Result<Element, String> {
    let (name, mut rest) = tag.split_once(|c: char| c.is_whitespace()).unwrap_or((tag, ""));
    let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !plain(name) {
        return Err(format!("<{name}> is no tag"));
    }
    let mut element = Element { name: name.into(), ..Element::default() };
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(element);
        }
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let attribute = &rest[..end];
        if !plain(&attribute.replace("viewBox", "x")) {
            return Err(format!("{attribute} is no attribute"));
        }
        let value = match rest[end..].strip_prefix("=\"") {
            Some(value) => {
                let length = value.find('"').ok_or("a quote has no end")?;
                rest = &value[length + 1..];
                unescaped(&value[..length])?
            }
            None if rest[end..].starts_with('=') => return Err(format!("{attribute} is not quoted")),
            None => {
                rest = &rest[end..];
                String::new()
            }
        };
        element.attributes.push((attribute.into(), value));
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(';').ok_or("a bare &")? + at;
        out.push_str(match &rest[at..=end] {
            "&amp;" => "&",
            "&lt;" => "<",
            "&gt;" => ">",
            "&quot;" => "\"",
            "&#39;" => "'",
            "&nbsp;" => " ",
            other => return Err(format!("{other} is unknown")),
        });
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}
