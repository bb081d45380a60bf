//! Pages against a model of the memory that they stand for.

use super::{KV_PAGE_POSITIONS, Pages, Table};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A text, and where the model of the memory says that its tokens are.
#[derive(Default)]
struct Text {
    table: Table,
    held: Vec<u32>,
    shares: bool,
}

/// Pages, and what a memory of theirs would hold.
struct World {
    pages: Pages,
    memory: Vec<Vec<u32>>,
    texts: Vec<Text>,
}

impl World {
    fn new(count: usize) -> World {
        World {
            pages: Pages::new(count),
            memory: vec![Vec::new(); count],
            texts: Vec::new(),
        }
    }

    /// Begins a text with what is known of `prompt`; ends others if there is no room for it.
    fn begin(&mut self, prompt: &[u32], shares: bool) {
        loop {
            let memory = &mut self.memory;
            let copy = |from: u32, to: u32| {
                memory[to as usize] = memory[from as usize].clone();
                Ok(())
            };
            match self.pages.begin(prompt, shares, 0, copy).unwrap() {
                None => self.end(0),
                Some((table, kept)) => {
                    let held = prompt[..kept].to_vec();
                    return self.texts.push(Text {
                        table,
                        held,
                        shares,
                    });
                }
            }
        }
    }

    /// Adds a token to a text, if there is a page for it.
    fn add(&mut self, index: usize, token: u32) {
        let text = &mut self.texts[index];
        let (page, place) = (
            text.held.len() / KV_PAGE_POSITIONS,
            text.held.len() % KV_PAGE_POSITIONS,
        );
        if page == text.table.pages.len() && !self.pages.extend(&mut text.table) {
            return;
        }
        let memory = &mut self.memory[text.table.pages[page] as usize];
        memory.truncate(place);
        memory.push(token);
        text.held.push(token);
        let Text {
            table,
            held,
            shares,
        } = text;
        self.pages.publish(table, held, *shares);
    }

    fn end(&mut self, index: usize) {
        let Text {
            table,
            held,
            shares,
        } = self.texts.swap_remove(index);
        self.pages.end(table, &held, shares);
    }

    /// Each text finds its tokens in the memory, and known pages hold what is known of them.
    fn check(&self) {
        for text in &self.texts {
            let pages = text.table.pages.iter();
            let memory: Vec<u32> = pages
                .flat_map(|&page| self.memory[page as usize].iter().copied())
                .collect();
            assert_eq!(memory[..text.held.len()], text.held);
        }
        for (page, memory) in self.memory.iter().enumerate() {
            let known = self.pages.tokens(page as u32);
            assert_eq!(&memory[..known.len()], known, "page {page}");
        }
        let tables = self.texts.iter().flat_map(|text| &text.table.pages);
        let used: std::collections::BTreeSet<u32> = tables.copied().collect();
        assert_eq!(self.pages.count() - self.pages.unused(), used.len());
    }
}

#[test]
fn texts_find_their_tokens_whatever_others_do() {
    for seed in 0..40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut world = World::new(random.random_range(5..40));
        let mut most_kept = 0;
        for _ in 0..300 {
            // Texts of few tokens are often alike.
            let prompt: Vec<u32> = (0..random.random_range(1..150))
                .map(|place| u32::from(place % 40 == 7 && random.random_bool(0.5)))
                .collect();
            world.begin(&prompt, random.random_bool(0.8));
            let index = world.texts.len() - 1;
            most_kept = most_kept.max(world.texts[index].held.len());
            let begun = world.texts[index].held.len();
            for &token in &prompt[begun..] {
                world.add(index, token);
            }
            world.check();
            for _ in 0..random.random_range(0..60) {
                let index = random.random_range(0..world.texts.len());
                world.add(index, random.random_range(0..2));
            }
            while world.texts.len() > 4 || !world.texts.is_empty() && random.random_bool(0.3) {
                let index = random.random_range(0..world.texts.len());
                world.end(index);
            }
            world.check();
        }
        assert!(most_kept > KV_PAGE_POSITIONS);
        while !world.texts.is_empty() {
            world.end(0);
        }
        // All pages can be taken.
        let mut all = Table::default();
        while world.pages.extend(&mut all) {}
        assert_eq!(all.pages.len(), world.pages.count());
        assert_eq!(world.pages.unused(), 0);
    }
}

#[test]
fn the_oldest_pages_are_taken_first() {
    let mut world = World::new(4);
    for text in 1..=2 {
        world.begin(&[text; 40], true);
        (0..40).for_each(|_| world.add(0, text));
        world.end(0);
    }
    world.begin(&[1; 40], true);
    assert_eq!(world.texts[0].held.len(), 39);
    world.end(0);
    // The second text loses its end first.
    world.begin(&[3; 20], true);
    (0..20).for_each(|_| world.add(0, 3));
    let found = |text: u32| {
        let found = world.pages.find(&[text; 40]);
        (found.table.len(), found.part.map(|(_, length)| length))
    };
    assert_eq!([found(1), found(2)], [(1, Some(8)), (1, None)]);
}
