//! What a row of the model's table measures.

/// What one row of the table measures.
#[derive(Clone, Copy)]
pub struct Test {
    pub kind: Kind,
    /// Tokens of the prompt, or tokens that are decoded of each text.
    pub tokens: usize,
    /// Tokens that a text holds before.
    pub depth: usize,
    /// Texts that are decoded at once.
    pub texts: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Prompt,
    Decode,
}

impl Test {
    /// llama-bench's name for it, such as `pp512` or `tg128 @ d4096`; with the number of texts if they are several.
    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Prompt => "pp",
            Kind::Decode => "tg",
        };
        let texts = match self.texts {
            1 => String::new(),
            texts => format!(" x {texts}"),
        };
        match self.depth {
            0 => format!("{kind}{}{texts}", self.tokens),
            depth => format!("{kind}{}{texts} @ d{depth}", self.tokens),
        }
    }

    /// Tokens of all texts.
    pub fn all_tokens(&self) -> usize {
        self.tokens * self.texts
    }
}

/// At each depth all prompts, then all lengths of decoding, each with so many texts at once; nothing for a length of 0.
pub fn tests(prompts: &[u32], decoded: &[u32], texts: &[u16], depths: &[u32]) -> Vec<Test> {
    let mut tests = Vec::new();
    for &depth in depths {
        for (kind, lengths, texts) in [
            (Kind::Prompt, prompts, &[1][..]),
            (Kind::Decode, decoded, texts),
        ] {
            let wanted = lengths.iter().filter(|&&tokens| tokens > 0);
            let wanted = wanted.flat_map(|&tokens| texts.iter().map(move |&texts| (tokens, texts)));
            tests.extend(wanted.map(|(tokens, texts)| Test {
                kind,
                tokens: tokens as usize,
                depth: depth as usize,
                texts: texts.into(),
            }));
        }
    }
    tests
}
