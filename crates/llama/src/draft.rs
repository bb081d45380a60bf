//! [`Drafter`]: guesses how a text goes on, from the text itself.

/// How many tokens a guess begins after: fewer are equal too often by chance.
const LEAST_ALIKE: usize = 2;
/// More than this many tokens that are alike make no guess better.
const MOST_ALIKE: usize = 16;

/// Guesses tokens by looking up where the text was the same before (prompt look-up: Saxena 2023; Yang et al. 2023, "Inference with Reference",
/// arXiv:2304.04487).
#[derive(Clone, Debug)]
pub(super) struct Drafter {
    /// The most tokens that the last guesses make worth a try.
    length: usize,
}

impl Default for Drafter {
    fn default() -> Self {
        Self { length: 4 }
    }
}

impl Drafter {
    /// At most `most` tokens that may come after `text`: those that came where the longest end of the text was before, the last time. A text
    /// that ends in a loop goes on with it.
    pub fn draft(&self, text: &[u32], most: usize) -> Vec<u32> {
        let alike = |&end: &usize| (alike(&text[..end], text), end);
        let longest = (LEAST_ALIKE..text.len()).map(|end| alike(&end)).max();
        match longest {
            Some((length, end)) if length >= LEAST_ALIKE => {
                let again = text[end..].iter().copied().cycle();
                again.take(most.min(self.length)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Guesses more after a guess that was right, and fewer after one that was not: a token that is computed in vain takes time.
    pub fn learn(&mut self, drafted: usize, right: usize) {
        if drafted > 0 {
            self.length = (2 * right).max(1);
        }
    }
}

/// How many tokens two texts end with alike.
fn alike(one: &[u32], other: &[u32]) -> usize {
    let pairs = one.iter().rev().zip(other.iter().rev()).take(MOST_ALIKE);
    pairs.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::Drafter;

    #[test]
    fn a_draft_is_what_came_after_the_same_before() {
        let drafter = Drafter::default();
        let draft = |text: &[u32], most| drafter.draft(text, most);
        assert_eq!(draft(&[1, 2, 3, 4, 5, 1, 2], 3), [3, 4, 5]);
        assert_eq!(draft(&[1, 2, 3, 4, 5, 1, 2], 2), [3, 4]);
        // One token alike is not enough.
        assert!(draft(&[7, 2, 3, 4, 5, 1, 2], 3).is_empty());
        // The longest, and of equal ones the last.
        assert_eq!(draft(&[9, 1, 2, 3, 8, 1, 2, 4, 9, 1, 2], 1), [3]);
        assert_eq!(draft(&[9, 1, 2, 3, 8, 1, 2, 4, 7, 1, 2], 1), [4]);
        // Loops go on.
        assert_eq!(draft(&[5, 6, 6, 6], 4), [6, 6, 6, 6]);
        assert_eq!(draft(&[1, 2, 3, 1, 2, 3], 4), [1, 2, 3, 1]);
        assert!(draft(&[], 4).is_empty() && draft(&[1, 1], 4).is_empty());
    }

    #[test]
    fn drafts_grow_while_they_are_right() {
        let mut drafter = Drafter::default();
        let text: Vec<u32> = (0..50).chain(0..10).collect();
        let mut lengths = Vec::new();
        for right in [4, 8, 3, 0, 1] {
            let drafted = drafter.draft(&text, 12).len();
            drafter.learn(drafted, right);
            lengths.push(drafted);
        }
        assert_eq!(lengths, [4, 8, 12, 6, 1]);
        drafter.learn(0, 0);
        assert_eq!(drafter.draft(&text, 12).len(), 2);
    }
}
