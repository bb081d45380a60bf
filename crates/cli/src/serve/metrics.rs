//! [`Metrics`]: what the server has done, in Prometheus's text format (version 0.0.4).

use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts of all requests. Each is right by itself; together they may be of slightly different moments.
#[derive(Default)]
pub struct Metrics {
    /// Texts that ended well.
    pub ended: Count,
    /// Texts that ended with an error.
    pub failed: Count,
    /// Requests that no text can be computed for.
    pub refused: Count,
    /// Texts whose clients went away, or that the end of the server cut off.
    pub stopped: Count,
    /// Tokens of prompts that were computed, when the last of them is.
    pub prompt_tokens: Count,
    /// Tokens of prompts that other texts had held.
    pub cached_tokens: Count,
    pub generated_tokens: Count,
    pub slots: Count,
    /// Texts that have a slot.
    pub running: Count,
    /// Texts that wait for one.
    pub waiting: Count,
    /// How often a text made room for others.
    pub preempted: Count,
    /// Tokens of drafts that were computed.
    pub drafted: Count,
    /// Those that became part of a text.
    pub accepted: Count,
    /// Pages of the caches.
    pub pages: Count,
    /// Those that texts have.
    pub used_pages: Count,
    /// From the encoded request to the first token, or to the end of a text without tokens.
    pub first_token: Histogram,
    /// From each token of a text to its next.
    pub next_token: Histogram,
}

/// A number that several threads write.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    pub fn set(&self, value: usize) {
        self.0.store(value as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Prometheus's type of a number that only grows.
const TOTAL: &str = "counter";
/// Of one that grows and shrinks.
const LEVEL: &str = "gauge";

/// Upper bounds of a histogram's buckets, in seconds.
const BOUNDS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// How often times were in each bucket.
#[derive(Default)]
pub struct Histogram {
    /// One for each bound, and one for what is over all of them.
    counts: [Count; BOUNDS.len() + 1],
    nanoseconds: Count,
}

impl Histogram {
    pub fn add(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = BOUNDS.partition_point(|&bound| bound < seconds);
        self.counts[bucket].add(1);
        self.nanoseconds.add(time.as_nanos() as usize);
    }

    fn write(&self, f: &mut Formatter<'_>, name: &str, help: &str) -> fmt::Result {
        writeln!(f, "# HELP metal_bridge_{name} {help}")?;
        writeln!(f, "# TYPE metal_bridge_{name} histogram")?;
        let mut so_far = 0;
        let bounds = BOUNDS.iter().map(f64::to_string);
        for (bound, count) in bounds.chain(["+Inf".into()]).zip(&self.counts) {
            so_far += count.get();
            writeln!(f, "metal_bridge_{name}_bucket{{le=\"{bound}\"}} {so_far}")?;
        }
        let sum = Duration::from_nanos(self.nanoseconds.get());
        writeln!(f, "metal_bridge_{name}_sum {}", sum.as_secs_f64())?;
        writeln!(f, "metal_bridge_{name}_count {so_far}")
    }
}

impl Display for Metrics {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let texts = [
            ("ended", &self.ended),
            ("failed", &self.failed),
            ("refused", &self.refused),
            ("stopped", &self.stopped),
        ];
        writeln!(
            f,
            "# HELP metal_bridge_texts_total Texts, by how they came to their end."
        )?;
        writeln!(f, "# TYPE metal_bridge_texts_total {TOTAL}")?;
        for (outcome, count) in texts {
            let count = count.get();
            writeln!(
                f,
                "metal_bridge_texts_total{{outcome=\"{outcome}\"}} {count}"
            )?;
        }
        for (name, kind, help, count) in [
            (
                "prompt_tokens_total",
                TOTAL,
                "Tokens of prompts that were computed.",
                &self.prompt_tokens,
            ),
            (
                "cached_prompt_tokens_total",
                TOTAL,
                "Tokens of prompts that other texts had held.",
                &self.cached_tokens,
            ),
            (
                "generated_tokens_total",
                TOTAL,
                "Tokens that were generated.",
                &self.generated_tokens,
            ),
            (
                "slots",
                LEVEL,
                "Texts that can be generated at once.",
                &self.slots,
            ),
            (
                "texts_running",
                LEVEL,
                "Texts that have a slot.",
                &self.running,
            ),
            (
                "texts_waiting",
                LEVEL,
                "Texts that wait for a slot.",
                &self.waiting,
            ),
            (
                "preemptions_total",
                TOTAL,
                "How often a text made room for others.",
                &self.preempted,
            ),
            (
                "draft_tokens_total",
                TOTAL,
                "Tokens of drafts that were computed.",
                &self.drafted,
            ),
            (
                "accepted_draft_tokens_total",
                TOTAL,
                "Tokens of drafts that became part of a text.",
                &self.accepted,
            ),
            (
                "cache_pages",
                LEVEL,
                "Pages of 32 tokens in the caches.",
                &self.pages,
            ),
            (
                "cache_pages_used",
                LEVEL,
                "Pages that texts have.",
                &self.used_pages,
            ),
        ] {
            writeln!(f, "# HELP metal_bridge_{name} {help}")?;
            writeln!(f, "# TYPE metal_bridge_{name} {kind}")?;
            writeln!(f, "metal_bridge_{name} {}", count.get())?;
        }
        self.first_token.write(
            f,
            "time_to_first_token_seconds",
            "From the encoded request to its first token.",
        )?;
        self.next_token.write(
            f,
            "time_per_output_token_seconds",
            "From a token of a text to its next.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_all_times_up_to_their_bounds() {
        let metrics = Metrics::default();
        for seconds in [0.005, 0.006, 31.0] {
            metrics.first_token.add(Duration::from_secs_f64(seconds));
        }
        let text = metrics.to_string();
        for line in [
            "bucket{le=\"0.005\"} 1",
            "bucket{le=\"0.01\"} 2",
            "bucket{le=\"30\"} 2",
            "bucket{le=\"+Inf\"} 3",
            "sum 31.011",
            "count 3",
        ] {
            let line = format!("\nmetal_bridge_time_to_first_token_seconds_{line}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
    }
}
