//! [`Stops`]: ends a text where one of some strings would come.

/// Looks for strings in a text that comes in pieces.
pub struct Stops {
    strings: Vec<String>,
    /// The end of the text, while one of the strings may begin there.
    held: String,
}

impl Stops {
    /// None of the strings is empty.
    pub fn new(strings: Vec<String>) -> Self {
        let held = String::new();
        Self { strings, held }
    }

    /// Takes a piece. Gives the text that comes before any of the strings, and whether one was found.
    pub fn push(&mut self, piece: &str) -> (String, bool) {
        self.held.push_str(piece);
        let found = self
            .strings
            .iter()
            .filter_map(|string| self.held.find(string));
        if let Some(position) = found.min() {
            self.held.truncate(position);
            return (std::mem::take(&mut self.held), true);
        }
        let may_begin = |start: &usize| {
            let end = &self.held[*start..];
            self.strings.iter().any(|string| string.starts_with(end))
        };
        let mut starts = self.held.char_indices().map(|(start, _)| start);
        let kept = starts.find(may_begin);
        let rest = self.held.split_off(kept.unwrap_or(self.held.len()));
        (std::mem::replace(&mut self.held, rest), false)
    }

    /// The text has ended: what was held is part of it.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strings, pieces, what is given for each piece and at the end, and whether a string was found.
    type Case = (
        &'static [&'static str],
        &'static [&'static str],
        &'static [&'static str],
        bool,
    );

    fn run(strings: &[&str], pieces: &[&str]) -> (Vec<String>, bool) {
        let mut stops = Stops::new(strings.iter().map(ToString::to_string).collect());
        let mut given = Vec::new();
        for piece in pieces {
            let (text, is_found) = stops.push(piece);
            given.push(text);
            if is_found {
                return (given, true);
            }
        }
        given.push(stops.finish());
        (given, false)
    }

    #[test]
    fn text_passes_as_soon_as_no_string_can_begin_in_it() {
        let cases: [Case; 8] = [
            (&[], &["ab", "c"], &["ab", "c", ""], false),
            (&["xy"], &["ab", "x", "z"], &["ab", "", "xz", ""], false),
            (&["xy"], &["ax", "x", "y!"], &["a", "x", ""], true),
            (&["xy"], &["ax"], &["a", "x"], false),
            (&["b", "ab"], &["xa", "b"], &["x", ""], true),
            (&["long", "b"], &["ab long"], &["a"], true),
            (&["éé"], &["é", "aé", "é"], &["", "éa", ""], true),
            (&["aab"], &["aaa", "b"], &["a", ""], true),
        ];
        for (strings, pieces, given, is_found) in cases {
            let expected: Vec<String> = given.iter().map(ToString::to_string).collect();
            assert_eq!(run(strings, pieces), (expected, is_found), "{pieces:?}");
        }
    }
}
