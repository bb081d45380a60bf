//! [`Counted`]: templates with steps of their own, which count what the other ones make and read.

use std::collections::BTreeMap;

use minijinja::machinery::{CodeGenerator, Instruction, Instructions, WhitespaceConfig, parse};
use minijinja::value::{Kwargs, Rest, Value};
use minijinja::{Environment, Error};

use super::budget::Budget;
use super::data;
use super::error::{ChatError, MAX_NAME};
use super::reads::Reads;
use super::{constants, limits};

/// What the template engine calls the template.
const NAME: &str = "<string>";
/// A longer text between tags counts each time when it is written.
const SHORT: usize = 32;

// The filters that count: no template can write their names.
const MADE: &str = "#made";
/// For what a namespace is to hold.
const HELD: &str = "#held";
const MULTIPLIED: &str = "#multiplied";
const ELEMENTS: &str = "#elements";
const COMPARED: &str = "#compared";
const CONTAINED: &str = "#contained";
const CHAINED: &str = "#chained";
const SPREAD: &str = "#spread";
const CHARACTERS: &str = "#characters";
const ITEM: &str = "#item";

/// Adds the filters that count.
pub(super) fn add(environment: &mut Environment<'static>, budget: &Budget) {
    let shared = budget.clone();
    environment.add_filter(MADE, move |value: Value| shared.made(value));
    environment.add_filter(HELD, |value: Value| -> Result<Value, Error> {
        data::weight(&value, 1)?;
        Ok(value)
    });
    // The last argument comes first, as the engine wants it for what it puts back onto its stack.
    let reversed = |arguments: &[Value]| arguments.iter().rev().cloned().collect::<Value>();
    environment.add_filter(
        MULTIPLIED,
        move |left: Value, right: Value| -> Result<Value, Error> {
            limits::check_product(&left, &right)?;
            Ok(reversed(&[left, right]))
        },
    );
    for (name, reads) in [
        (ELEMENTS, Reads::Elements),
        (COMPARED, Reads::Both),
        (CONTAINED, Reads::In),
        (CHAINED, Reads::Chained),
        (SPREAD, Reads::All),
        (CHARACTERS, Reads::Characters),
        (ITEM, Reads::Item),
    ] {
        let budget = budget.clone();
        environment.add_filter(
            name,
            move |arguments: Rest<Value>| -> Result<Value, Error> {
                budget.read(reads, &arguments)?;
                Ok(reversed(&arguments))
            },
        );
    }
}

/// A template whose steps count.
pub(super) struct Counted<'a> {
    pub instructions: Instructions<'a>,
    pub blocks: BTreeMap<&'a str, Instructions<'a>>,
}

impl<'a> Counted<'a> {
    /// Compiles `source`. Lists of literals are made by `budget`.
    pub fn compile(source: &'a str, budget: &Budget) -> Result<Self, ChatError> {
        let whitespace = WhitespaceConfig {
            keep_trailing_newline: false,
            lstrip_blocks: true,
            trim_blocks: true,
        };
        let template = parse(source, NAME, Default::default(), whitespace)?;
        constants::check(&template)?;
        let mut generator = CodeGenerator::new(NAME, source);
        generator.compile_stmt(&template);
        let (instructions, blocks) = generator.finish();
        let counted = |instructions| counted(instructions, budget);
        let blocks = blocks.iter();
        Ok(Self {
            instructions: counted(&instructions)?,
            blocks: blocks
                .map(|(name, block)| Ok((*name, counted(block)?)))
                .collect::<Result<_, ChatError>>()?,
        })
    }
}

