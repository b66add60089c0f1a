//! Names, types and globals that occur again and again in a file are held once.
//!
//! While a reader reads a function, what it has met is looked up here instead of being made anew. That changes nothing
//! that can be seen, as these are values: it saves memory, and time wherever code is copied.

use std::cell::RefCell;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::name::Name;
use crate::operand::GlobalRef;
use crate::stmt::MethodInstance;
use crate::types::Type;

/// More entries than this of a kind are forgotten, so that memory is bounded.
const MOST: usize = 1 << 15;

/// What a reader has met.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    names: HashSet<Name>,
    types: HashMap<Name, Type>,
    globals: HashSet<Arc<GlobalRef>>,
    instances: HashSet<Arc<MethodInstance>>,
}

thread_local! {
    /// What the reader that is at work on this thread has met.
    static CURRENT: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Calls `read` while what it reads is shared with what was met before.
pub(crate) fn with_sharing<T>(shared: &mut Shared, read: impl FnOnce() -> T) -> T {
    let outer = CURRENT.replace(Some(std::mem::take(shared)));
    let result = read();
    if let Some(met) = CURRENT.replace(outer) {
        *shared = met;
    }
    result
}

/// Looks `key` up where something is being read, and makes and keeps it where it was not met.
fn shared<T>(find: impl FnOnce(&mut Shared) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|current| current.as_mut().map(find))
}

/// The name of this text.
pub(crate) fn name(text: &str) -> Name {
    let find = |shared: &mut Shared| match shared.names.get(text) {
        Some(name) => name.clone(),
        None => {
            let name = Name::from(text);
            if shared.names.len() >= MOST {
                shared.names.clear();
            }
            shared.names.insert(name.clone());
            name
        }
    };
    shared(find).unwrap_or_else(|| Name::from(text))
}

/// The type of this text, if it was met.
pub(crate) fn known_type(text: &str) -> Option<Type> {
    shared(|shared| shared.types.get(text).cloned())?
}

/// The type that a text spells.
pub(crate) fn parse_type(text: &str) -> Type {
    if let Some(ty) = known_type(text) {
        return ty;
    }
    let ty = Type::parse(text);
    let _ = shared(|shared| {
        if shared.types.len() >= MOST {
            shared.types.clear();
        }
        shared.types.insert(text.into(), ty.clone());
    });
    ty
}

/// The one of these that is held already.
pub(crate) fn global(global: GlobalRef) -> Arc<GlobalRef> {
    let mut global = Arc::new(global);
    let _ = shared(|shared| {
        if shared.globals.len() >= MOST {
            shared.globals.clear();
        }
        global = shared.globals.get_or_insert_with(&global, Arc::clone).clone();
    });
    global
}

/// The one of these that is held already.
pub(crate) fn instance(instance: MethodInstance) -> Arc<MethodInstance> {
    let mut instance = Arc::new(instance);
    let _ = shared(|shared| {
        if shared.instances.len() >= MOST {
            shared.instances.clear();
        }
        instance = shared.instances.get_or_insert_with(&instance, Arc::clone).clone();
    });
    instance
}
