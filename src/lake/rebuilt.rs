//! Entries of the ledger that `repair` made anew from the rows of `usage`.
//!
//! Rows tell what a request adds up to, but not what the record that stands is worth against others ([`Standing`]), since
//! that is the provider's rule and no column. It is learned again when the sources are read again: a claim whose record
//! the lake has was settled before, so it raises the standing and never the counters. Two kinds of entries are told apart
//! by their class, which is shifted below zero:
//!
//! - *whole*: all revisions are there. What the lake has stands. A claim that the lake has not improves it if it is worth
//!   more than every known claim; while none is known, if it has more output.
//! - *torn*: a revision is missing with a lost part. The best claim read again stands, and the rows are brought to it.
//!
//! An entry keeps its kind, because its claims may come in several waves and runs.

use super::ledger::Entry;
use crate::model::{Claim, Counters, Standing};

const WHOLE: i64 = -20;
const TORN: i64 = -10;
/// No claim was seen since the entry was made.
const UNSEEN: Standing = Standing { class: -1, rank: [i64::MIN; 3] };

/// How an entry came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Settled,
    Whole,
    Torn,
}

/// The standing of an entry made from rows: are all revisions of the request there?
#[must_use]
pub fn standing(is_whole: bool) -> Standing {
    shifted(UNSEEN, if is_whole { WHOLE } else { TORN })
}

/// What an entry is worth as a claim in another lake. Where nobody knows, any record that was read is worth more.
#[must_use]
pub fn claimed(entry: &Entry) -> Standing {
    let shift = match origin(entry) {
        Origin::Settled => return entry.standing,
        Origin::Whole => WHOLE,
        Origin::Torn => TORN,
    };
    let seen = shifted(entry.standing, shift.saturating_neg());
    if seen == UNSEEN { Standing { class: 1, ..UNSEEN } } else { seen }
}

/// Whether an entry was made from rows.
#[must_use]
pub fn is_rebuilt(entry: &Entry) -> bool {
    origin(entry) != Origin::Settled
}

/// Whether an entry made from rows has all its revisions.
#[must_use]
pub fn is_whole(entry: &Entry) -> bool {
    origin(entry) == Origin::Whole
}

fn origin(entry: &Entry) -> Origin {
    match entry.standing.class {
        0.. => Origin::Settled,
        class if class >= TORN - 1 => Origin::Torn,
        _ => Origin::Whole,
    }
}

fn shifted(standing: Standing, by: i64) -> Standing {
    Standing { class: standing.class.saturating_add(by), ..standing }
}

/// The entry as settling compares it with claims, of which each says whether the lake has its record.
#[must_use]
pub fn weigh<'a>(entry: &Entry, claims: impl Iterator<Item = (&'a Claim, bool)> + Clone) -> Entry {
    let origin = origin(entry);
    let shift = match origin {
        Origin::Settled => return entry.clone(),
        Origin::Whole => WHOLE,
        Origin::Torn => TORN,
    };
    let mut weighed = Entry { standing: shifted(entry.standing, shift.saturating_neg()), ..entry.clone() };
    let counting = claims.filter(|(claim, _)| claim.never.is_none());
    let Some(best) = counting.clone().map(|(claim, _)| claim).max_by_key(|claim| claim.standing) else {
        return weighed;
    };
    if origin == Origin::Torn {
        if best.standing > weighed.standing && adds_nothing(best, entry) {
            weighed.standing = best.standing;
        } else if weighed.standing == UNSEEN {
            // Below every claim of the class, so that the difference is a growth and no reversal.
            weighed.standing.class = best.standing.class;
        }
        return weighed;
    }
    // A record that stands in two sources of a wave counts as known the second time, though the lake does not have it.
    let is_new = |standing: Standing| counting.clone().any(|(claim, known)| !known && claim.standing == standing);
    let known = counting.clone().filter(|(claim, known)| *known && !is_new(claim.standing));
    if let Some(seen) = known.map(|(claim, _)| claim.standing).max() {
        weighed.standing = weighed.standing.max(seen);
    }
    if weighed.standing == UNSEEN {
        let grows = best.counters.output.unwrap_or(0) > entry.counters.output.unwrap_or(0);
        weighed.standing = if grows { Standing { class: best.standing.class, ..UNSEEN } } else { best.standing };
    }
    weighed
}

