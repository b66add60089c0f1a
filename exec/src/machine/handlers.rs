//! Finding who handles an exception, and what is stored for that.

use super::{Fault, Handler, Run};
use crate::value::Value;

impl Run<'_, '_> {
    /// Whether somebody handles an exception that is thrown now.
    pub(super) fn has_handler(&self) -> bool {
        // From the innermost, where a handler is looked for.
        self.frames.iter().rev().any(|frame| frame.handlers.iter().any(|handler| handler.catch.is_some()))
    }

    /// Finds the innermost handler, and goes there. False if there is none.
    pub(super) fn unwind(&mut self, exception: &Value) -> Result<bool, Fault> {
        while let Some(frame) = self.frames.last_mut() {
            while let Some(handler) = frame.handlers.pop() {
                let Some(catch) = handler.catch else { continue };
                frame.mapping = None;
                self.exceptions.truncate(handler.exceptions);
                self.exceptions.push(exception.clone());
                if handler.old_style {
                    frame.handlers.push(Handler { catch: None, ..handler });
                }
                let (code, base) = (frame.code.clone(), frame.base);
                let statement = self.jump(&code, base, catch)?;
                self.set_statement(statement);
                return Ok(true);
            }
            self.pop_frame();
        }
        Ok(false)
    }

    /// The value of a φᶜ: of these registers of ϒ statements, what was stored last.
    pub(super) fn latest_stored(&self, base: usize, stores: &[u32]) -> Value {
        let stored = self.frames.last().map(|frame| frame.stores.as_slice()).unwrap_or_default();
        let when = |register: u32| stored.get(register as usize).copied().filter(|&when| when > 0);
        match stores.iter().filter_map(|&register| Some((when(register)?, register))).max() {
            Some((_, register)) => self.registers[base + register as usize].clone(),
            None => Value::Undefined,
        }
    }

    /// Notes that the ϒ statement of this register is executed now.
    pub(super) fn note_stored(&mut self, register: usize) {
        let when = self.machine.steps + 1;
        let Some(frame) = self.frames.last_mut() else { return };
        let missing = (register + 1).saturating_sub(frame.stores.len());
        frame.stores.extend(std::iter::repeat_n(0, missing));
        if let Some(store) = frame.stores.get_mut(register) {
            *store = when;
        }
    }
}
