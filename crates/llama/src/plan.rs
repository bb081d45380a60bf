//! [`Plan`]: the tokens that one pass computes.

use metal_bridge::Buffer;

/// Consecutive tokens of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The text's caches.
    pub slot: usize,
    /// Tokens that the caches hold before.
    pub past: usize,
    pub rows: usize,
    /// Whether the logits after its last token are wanted.
    pub has_logits: bool,
}

/// What one pass computes: rows of one text, or of several. The rows of a run follow those of the run before.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    /// Where the tokens lie in the token buffer.
    pub start: usize,
    pub runs: Vec<Run>,
    pub outputs: Outputs<'a>,
}

/// Where logits go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outputs<'a> {
    /// Those that the runs want go to a scratch buffer, from this row on. The tokens of their largest go to another.
    Wanted(usize),
    /// Those of all rows go to this buffer, and the token of the last row's largest to a scratch buffer.
    All(&'a Buffer),
    /// There are none: what the output matrix would take goes to this buffer, for all rows.
    States(&'a Buffer),
}

impl Plan<'_> {
    /// Rows of all runs.
    pub fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.rows).sum()
    }

    /// Whether each row is of another text: texts that are decoded.
    pub fn is_decoding(&self) -> bool {
        self.runs.iter().all(|run| run.rows == 1)
    }

    /// Each run with its first row.
    pub fn placed(&self) -> impl Iterator<Item = (usize, Run)> {
        self.runs.iter().scan(0, |next, &run| {
            let first = *next;
            *next += run.rows;
            Some((first, run))
        })
    }

    /// The rows whose logits are wanted.
    pub fn wanted(&self) -> Vec<usize> {
        let wanting = self.placed().filter(|(_, run)| run.has_logits);
        wanting.map(|(first, run)| first + run.rows - 1).collect()
    }
}

/// Divides runs among passes. Runs of one row come first, in a pass of their own; the others have at most `batch` rows a pass. Where
/// a longer run is cut depends on nothing but its own length.
pub(super) fn passes(runs: &[Run], batch: usize) -> Vec<Vec<Run>> {
    let (single, long): (Vec<Run>, Vec<Run>) = runs.iter().partition(|run| run.rows == 1);
    let mut passes = Vec::new();
    if !single.is_empty() {
        passes.push(single);
    }
    let (mut open, mut free) = (Vec::new(), batch);
    for piece in long.iter().flat_map(|run| pieces(run, batch)) {
        if piece.rows > free {
            passes.push(std::mem::take(&mut open));
            free = batch;
        }
        free -= piece.rows;
        open.push(piece);
    }
    if !open.is_empty() {
        passes.push(open);
    }
    passes
}

/// A run in pieces of at most `batch` rows. Logits come after its end.
fn pieces(run: &Run, batch: usize) -> impl Iterator<Item = Run> {
    let run = *run;
    (0..run.rows).step_by(batch).map(move |start| {
        let rows = batch.min(run.rows - start);
        Run {
            past: run.past + start,
            rows,
            has_logits: run.has_logits && start + rows == run.rows,
            ..run
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Run, passes};

    fn run(slot: usize, past: usize, rows: usize, has_logits: bool) -> Run {
        Run {
            slot,
            past,
            rows,
            has_logits,
        }
    }

    #[test]
    fn single_rows_come_first_and_long_runs_are_cut() {
        let runs = [
            run(0, 5, 10, true),
            run(1, 7, 1, true),
            run(2, 0, 3, true),
            run(3, 9, 1, true),
        ];
        let expected = [
            vec![run(1, 7, 1, true), run(3, 9, 1, true)],
            vec![run(0, 5, 4, false)],
            vec![run(0, 9, 4, false)],
            vec![run(0, 13, 2, true)],
            vec![run(2, 0, 3, true)],
        ];
        assert_eq!(passes(&runs, 4), expected);
        let together = [vec![runs[1], runs[3]], vec![runs[0], runs[2]]];
        assert_eq!(passes(&runs, 13), together);
        assert_eq!(passes(&runs[1..2], 1), [vec![runs[1]]]);
        assert!(passes(&[], 4).is_empty());
    }
}
