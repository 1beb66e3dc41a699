//! Settling: one thread, in a fixed order, asks the ledger what each claim of a wave adds.
//!
//! For each request, of all claims in the wave and the record that stood before, the one of the greatest standing stands.
//! First sight gives a `counted` row; a better record a `growth` row with the difference; a change of model or mode, or a
//! copy that gives way to the record itself, a `reversal` and a new `counted` row. Every other claim is a copy. So
//! whatever the order and the split into runs, the rows of `usage` add up to the records that stand.

use std::collections::HashMap;

use arrow::array::AsArray as _;
use arrow::datatypes::TimestampMicrosecondType;

use super::ledger::{Entry, Origin, with_counters};
use super::wave::ReadSource;
use super::{Result, State, rebuilt};
use crate::model::identity::id_of;
use crate::model::rows::PlacedClaim;
use crate::model::tables::{MESSAGES, UsageColumns, UsageReader, UsageRow};
use crate::model::{CopyReason, Counters, RequestKey};

/// What a wave's claims came to.
#[derive(Debug, Default)]
pub struct Settled {
    /// Usage rows per source, in the order of the wave.
    pub rows: Vec<SettledRows>,
    /// The ledger's new entries, ascending by request.
    pub entries: Vec<Entry>,
    /// Whether any of them replaces an older one.
    pub replaces: bool,
    /// Requests and counters added.
    pub added: Added,
}

/// Usage rows of one source.
#[derive(Debug, Default)]
pub struct SettledRows {
    /// Rows that add.
    pub usage: UsageColumns,
    /// Repeats and replays.
    pub copies: UsageColumns,
}

/// What was added to the lake's sums.
#[derive(Debug, Default, Clone, Copy)]
pub struct Added {
    /// Requests seen for the first time.
    pub requests: u64,
    /// Counters, growth and reversals included.
    pub counters: [i64; 7],
}

/// One claim of the wave.
#[derive(Debug, Clone, Copy)]
struct Member {
    request: RequestKey,
    /// Rank of its source: whom a request in several sources is credited to.
    rank: usize,
    source: usize,
    claim: usize,
}

/// Settles all claims of a wave against the ledger in `state`, which is only read.
///
/// # Errors
/// The state cannot be read.
pub fn settle(sources: &[ReadSource], state: &State) -> Result<Settled> {
    let mut members = members_of(sources);
    rank_owners(&mut members, sources);
    members.sort_unstable_by_key(|member| (member.request, member.rank, member.claim));
    let mut settling = Settling {
        sources,
        state,
        ledger_is_empty: state.ledger_is_empty()?,
        settled: Settled { rows: sources.iter().map(|_| SettledRows::default()).collect(), ..Settled::default() },
    };
    for group in members.chunk_by(|left, right| left.request == right.request) {
        settling.group(group)?;
    }
    settling.settled.entries.sort_unstable_by_key(|entry| entry.request);
    Ok(settling.settled)
}

fn members_of(sources: &[ReadSource]) -> Vec<Member> {
    let claims = sources.iter().enumerate().flat_map(|(source, read)| {
        read.claims.iter().enumerate().map(move |(claim, placed)| Member {
            request: placed.claim.request,
            rank: source,
            source,
            claim,
        })
    });
    claims.collect()
}

/// Ranks sources so that a request standing in several is credited to the file whose earliest unshared record is oldest,
/// then to the smaller session id. Only sources that share a request with equal right are compared.
fn rank_owners(members: &mut [Member], sources: &[ReadSource]) {
    members.sort_unstable_by_key(|member| (member.request, member.source, member.claim));
    let class = |member: &Member| placed(sources, member).map_or(0, |placed| placed.claim.standing.class);
    let mut rivals: Vec<usize> = Vec::new();
    for group in members.chunk_by(|left, right| left.request == right.request) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        if first.source == last.source {
            continue;
        }
        let best = group.iter().map(class).max().unwrap_or(0);
        let mut owners: Vec<usize> =
            group.iter().filter(|member| class(member) == best).map(|member| member.source).collect();
        owners.dedup();
        if owners.len() > 1 {
            rivals.extend(owners);
        }
    }
    rivals.sort_unstable();
    rivals.dedup();
    if rivals.is_empty() {
        return;
    }
    let since = unshared_since(&rivals, sources);
    let key = |source: usize| {
        let read = sources.get(source);
        let session = read.and_then(|read| read.sessions.keys().next());
        (since.get(&source).copied().unwrap_or(i64::MIN), session, read.map(|read| &read.path))
    };
    let mut order = rivals;
    order.sort_by(|left, right| key(*left).cmp(&key(*right)));
    let ranks: HashMap<usize, usize> = order.iter().enumerate().map(|(rank, &source)| (source, rank)).collect();
    for member in members {
        // Sources without rivals keep any rank; they only ever meet copies of lower class.
        member.rank = ranks.get(&member.source).copied().unwrap_or(sources.len() + member.source);
    }
}