/// What is kept of a weighed entry: `before` is the entry as it stood, `stands` tells whether a claim improved it.
/// `None` if nothing was learned.
#[must_use]
pub fn remember(before: &Entry, after: &Entry, stands: bool) -> Option<Entry> {
    let shift = match origin(before) {
        Origin::Settled => return stands.then(|| after.clone()),
        Origin::Whole => WHOLE,
        Origin::Torn => TORN,
    };
    let kept = Entry { standing: shifted(after.standing, shift), ..after.clone() };
    (stands || kept != *before).then_some(kept)
}

fn adds_nothing(claim: &Claim, entry: &Entry) -> bool {
    let zero = |counters: Counters| counters.to_array().map(|count| count.unwrap_or(0));
    claim.variant == entry.variant && zero(claim.counters) == zero(entry.counters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lake::ledger::Origin as Credit;
    use crate::model::RequestKey;

    fn claim(output: i64) -> Claim {
        Claim {
            request: RequestKey(1),
            standing: Standing { class: 1, rank: [output, 0, 0] },
            counters: Counters { output: Some(output), ..Counters::default() },
            variant: 0,
            guard: None,
            never: None,
        }
    }

    fn entry(output: i64, is_whole: bool) -> Entry {
        Entry {
            request: RequestKey(1),
            rev: 0,
            standing: standing(is_whole),
            counters: claim(output).counters,
            variant: 0,
            guard: None,
            first_ts: 0,
            last_ts: 0,
            origin: Credit::default(),
        }
    }

    fn stands(entry: &Entry, claims: &[(Claim, bool)]) -> bool {
        let weighed = weigh(entry, claims.iter().map(|(claim, known)| (claim, *known)));
        claims.iter().map(|(claim, _)| claim.standing).max().unwrap() > weighed.standing
    }

    #[test]
    fn what_the_lake_has_never_improves_a_whole_entry() {
        assert!(!stands(&entry(5, true), &[(claim(3), true), (claim(5), true)]));
        assert!(!stands(&entry(5, true), &[(claim(9), true)]), "its rows are in the sum already");
        assert!(stands(&entry(5, true), &[(claim(5), true), (claim(9), false)]));
        assert!(!stands(&entry(5, true), &[(claim(5), false)]), "a copy in a file never read");
        assert!(stands(&entry(5, true), &[(claim(6), false)]));
        assert!(stands(&entry(5, true), &[(claim(6), false), (claim(6), true)]), "two files of one wave");
    }

    #[test]
    fn what_was_seen_in_one_wave_holds_in_the_next() {
        let before = entry(5, true);
        let seen = [claim(5)];
        let weighed = weigh(&before, seen.iter().map(|claim| (claim, true)));
        let kept = remember(&before, &weighed, false).unwrap();
        assert!(is_rebuilt(&kept) && kept.standing != before.standing);
        assert!(!stands(&kept, &[(claim(4), false)]));
        assert!(!stands(&kept, &[(claim(7), true)]), "a better record that the lake has");
        assert!(stands(&kept, &[(claim(7), false)]));
    }

    #[test]
    fn a_torn_entry_is_brought_to_the_best_claim() {
        assert!(stands(&entry(-2, false), &[(claim(3), true)]));
        assert!(!stands(&entry(3, false), &[(claim(3), true)]), "nothing to add");
        let before = entry(-2, false);
        let weighed = weigh(&before, [claim(3)].iter().map(|claim| (claim, true)));
        let after = Entry { standing: claim(3).standing, counters: claim(3).counters, ..weighed };
        let kept = remember(&before, &after, true).unwrap();
        assert!(!stands(&kept, &[(claim(2), true)]));
        assert!(stands(&kept, &[(claim(5), true)]), "the record that stood, in a later wave");
    }
}
