//! bbcode
