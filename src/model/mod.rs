//! What a source is turned into: rows of the lake's tables, usage claims, session facts, and the ids that name them.
//!
//! Owned here: the vocabulary that adapters write and the lake reads. Left to others: where bytes come from
//! ([`crate::source`]), what they mean ([`crate::adapters`]), and how rows become files ([`crate::lake`]).

pub mod claim;
pub mod columns;
pub mod identity;
pub mod issue;
pub mod money;
pub mod rows;
pub mod session;
pub mod tables;
pub mod time;

pub use claim::{Claim, CopyReason, Counters, RequestKey, Standing};
pub use identity::{Identity, Record, SeenRecords};
pub use issue::IssueKind;
pub use rows::Rows;
pub use session::{SessionFacts, TitleRank};