/// For each rival, the time of its earliest record that no other rival has. A source all of whose records were copied has
/// none: it is the oldest of all.
fn unshared_since(rivals: &[usize], sources: &[ReadSource]) -> HashMap<usize, i64> {
    let messages = |source: usize| sources.get(source)?.tables.get(MESSAGES.name);
    let mut owner_of: HashMap<&str, Option<usize>> = HashMap::new();
    for &source in rivals {
        let Some(keys) = messages(source).and_then(|columns| columns.get(1)?.as_string_opt::<i32>()) else { continue };
        for key in keys.iter().flatten() {
            let owner = owner_of.entry(key).or_insert(Some(source));
            if *owner != Some(source) {
                *owner = None;
            }
        }
    }
    let mut since: HashMap<usize, i64> = HashMap::new();
    for &source in rivals {
        let Some(columns) = messages(source) else { continue };
        let keys = columns.get(1).and_then(|column| column.as_string_opt::<i32>());
        let times = columns.get(4).and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
        let (Some(keys), Some(times)) = (keys, times) else { continue };
        for (key, ts) in keys.iter().zip(times) {
            if let (Some(key), Some(ts)) = (key, ts)
                && owner_of.get(key) == Some(&Some(source))
            {
                let first = since.entry(source).or_insert(ts);
                *first = (*first).min(ts);
            }
        }
    }
    since
}

fn placed<'a>(sources: &'a [ReadSource], member: &Member) -> Option<&'a PlacedClaim> {
    sources.get(member.source)?.claims.get(member.claim)
}

struct Settling<'a> {
    sources: &'a [ReadSource],
    state: &'a State,
    ledger_is_empty: bool,
    settled: Settled,
}

/// A claim with everything that belongs to it.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    source: usize,
    placed: &'a PlacedClaim,
    reader: &'a UsageReader,
    row: usize,
    session_id: &'a str,
    /// Whether the lake holds the claim's record already.
    known: bool,
}

impl<'a> Candidate<'a> {
    fn usage(&self) -> UsageRow<'a> {
        self.reader.row(self.row)
    }

    /// The text that names `request` where it is not the one that the claim's own id names: sessions reused the id, and
    /// whoever groups by `request_key` must still see two requests.
    fn scoped_key(&self, request: RequestKey) -> Option<String> {
        (request != self.placed.claim.request)
            .then(|| format!("{}@{}", self.usage().request_key.unwrap_or_default(), self.session_id))
    }
}

impl<'a> Settling<'a> {
    /// Settles the claims of one native request id: one request, unless sessions reuse the id for different ones.
    fn group(&mut self, group: &[Member]) -> Result<()> {
        let sources = self.sources;
        let candidates: Vec<Candidate<'a>> = group.iter().filter_map(|member| candidate(sources, member)).collect();
        let Some(first) = candidates.first() else { return Ok(()) };
        let request = first.placed.claim.request;
        let mut entry = self.entry(request)?;
        if candidates.iter().all(|candidate| candidate.placed.claim.guard.is_none()) {
            self.request(request, entry.as_ref(), &candidates);
            return Ok(());
        }
        // A ledger made anew from rows does not know what tells requests of one id apart; the records that it came from do.
        if let Some(entry) = entry.as_mut().filter(|entry| entry.guard.is_none() && rebuilt::is_rebuilt(entry)) {
            let own = |candidate: &&Candidate<'_>| candidate.known && candidate.session_id == entry.origin.session_id;
            entry.guard = candidates.iter().find(own).and_then(|candidate| candidate.placed.claim.guard);
        }
        let (mine, others) = split_reused(entry.as_ref(), &candidates);
        self.request(request, entry.as_ref(), &mine);
        for (session_id, candidates) in others {
            let scoped = request.scoped(session_id);
            let entry = self.entry(scoped)?;
            self.request(scoped, entry.as_ref(), &candidates);
        }
        Ok(())
    }

    fn entry(&self, request: RequestKey) -> Result<Option<Entry>> {
        if self.ledger_is_empty { Ok(None) } else { self.state.request(request) }
    }

