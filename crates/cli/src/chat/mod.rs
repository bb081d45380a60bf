//! `metal-bridge chat`: a chat with a model, by its own chat template.

mod input;
mod interrupts;
mod output;
#[cfg(unix)]
mod settings;
#[cfg(not(unix))]
#[path = "no_settings.rs"]
mod settings;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use input::{Input, Line};
use interrupts::Interrupts;
use metal_bridge_llama::chat::{ChatError, ChatOptions, ChatTemplate, Message};
use metal_bridge_llama::{
    self as llama, Conversation, GenerateOptions, Model, Session, StopReason,
};
use output::Answer;
use settings::Settings;

use super::failure::Failure;
use super::{ModelChoice, SamplingChoice, SessionChoice, TemplateChoice};

#[derive(clap::Args)]
#[command(after_help = COMMANDS)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelChoice,
    /// The system message
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    #[command(flatten)]
    template: TemplateChoice,
    /// Most tokens of an answer; otherwise until it ends or the context is full
    #[arg(short = 'n', long, value_name = "COUNT")]
    max_tokens: Option<usize>,
    #[command(flatten)]
    session: SessionChoice,
    #[command(flatten)]
    sampling: SamplingChoice,
}

const COMMANDS: &str = "\
Each line of standard input is a message. Lines that begin with a slash are commands:
  /reset        forget all messages but the system's
  /system TEXT  replace the system message; without TEXT there is none
  /help         list the commands
  /quit         end the chat, as Ctrl-D does
  //TEXT        say /TEXT
Ctrl-C interrupts an answer.";

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let settings = Settings::read().map(Arc::new);
    if let Some(settings) = settings.clone() {
        settings.restore_at_end()?;
    }
    let source = arguments.template.read()?;
    let model = arguments.model.load()?;
    let template = match source {
        Some(source) => ChatTemplate::new(source),
        None => ChatTemplate::of(&model),
    };
    let template = template.map_err(|error| match error {
        ChatError::Missing => Failure::new(format!("{error}; --template FILE gives it one")),
        _ => Failure::new(error),
    })?;
    let session = Session::with_options(&model, &arguments.session.options())?;
    let mut input = Input::open()?;
    // The editor of lines has a handler of SIGINT, too, and the last one counts.
    let interrupts = Interrupts::watch(settings)?;
    let mut chat = Chat {
        template,
        conversation: Conversation::new(session),
        model,
        system: arguments.system.clone(),
        messages: Vec::new(),
        options: GenerateOptions {
            max_tokens: arguments.max_tokens,
            sampling: arguments.sampling.sampling(),
            ..GenerateOptions::default()
        },
        interrupts,
    };
    chat.run(&mut input)
}

/// The chat so far, and what answers it.
struct Chat {
    template: ChatTemplate,
    conversation: Conversation,
    model: Model,
    system: Option<String>,
    /// All but the system's.
    messages: Vec<Message>,
    options: GenerateOptions,
    interrupts: Interrupts,
}

impl Chat {
    fn run(&mut self, input: &mut Input) -> Result<(), Failure> {
        loop {
            match input.next()? {
                Line::Text(line) => match line.strip_prefix('/') {
                    Some(command) if !command.starts_with('/') => {
                        if self.obey(command).is_break() {
                            return Ok(());
                        }
                    }
                    command => {
                        let text = command.unwrap_or(&line);
                        match self.say(text) {
                            // Somebody is there who reads the message and can go on.
                            Err(failure @ Failure::Error(_)) if input.is_terminal() => {
                                failure.report();
                            }
                            outcome => outcome?,
                        }
                    }
                },
                Line::Interrupted => note("Ctrl-D or /quit ends the chat"),
                Line::End => return Ok(()),
            }
        }
    }

    fn obey(&mut self, command: &str) -> ControlFlow<()> {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        match name.trim_end() {
            "reset" => self.messages.clear(),
            "system" => {
                self.system = Some(rest.trim().to_owned()).filter(|text| !text.is_empty());
            }
            "quit" | "exit" => return ControlFlow::Break(()),
            "help" => note(COMMANDS),
            other => note(&format!(
                "there is no command /{other}; /help lists the commands"
            )),
        }
        ControlFlow::Continue(())
    }

    /// Says `text` and prints the answer. If there is none, what was said is forgotten.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        if text.trim().is_empty() {
            return Ok(());
        }
        self.messages.push(Message::new("user", text));
        match self.answer() {
            Ok(answer) => {
                self.messages.push(Message::new("assistant", answer));
                self.options.sampling.seed = self.options.sampling.seed.wrapping_add(1);
                Ok(())
            }
            Err(failure) => {
                self.messages.pop();
                Err(failure)
            }
        }
    }

    fn answer(&mut self) -> Result<String, Failure> {
        let system = self.system.iter().map(|text| Message::new("system", text));
        let messages: Vec<Message> = system.chain(self.messages.iter().cloned()).collect();
        let tokenizer = self.model.tokenizer();
        let prompt = self
            .template
            .encode(tokenizer, &messages, &ChatOptions::default())
            .map_err(Failure::new)?;
        let mut answer = Answer::new(io::stdout().lock());
        let answering = self.interrupts.answering();
        let generation = self.conversation.answer(&prompt, &self.options, |text| {
            answer.write(text);
            if answering.is_interrupted() || !answer.is_read() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let text = answer.finish(generation.is_err())?;
        match generation {
            Ok(generation) => {
                if generation.stop == StopReason::Context {
                    note("the context is full: /reset forgets the messages");
                }
                Ok(text)
            }
            Err(llama::Error::ContextExceeded { context, .. }) => Err(Failure::new(format!(
                "the chat has {} tokens with this message, more than the context of {context}: /reset forgets the messages",
                prompt.len()
            ))),
            Err(error) => Err(error.into()),
        }
    }
}

/// Tells the user something that is not part of an answer.
fn note(text: &str) {
    // Without standard error there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{text}");
}
