//! The frame of a page: a list to pick from, and the section of what is picked.

use std::fmt::Write;

use super::escape::escaped;
use super::listing::{Listing, Manner};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page being put together.
pub(crate) struct Page {
    title: String,
    about: String,
    items: String,
    sections: String,
    count: usize,
}

/// An entry of the list at the left.
#[derive(Default)]
pub(crate) struct Item<'a> {
    pub(crate) name: &'a str,
    /// A second line, smaller.
    pub(crate) detail: &'a str,
    /// A class of the style sheet.
    pub(crate) class: &'a str,
}

impl Page {
    /// A page with this title, a line about it, and a name for what the list holds.
    pub(crate) fn new(title: &str, about: &str) -> Page {
        Page { title: title.into(), about: about.into(), items: String::new(), sections: String::new(), count: 0 }
    }

    /// Adds a section, with its entry in the list. `content` is HTML.
    pub(crate) fn add(&mut self, item: &Item<'_>, heading: &str, facts: &str, content: &str) {
        let id = self.count;
        self.count += 1;
        let _ = writeln!(
            self.items,
            "<li><a href=\"#s{id}\" class=\"item {}\"><span>{}</span><small>{}</small></a></li>",
            item.class,
            escaped(item.name),
            escaped(item.detail),
        );
        let _ = writeln!(
            self.sections,
            "<section id=\"s{id}\">\n<header><h2>{}</h2><p class=\"facts\">{}</p></header>\n{content}</section>",
            escaped(heading),
            escaped(facts),
        );
    }

    /// The whole page.
    pub(crate) fn finish(self) -> String {
        let Page { title, about, items, sections, .. } = self;
        let title = escaped(&title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
             <body>\n<nav>\n<header><h1>{title}</h1><p>{about}</p></header>\n<input type=\"search\" \
             placeholder=\"filter\" aria-label=\"filter the list\" hidden>\n<ol>\n{items}</ol>\n<footer><kbd>j</kbd> \
             <kbd>k</kbd> next, previous · click pins a highlight · <kbd>↑</kbd> <kbd>↓</kbd> move it · <kbd>Esc</kbd> \
             lets go</footer>\n</nav>\n<main>\n{sections}</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            about = escaped(&about),
        )
    }
}

/// A panel with a listing.
pub(crate) struct Panel {
    html: String,
    /// How many characters wide it is.
    width: usize,
}

/// Listings beside each other, and a drawing, which is HTML: beside them or below, as there is room.
pub(crate) fn panels(listings: &[Panel], drawing: &str) -> String {
    let width: usize = listings.iter().map(|panel| panel.width).sum();
    let count = listings.len();
    let listings: String = listings.iter().map(|panel| panel.html.as_str()).collect();
    format!(
        "<div class=\"panels\">\n<div class=\"listings\" style=\"--w:{width};--n:{count}\">\n{listings}</div>\n\
         {drawing}</div>\n"
    )
}

/// A panel with a listing.
pub(crate) fn listing_panel(title: &str, about: &str, listing: &Listing, manner: Manner<'_>) -> Panel {
    let mut rows = String::new();
    listing.write(&mut rows, manner);
    rows_panel(title, about, &rows, listing.width(), manner.primal.is_some())
}

/// A panel with the rows of a listing, which are HTML, of so many characters at most. `origins` makes room for a column
/// of the statements from which these were made.
pub(crate) fn rows_panel(title: &str, about: &str, rows: &str, width: usize, origins: bool) -> Panel {
    let class = if origins { " origins" } else { "" };
    let width = width + if origins { 6 } else { 0 };
    let html = format!(
        "<figure class=\"panel\" style=\"--w:{width}\"><figcaption>{}<small>{}</small></figcaption>\n<div \
         class=\"listing{class}\" tabindex=\"0\"><div class=\"rows\">\n{rows}</div></div></figure>\n",
        escaped(title),
        escaped(about),
    );
    Panel { html, width }
}

/// A panel with a drawing, which is HTML.
pub(crate) fn graph_panel(title: &str, svg: &str) -> String {
    // The panel is as wide as the drawing, if there is room.
    let width = svg.split_once("width=\"").and_then(|(_, rest)| rest.split_once('"')).map_or("300", |(width, _)| width);
    format!(
        "<figure class=\"panel drawing\" style=\"--d:{width}\"><figcaption>{}<span class=\"zoom\"><button type=\"button\" \
         data-zoom=\"out\" aria-label=\"smaller\">−</button><button type=\"button\" data-zoom=\"fit\">fit</button><button \
         type=\"button\" data-zoom=\"in\" aria-label=\"larger\">+</button></span></figcaption>\n<div \
         class=\"canvas\">\n{svg}</div></figure>\n",
        escaped(title),
    )
}

/// How a function is called in a page: a listing without header has no name.
pub(crate) fn shown_name(name: &str) -> &str {
    if name.is_empty() { "listing" } else { name }
}