    /// Settles the claims of one request, in order of rank and position.
    fn request(&mut self, request: RequestKey, entry: Option<&Entry>, candidates: &[Candidate<'a>]) {
        let counting = || candidates.iter().enumerate().filter(|(_, candidate)| candidate.placed.claim.never.is_none());
        // Of equals the first stands; `max_by_key` takes the last, so it is asked from the end.
        let best = counting().rev().max_by_key(|(_, candidate)| candidate.placed.claim.standing);
        let Some((best_at, &best)) = best else {
            for candidate in candidates {
                self.copy(request, candidate, None);
            }
            return;
        };
        let class = best.placed.claim.standing.class;
        let owner = counting()
            .find(|(_, candidate)| candidate.placed.claim.standing.class == class)
            .map_or(best, |(_, owner)| *owner);
        let (from, to) = times(candidates);
        let stored = entry;
        let weighed =
            stored.map(|entry| rebuilt::weigh(entry, candidates.iter().map(|held| (&held.placed.claim, held.known))));
        let entry = weighed.as_ref();
        let stands = entry.is_none_or(|entry| best.placed.claim.standing > entry.standing);
        let owner_session = match entry {
            Some(entry) if !stands || entry.standing.class == class => entry.origin.session_id.clone(),
            _ => owner.session_id.to_owned(),
        };
        for (at, candidate) in candidates.iter().enumerate() {
            if !stands || at != best_at {
                self.copy(request, candidate, Some(&owner_session));
            }
        }
        let replaces = entry.is_some();
        let next = match (stored, entry) {
            (Some(stored), Some(entry)) if stands => {
                let improved = self.improve(entry, &owner, &best);
                rebuilt::remember(stored, &improved, true)
            }
            // Copies only widen the time in which the id was seen; that matters where ids are reused.
            (Some(stored), Some(entry)) => rebuilt::remember(stored, entry, false).or_else(|| {
                let widens = entry.guard.is_some() && (from < entry.first_ts || to > entry.last_ts);
                widens.then(|| stored.clone())
            }),
            _ => Some(self.count(request, &owner, &best)),
        };
        if let Some(mut next) = next {
            next.last_ts = next.last_ts.max(to);
            self.settled.replaces |= replaces;
            self.settled.entries.push(next);
        }
    }

    /// First sight: the request is credited to the owner's first record, with the counters of the record that stands.
    fn count(&mut self, request: RequestKey, owner: &Candidate<'a>, best: &Candidate<'a>) -> Entry {
        let origin = Origin::new(owner.session_id, &owner.usage(), &best.usage());
        let entry = Entry {
            request,
            rev: 0,
            standing: best.placed.claim.standing,
            counters: best.placed.claim.counters,
            variant: best.placed.claim.variant,
            guard: best.placed.claim.guard,
            first_ts: owner.placed.ts,
            last_ts: best.placed.ts,
            origin,
        };
        self.settled.added.requests += 1;
        self.add(&entry, best, "counted", entry.counters);
        entry
    }

    /// A better record for a request that is counted already.
    fn improve(&mut self, before: &Entry, owner: &Candidate<'a>, best: &Candidate<'a>) -> Entry {
        let claim = best.placed.claim;
        let gives_way = claim.standing.class > before.standing.class;
        let mut after = Entry {
            rev: before.rev + 1,
            standing: claim.standing,
            counters: claim.counters,
            variant: claim.variant,
            guard: claim.guard.or(before.guard),
            ..before.clone()
        };
        if !gives_way && claim.variant == before.variant {
            self.add(&after, best, "growth", claim.counters.minus(before.counters));
            return after;
        }
        let reversal = Entry { rev: before.rev + 1, ..before.clone() };
        self.add(&reversal, best, "reversal", Counters::default().minus(before.counters));
        after.rev = before.rev + 2;
        if gives_way {
            after.origin = Origin::new(owner.session_id, &owner.usage(), &best.usage());
            after.first_ts = owner.placed.ts;
        } else {
            after.origin = before.origin.with_variant_of(&best.usage());
        }
        self.add(&after, best, "counted", after.counters);
        after
    }

    /// Writes a row of `usage`: credited as the entry says, everything else as the record that stands has it.
    fn add(&mut self, entry: &Entry, best: &Candidate<'a>, status: &str, counters: Counters) {
        let (event_id, record_key, _) = best.reader.ids(best.row);
        let rev = entry.rev.to_le_bytes();
        let derived = id_of(&[b"usage", &entry.request.0.to_le_bytes(), status.as_bytes(), &rev]);
        // The claim's own id, unless the claim has given its id to a row before.
        let event_id = if best.known || status == "reversal" { derived.as_str() } else { event_id };
        let usage = best.usage();
        let scoped_key = best.scoped_key(entry.request);
        let row = UsageRow {
            request_key: scoped_key.as_deref().or(usage.request_key),
            rev: Some(entry.rev),
            status: Some(status),
            why: None,
            ..entry.origin.credit(&with_counters(&usage, counters))
        };
        let seq = best.placed.seq;
        if let Some(rows) = self.settled.rows.get_mut(best.source) {
            rows.usage.push_with_ids(event_id, record_key, Some(&entry.origin.session_id), seq, entry.first_ts, &row);
        }
        for (sum, count) in self.settled.added.counters.iter_mut().zip(counters.to_array()) {
            *sum = sum.saturating_add(count.unwrap_or(0));
        }
    }

    /// Writes a row of `usage_copies`, unless the lake has the record.
    fn copy(&mut self, request: RequestKey, candidate: &Candidate<'a>, owner_session: Option<&str>) {
        if candidate.known {
            return;
        }
        let claim = candidate.placed.claim;
        let why = claim.never.unwrap_or_else(|| match (claim.standing.class, owner_session) {
            (0, _) => CopyReason::Mirror,
            (_, Some(owner)) if owner == candidate.session_id => CopyReason::Repeat,
            _ => CopyReason::Replay,
        });
        let (event_id, record_key, session_id) = candidate.reader.ids(candidate.row);
        let (usage, scoped_key) = (candidate.usage(), candidate.scoped_key(request));
        let request_key = scoped_key.as_deref().or(usage.request_key);
        let row = UsageRow { request_key, why: Some(why.as_str()), ..usage };
        if let Some(rows) = self.settled.rows.get_mut(candidate.source) {
            rows.copies.push_with_ids(
                event_id,
                record_key,
                Some(session_id),
                candidate.placed.seq,
                candidate.placed.ts,
                &row,
            );
        }
    }
}

fn candidate<'a>(sources: &'a [ReadSource], member: &Member) -> Option<Candidate<'a>> {
    let read = sources.get(member.source)?;
    let reader = read.claim_rows.as_ref()?;
    let (_, _, session_id) = reader.ids(member.claim);
    Some(Candidate {
        source: member.source,
        placed: read.claims.get(member.claim)?,
        reader,
        row: member.claim,
        session_id,
        known: read.known_claims.get(member.claim).copied().unwrap_or(false),
    })
}