fn counted<'a>(
    instructions: &Instructions<'a>,
    budget: &Budget,
) -> Result<Instructions<'a>, ChatError> {
    let all = || (0..).map_while(|index| instructions.get(index));
    // Where each instruction begins, and where the last one ends.
    let mut places = vec![0];
    for (line, instruction) in (0..).map(|index| instructions.get_line(index)).zip(all()) {
        check_name(instruction, line.unwrap_or(1))?;
        let (before, after) = counts(instruction);
        let place = places.last().copied().unwrap_or(0);
        places.push(place + (before.len() + 1 + after.len()) as u32);
    }
    let mut counted = Instructions::new(instructions.name(), instructions.source());
    for (index, instruction) in (0..).zip(all()) {
        let (before, after) = counts(instruction);
        let mut instruction = instruction.clone();
        match &mut instruction {
            Instruction::Jump(target)
            | Instruction::JumpIfFalse(target)
            | Instruction::JumpIfFalseOrPop(target)
            | Instruction::JumpIfTrueOrPop(target)
            | Instruction::Iterate(target)
            | Instruction::BuildMacro(_, target, _) => *target = places[*target as usize],
            // Arguments with names stay of their type.
            Instruction::LoadConst(value)
                if data::is_list(value) && Kwargs::try_from(value.clone()).is_err() =>
            {
                *value = budget.made(value.clone())?;
            }
            _ => {}
        }
        for instruction in before.into_iter().chain([instruction]).chain(after) {
            match (instructions.get_span(index), instructions.get_line(index)) {
                (Some(span), _) => counted.add_with_span(instruction, span),
                (None, line) => counted.add_with_line(instruction, line.unwrap_or(1) as u16),
            };
        }
    }
    Ok(counted)
}

/// Refuses an instruction with a long name, which it would read in each step.
fn check_name(instruction: &Instruction<'_>, line: usize) -> Result<(), ChatError> {
    match instruction {
        Instruction::StoreLocal(name)
        | Instruction::Lookup(name)
        | Instruction::GetAttr(name)
        | Instruction::SetAttr(name)
        | Instruction::ApplyFilter(name, ..)
        | Instruction::PerformTest(name, ..)
        | Instruction::CallFunction(name, _)
        | Instruction::CallMethod(name, _)
        | Instruction::CallBlock(name)
        | Instruction::BuildMacro(name, ..)
        | Instruction::Enclose(name)
            if name.len() > MAX_NAME =>
        {
            let message = format!("a name is longer than {MAX_NAME} bytes");
            Err(ChatError::Syntax { line, message })
        }
        _ => Ok(()),
    }
}

/// What comes before an instruction, and after it.
fn counts<'a>(instruction: &Instruction<'a>) -> (Vec<Instruction<'a>>, Vec<Instruction<'a>>) {
    // The engine keeps filters that it has looked up under numbers; this one stands for none.
    let filter = |name, arguments| Instruction::ApplyFilter(name, Some(arguments), u8::MAX);
    let made = || vec![filter(MADE, 1)];
    // A filter sees the arguments, and puts them back.
    let seen = |name, arguments: usize| {
        vec![
            filter(name, arguments as u16),
            Instruction::UnpackList(arguments),
        ]
    };
    match instruction {
        Instruction::EmitRaw(text) if text.len() > SHORT => {
            let text = Instruction::LoadConst((*text).into());
            (
                vec![text, filter(MADE, 1), Instruction::DiscardTop],
                Vec::new(),
            )
        }
        Instruction::SetAttr(_) => {
            // The namespace is above what it is to hold.
            let swapped = vec![Instruction::Swap, filter(HELD, 1), Instruction::Swap];
            (swapped, Vec::new())
        }
        Instruction::Mul => (seen(MULTIPLIED, 2), made()),
        Instruction::Slice => (seen(CHARACTERS, 4), made()),
        Instruction::Eq
        | Instruction::Ne
        | Instruction::Gt
        | Instruction::Gte
        | Instruction::Lt
        | Instruction::Lte => (seen(COMPARED, 2), Vec::new()),
        Instruction::In => (seen(CONTAINED, 2), Vec::new()),
        Instruction::CompareAndPreserve(_) => (seen(CHAINED, 2), Vec::new()),
        Instruction::GetItem => (seen(ITEM, 2), Vec::new()),
        Instruction::UnpackList(_) => (seen(ELEMENTS, 1), Vec::new()),
        Instruction::PushLoop(_) | Instruction::FastRecurse => (seen(CHARACTERS, 1), Vec::new()),
        // A loop may be called, which counts the characters of its argument.
        Instruction::CallFunction(_, Some(1)) => (seen(CHARACTERS, 1), made()),
        Instruction::UnpackLists(count) | Instruction::MergeKwargs(count) => {
            (seen(SPREAD, *count), Vec::new())
        }
        Instruction::Add
        | Instruction::StringConcat
        | Instruction::CallFunction(..)
        | Instruction::CallMethod(..)
        | Instruction::CallObject(_)
        | Instruction::BuildList(_)
        | Instruction::BuildMap(_)
        | Instruction::EndCapture => (Vec::new(), made()),
        _ => (Vec::new(), Vec::new()),
    }
}
