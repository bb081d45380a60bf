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
    /// After how many of its last tokens logits are wanted.
    pub logits: usize,
}

impl Run {
    /// Whether these are next tokens: one, or one and a draft behind it.
    pub fn is_next(&self) -> bool {
        self.rows == 1 || self.logits == self.rows
    }

    /// Each row by itself.
    pub fn single_rows(self) -> impl Iterator<Item = Run> {
        (0..self.rows).map(move |row| Run {
            past: self.past + row,
            rows: 1,
            logits: usize::from(self.rows - row <= self.logits),
            ..self
        })
    }
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

    /// Whether all rows are of next tokens: texts that are decoded.
    pub fn is_decoding(&self) -> bool {
        self.runs.iter().all(Run::is_next)
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
        let wanted = |(first, run): (usize, Run)| first + run.rows - run.logits..first + run.rows;
        self.placed().flat_map(wanted).collect()
    }
}

/// Divides runs among passes. Next tokens come first, in a pass of their own; the others have at most `batch` rows a pass. Where
/// a longer run is cut depends on nothing but its own length.
pub(super) fn passes(runs: &[Run], batch: usize) -> Vec<Vec<Run>> {
    let (next, long): (Vec<Run>, Vec<Run>) = runs.iter().partition(|run| run.is_next());
    let mut passes = Vec::new();
    if !next.is_empty() {
        passes.push(next);
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
            logits: if start + rows == run.rows {
                run.logits
            } else {
                0
            },
            ..run
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Run, passes};

    fn run(slot: usize, past: usize, rows: usize, logits: usize) -> Run {
        Run {
            slot,
            past,
            rows,
            logits,
        }
    }

    #[test]
    fn next_tokens_come_first_and_long_runs_are_cut() {
        let runs = [
            run(0, 5, 10, 1),
            run(1, 7, 1, 1),
            run(2, 0, 3, 1),
            run(3, 9, 3, 3),
        ];
        let expected = [
            vec![run(1, 7, 1, 1), run(3, 9, 3, 3)],
            vec![run(0, 5, 4, 0)],
            vec![run(0, 9, 4, 0)],
            vec![run(0, 13, 2, 1)],
            vec![run(2, 0, 3, 1)],
        ];
        assert_eq!(passes(&runs, 4), expected);
        let together = [vec![runs[1], runs[3]], vec![runs[0], runs[2]]];
        assert_eq!(passes(&runs, 13), together);
        assert_eq!(passes(&runs[1..2], 1), [vec![runs[1]]]);
        assert!(passes(&[], 4).is_empty());
    }
}