/// Earliest and newest time among the claims.
fn times(candidates: &[Candidate<'_>]) -> (i64, i64) {
    let times = candidates.iter().map(|candidate| candidate.placed.ts);
    (times.clone().min().unwrap_or(0), times.max().unwrap_or(0))
}

/// Tells apart requests for which sessions reused one id: claims of another session, of another time, with another guard.
/// Returns the claims of the request that had the id first, and the others by session.
fn split_reused<'a>(
    entry: Option<&Entry>,
    candidates: &[Candidate<'a>],
) -> (Vec<Candidate<'a>>, Vec<(&'a str, Vec<Candidate<'a>>)>) {
    let mut by_session: Vec<(&'a str, Vec<Candidate<'a>>)> = Vec::new();
    for candidate in candidates {
        match by_session.iter_mut().find(|(session_id, _)| *session_id == candidate.session_id) {
            Some((_, held)) => held.push(*candidate),
            None => by_session.push((candidate.session_id, vec![*candidate])),
        }
    }
    let (first_session, guard, mut from, mut to) = match (entry, by_session.first()) {
        (Some(entry), _) => (entry.origin.session_id.as_str(), entry.guard, entry.first_ts, entry.last_ts),
        (None, Some((session_id, held))) => {
            let (from, to) = times(held);
            (*session_id, held.first().and_then(|candidate| candidate.placed.claim.guard), from, to)
        }
        (None, None) => return (Vec::new(), Vec::new()),
    };
    let (mut mine, mut others) = (Vec::new(), Vec::new());
    for (session_id, held) in by_session {
        let (held_from, held_to) = times(&held);
        let differs = held.iter().all(
            |candidate| matches!((candidate.placed.claim.guard, guard), (Some(theirs), Some(ours)) if theirs != ours),
        );
        let apart = held_to < from || held_from > to;
        if session_id != first_session && differs && apart {
            others.push((session_id, held));
        } else {
            (from, to) = (from.min(held_from), to.max(held_to));
            mine.extend(held);
        }
    }
    (mine, others)
}
