//! Reading files that may be damaged: the Parquet reader panics on some of them, and a repair must survive them all.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use super::Result;

thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read`, and makes a panic in it an error that is told like any other. It must leave nothing half done.
///
/// # Errors
/// What `read` returns, or that it panicked.
pub fn read<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let told_before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_READING.get() {
                told_before(panic);
            }
        }));
    });
    let was_reading = IS_READING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_READING.set(was_reading);
    result.unwrap_or_else(|_| Err(parquet::errors::ParquetError::General("its pages make no sense".to_owned()).into()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_is_an_error() {
        let result: crate::lake::Result<()> = super::read(|| panic!("the reader met a page that it does not expect"));
        assert!(result.unwrap_err().to_string().contains("no sense"));
        assert_eq!(super::read(|| Ok(7)).unwrap(), 7);
    }
}
