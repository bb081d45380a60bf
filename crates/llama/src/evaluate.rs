//! [`Session::perplexity`]: feeds a text window by window.

use std::ops::Range;

use super::error::Result;
use super::perplexity::{Perplexity, PerplexityError, PerplexityOptions, Windows, surprise};
use super::session::Session;

/// The most rows of logits that are read back at once.
const ROWS: usize = 32;

impl Session {
    /// The perplexity of `tokens`, by the method of llama.cpp. `on_window` is given the result so far after each window.
    /// The session then holds the tokens of the last window.
    ///
    /// # Errors
    ///
    /// [`Error::Perplexity`](super::Error::Perplexity) for a text, a context or a stride that does not fit, and for logits that are not finite;
    /// otherwise as for [`feed`](Self::feed).
    pub fn perplexity(
        &mut self,
        tokens: &[u32],
        options: &PerplexityOptions,
        mut on_window: impl FnMut(&Perplexity),
    ) -> Result<Perplexity> {
        let windows = Windows::new(tokens.len(), self.context(), options)?;
        let tokenizer = self.model().tokenizer();
        let begin = tokenizer.bos().filter(|_| tokenizer.adds_bos());
        let mut result = Perplexity::of_windows(windows.count);
        for start in windows.starts() {
            let mut window = tokens[start..start + windows.context].to_vec();
            if let Some(begin) = begin {
                window[0] = begin;
            }
            self.truncate(0);
            self.count_surprises(&window, windows.foretold(), start, &mut result)?;
            result.windows += 1;
            on_window(&result);
        }
        Ok(result)
    }

    /// Feeds all of `window` but its last token, and counts the surprises of the tokens at `foretold`.
    fn count_surprises(
        &mut self,
        window: &[u32],
        foretold: Range<usize>,
        start: usize,
        result: &mut Perplexity,
    ) -> Result<()> {
        let vocabulary = self.model().config().vocabulary;
        // The logits after a token are the next one's.
        let read = foretold.start - 1..foretold.end - 1;
        if read.start > 0 {
            self.feed(&window[..read.start])?;
        }
        for first in read.clone().step_by(ROWS) {
            let rows = first..read.end.min(first + ROWS);
            let logits = self.feed_with_logits(&window[rows.clone()])?;
            for (row, logits) in rows.zip(logits.chunks_exact(vocabulary)) {
                let surprise = surprise(logits, window[row + 1])
                    .ok_or(PerplexityError::NoProbability(start + row + 1))?;
                result.count(surprise);
            }
        }
        Ok(())
    }
}
