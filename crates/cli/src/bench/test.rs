//! What a row of the model's table measures.

use metal_bridge_llama::{self as llama, Session};

/// What one row of the table measures.
#[derive(Clone, Copy)]
pub struct Test {
    pub kind: Kind,
    /// Tokens of the prompt, or tokens that are decoded.
    pub tokens: usize,
    /// Tokens that the session holds before.
    pub depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Prompt,
    Decode,
}

impl Test {
    /// llama-bench's name for it, such as `pp512` or `tg128 @ d4096`.
    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Prompt => "pp",
            Kind::Decode => "tg",
        };
        match self.depth {
            0 => format!("{kind}{}", self.tokens),
            depth => format!("{kind}{} @ d{depth}", self.tokens),
        }
    }

    pub fn run(&self, session: &mut Session, tokens: &[u32]) -> llama::Result<()> {
        let tokens = &tokens[self.depth..][..self.tokens];
        match self.kind {
            Kind::Prompt => session.feed(tokens),
            Kind::Decode => tokens.chunks(1).try_for_each(|token| session.feed(token)),
        }
    }
}

/// At each depth all prompts, then all lengths of decoding; nothing for a length of 0.
pub fn tests(prompts: &[u32], decoded: &[u32], depths: &[u32]) -> Vec<Test> {
    let mut tests = Vec::new();
    for &depth in depths {
        for (kind, lengths) in [(Kind::Prompt, prompts), (Kind::Decode, decoded)] {
            let wanted = lengths.iter().filter(|&&tokens| tokens > 0);
            tests.extend(wanted.map(|&tokens| Test {
                kind,
                tokens: tokens as usize,
                depth: depth as usize,
            }));
        }
    }
    tests
}
