//! [`Budget`]: how much text and how many lists the steps of a template may make.
//!
//! One step can double a text (`x ~ x`), so a limit of steps does not limit memory, and the template engine has no limit for what its
//! operators make. So a step of its own follows each instruction that makes a text or a list, and counts what was made.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::machinery::{CompiledTemplate, Instruction, Instructions};
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::error::{MAX_MADE, MAX_OUTPUT};
use super::python::MAX_DEPTH;

/// What a value in a list or a dictionary counts for, in bytes: it takes memory, and looking at it takes time.
const VALUE: usize = 64;
/// The most that a list may count for with its texts. What it holds more than once counts as often, as it is printed.
const MAX_LIST: usize = 64 << 20;
/// A longer text between tags counts each time when it is written.
const SHORT: usize = 32;
/// The filters that count, the second one what a namespace is to hold: no template can write their names.
const COUNT: &str = "#count";
const COUNT_HELD: &str = "#held";

/// What is left of the bytes that the steps may make, be they kept or not.
#[derive(Clone)]
pub(super) struct Budget(Arc<AtomicUsize>);

impl Budget {
    /// A budget that the instructions of [`Counted`] templates take from, in this environment.
    pub fn install(environment: &mut Environment<'static>) -> Self {
        let budget = Self(Arc::new(AtomicUsize::new(MAX_MADE)));
        for (name, depth) in [(COUNT, 0), (COUNT_HELD, 1)] {
            let shared = budget.clone();
            environment.add_filter(name, move |value: Value| {
                match shared.count(&value, depth) {
                    Ok(()) => Ok(value),
                    Err(error) => Err(error),
                }
            });
        }
        budget
    }

    /// Takes what `value` counts for, which is in `depth` lists.
    pub fn count(&self, value: &Value, depth: usize) -> Result<(), Error> {
        if let Some(text) = value.as_str() {
            return match text.len() > MAX_OUTPUT {
                true => Err(Error::from(ErrorKind::WriteFailure)),
                false => self.take(text.len()),
            };
        }
        let mut list = List::default();
        list.measure(value, depth)?;
        self.take(list.values * VALUE)
    }

    pub fn take(&self, bytes: usize) -> Result<(), Error> {
        // The template is the only one to take, so nothing is lost between these calls.
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes);
        let left = left.ok_or_else(|| Error::from(ErrorKind::WriteFailure))?;
        self.0.store(left, Ordering::Relaxed);
        Ok(())
    }
}

/// What has been found in a list.
#[derive(Default)]
struct List {
    values: usize,
    /// The bytes of their texts.
    text: usize,
}

impl List {
    /// Looks at what `value` holds as if it were printed, compared or sorted: those recurse.
    fn measure(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.text += value.as_str().map_or(0, str::len);
        // Whether its elements can be looked at more than once.
        let is_list = match value.kind() {
            ValueKind::Seq | ValueKind::Map => true,
            ValueKind::Iterable => value.len().is_some(),
            _ => false,
        };
        if is_list {
            self.measure_elements(value, depth)?;
        }
        self.values += usize::from(is_list || depth > 0);
        match self.values * VALUE + self.text > MAX_LIST {
            true => Err(Error::from(ErrorKind::WriteFailure)),
            false => Ok(()),
        }
    }

    fn measure_elements(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let refused =
            |reason: &str| Err(Error::new(ErrorKind::InvalidOperation, reason.to_owned()));
        if depth > MAX_DEPTH {
            return refused("there are too many lists in each other");
        }
        let object = value.as_object();
        if depth > 0 && object.is_some_and(|object| object.type_name().ends_with("::Namespace")) {
            // It can change later, so that it holds itself.
            return refused("a namespace is in a list, a dictionary or a namespace");
        }
        for item in value.try_iter()? {
            if value.kind() == ValueKind::Map {
                self.measure(&value.get_item(&item)?, depth + 1)?;
            }
            self.measure(&item, depth + 1)?;
        }
        Ok(())
    }
}

/// A template whose steps count what they make.
pub(super) struct Counted<'a> {
    pub instructions: Instructions<'a>,
    pub blocks: BTreeMap<&'a str, Instructions<'a>>,
}

impl<'a> Counted<'a> {
    pub fn new(template: &CompiledTemplate<'a>) -> Self {
        let blocks = template.blocks.iter();
        Self {
            instructions: counted(&template.instructions),
            blocks: blocks
                .map(|(name, block)| (*name, counted(block)))
                .collect(),
        }
    }
}

fn counted<'a>(instructions: &Instructions<'a>) -> Instructions<'a> {
    let all = || (0..).map_while(|index| instructions.get(index));
    // Where each instruction begins, and where the last one ends.
    let mut places = vec![0];
    for instruction in all() {
        let (before, after) = counts(instruction);
        let place = places.last().copied().unwrap_or(0);
        places.push(place + (before.len() + 1 + after.len()) as u32);
    }
    let mut counted = Instructions::new(instructions.name(), instructions.source());
    for (index, instruction) in (0..).zip(all()) {
        let (before, after) = counts(instruction);
        let mut instruction = instruction.clone();
        if let Instruction::Jump(target)
        | Instruction::JumpIfFalse(target)
        | Instruction::JumpIfFalseOrPop(target)
        | Instruction::JumpIfTrueOrPop(target)
        | Instruction::Iterate(target)
        | Instruction::BuildMacro(_, target, _) = &mut instruction
        {
            *target = places[*target as usize];
        }
        for instruction in before.into_iter().chain([instruction]).chain(after) {
            match (instructions.get_span(index), instructions.get_line(index)) {
                (Some(span), _) => counted.add_with_span(instruction, span),
                (None, line) => counted.add_with_line(instruction, line.unwrap_or(1) as u16),
            };
        }
    }
    counted
}

/// What comes before an instruction, and after it.
fn counts<'a>(instruction: &Instruction<'a>) -> (Vec<Instruction<'a>>, Vec<Instruction<'a>>) {
    // The engine keeps filters that it has looked up under numbers; this one stands for none.
    let count = Instruction::ApplyFilter(COUNT, Some(1), u8::MAX);
    match instruction {
        Instruction::EmitRaw(text) if text.len() > SHORT => {
            let text = Instruction::LoadConst((*text).into());
            (vec![text, count, Instruction::DiscardTop], Vec::new())
        }
        Instruction::SetAttr(_) => {
            // The namespace is above what it is to hold.
            let held = Instruction::ApplyFilter(COUNT_HELD, Some(1), u8::MAX);
            let swapped = vec![Instruction::Swap, held, Instruction::Swap];
            (swapped, Vec::new())
        }
        // The engine computes `[0] * 99999999` before the first step, and any filter may go through it.
        Instruction::LoadConst(value) if value.kind() == ValueKind::Iterable => {
            (Vec::new(), vec![count])
        }
        Instruction::Add
        | Instruction::Mul
        | Instruction::StringConcat
        | Instruction::Slice
        | Instruction::ApplyFilter(..)
        | Instruction::CallFunction(..)
        | Instruction::CallMethod(..)
        | Instruction::CallObject(_)
        | Instruction::BuildList(_)
        | Instruction::BuildMap(_)
        | Instruction::EndCapture => (Vec::new(), vec![count]),
        _ => (Vec::new(), Vec::new()),
    }
}
