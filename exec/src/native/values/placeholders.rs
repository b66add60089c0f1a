//! What stands where there is no value: zeros, and in the place of arrays one without elements.
//!
//! What is read of the headers of arrays that are never resized may be read anywhere (Cranelift moves such reads out of
//! loops), also before it is asked whether there is an array: so each such address must be one that can be read.

use std::sync::Arc;

use cranelift_codegen::ir::types as clif;
use cranelift_codegen::ir::{self, InstBuilder};

use crate::native::function::FunctionCompiler;
use crate::native::layout::{Layout, Parts, Shape};

const WORDS: usize = 512;

/// An array without elements, of any number of dimensions that a header has room for here.
#[repr(C, align(64))]
struct NoArray {
    data: &'static [u64; WORDS],
    zeros: [u64; WORDS],
}

static NO_ARRAY: NoArray = NoArray { data: &[0; WORDS], zeros: [0; WORDS] };

/// For each part of a value, whether it is the address of an array's header.
fn headers(layout: &Layout) -> Parts<bool> {
    match &layout.shape {
        Shape::Array(..) if !layout.is_boxed() => layout.parts.iter().map(|_| true).collect(),
        Shape::Fields(fields) => {
            let found: Parts<bool> = fields.iter().flat_map(|field| headers(field)).collect();
            // What has many fields is a pointer to them.
            if found.len() == layout.parts.len() { found } else { layout.parts.iter().map(|_| false).collect() }
        }
        _ => layout.parts.iter().map(|_| false).collect(),
    }
}

impl FunctionCompiler<'_, '_> {
    /// The address of an array without elements.
    fn no_array(&mut self) -> ir::Value {
        debug_assert!(NO_ARRAY.data.iter().chain(&NO_ARRAY.zeros).all(|word| *word == 0));
        self.builder.ins().iconst(clif::I64, (&raw const NO_ARRAY) as i64)
    }

    /// What stands in the place of a value that is not there.
    pub(crate) fn placeholder(&mut self, layout: &Arc<Layout>) -> Parts<ir::Value> {
        let parts = layout.parts.iter().zip(headers(layout));
        parts.map(|(part, is_header)| if is_header { self.no_array() } else { self.zero(*part) }).collect()
    }

    /// The parts of a value where it is one of this layout, and in the place of arrays one without elements where it is
    /// not.
    pub(crate) fn readable(
        &mut self,
        layout: &Layout,
        parts: Parts<ir::Value>,
        is_there: ir::Value,
    ) -> Parts<ir::Value> {
        let parts = parts.into_iter().zip(headers(layout));
        let readable = parts.map(|(part, is_header)| match is_header {
            true => {
                let otherwise = self.no_array();
                self.builder.ins().select(is_there, part, otherwise)
            }
            false => part,
        });
        readable.collect()
    }
}
