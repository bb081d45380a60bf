//! `metal-bridge serve`: a model behind OpenAI's HTTP interface.
//!
//! [`connections`] takes connections, [`clients`] ends those that wait if there are too many, [`hosts`] and [`keys`] know whom they may come from, [`routes`] answers requests,
//! [`bodies`] takes their bodies, [`requests`], [`messages`] and [`settings`] read their [`fields`], [`constraints`] what a text may be, [`slots`]
//! generates, [`embeddings`] answers with the vectors of [`embedder`], [`stops`] ends texts at strings, [`logprobs`] tells how likely tokens were, [`replies`] writes
//! answers, [`page`] is the chat in the browser, and [`metrics`] counts. [`kind`] says for which interface.

mod answers;
mod bodies;
mod clients;
mod connections;
mod constraints;
mod embedder;
mod embeddings;
mod error;
mod fields;
mod hosts;
mod keys;
mod kind;
mod logprobs;
mod messages;
mod metrics;
mod page;
mod replies;
mod requests;
mod routes;
mod settings;
mod slots;
mod stops;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bodies::Bodies;
use embedder::{Embedder, PoolingChoice};
use hosts::Hosts;
use keys::Keys;
use metal_bridge_llama::chat::{ChatError, ChatTemplate};
use metal_bridge_llama::{Model, Scheduler, SessionOptions};
use slots::Slots;

use super::failure::Failure;
use super::{ModelChoice, SamplingChoice, SessionChoice, TemplateChoice};

#[derive(clap::Args)]
#[command(after_help = ROUTES)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelChoice,
    /// The name of the model in requests and answers; otherwise its file's, without the extension
    #[arg(long, value_name = "NAME")]
    alias: Option<String>,
    /// Where to listen: by default, this machine alone can connect
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    port: u16,
    /// Answer only requests with one of the API keys in this file, one a line. Otherwise the variable
    /// METAL_BRIDGE_API_KEY may hold one
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Requests that are answered at once, each with a text of at most the whole context
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    slots: u16,
    /// Tokens of prompts in one pass: the next tokens of other texts wait for it
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Give each request the same text whatever other requests run beside it, at a cost if these are many
    #[arg(long)]
    deterministic: bool,
    /// Tokens of prompts and texts that the caches of all slots hold together; by default as many as all slots have in their contexts
    #[arg(long, value_name = "COUNT")]
    cache_tokens: Option<usize>,
    /// Requests that may wait for a slot
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    queue: u16,
    /// After a signal, how long answers may take to their end
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    grace: u16,
    /// Answer nothing at /, where browsers otherwise find a page to chat
    #[arg(long)]
    no_page: bool,
    /// How the vectors of /v1/embeddings are made; otherwise as the model's file says, or by the mean
    #[arg(long, value_enum, value_name = "KIND")]
    pooling: Option<PoolingChoice>,
    #[command(flatten)]
    template: TemplateChoice,
    #[command(flatten)]
    session: SessionChoice,
    /// Settings of requests that name none
    #[command(flatten)]
    sampling: SamplingChoice,
}

const ROUTES: &str = "\
Paths: /, /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models, /tokenize, /detokenize, /health, /metrics
Ctrl-C or SIGTERM ends the server when its answers have ended; the second ends the answers too.";

/// What all requests share.
struct State {
    slots: Slots,
    embedder: Embedder,
    has_page: bool,
    bodies: Bodies,
    hosts: Hosts,
    keys: Keys,
    model: Model,
    template: Result<ChatTemplate, ChatError>,
    name: String,
    /// Settings of requests that name none.
    sampling: SamplingChoice,
    /// When the server began, in seconds since 1970.
    created: u64,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let keys = Keys::read(arguments.api_key_file.as_deref())?;
    let source = arguments.template.read()?;
    let model = arguments.model.load()?;
    let template = match source {
        Some(source) => Ok(ChatTemplate::new(source).map_err(Failure::new)?),
        None => ChatTemplate::of(&model),
    };
    let slots: usize = arguments.slots.into();
    let options = SessionOptions {
        batch: arguments.batch.into(),
        deterministic: arguments.deterministic,
        cache: arguments.cache_tokens,
        ..arguments.session.options()
    };
    // Its dispatches have no position of a text to go on with, its cache is its own, and no token comes next.
    let embedding = SessionOptions {
        replay: false,
        cache: None,
        draft_tokens: 0,
        ..options
    };
    let scheduler = Scheduler::new(&model, slots, &options).map_err(Failure::new)?;
    let (host, port) = (&arguments.host, arguments.port);
    let listened = connections::listen(host, port);
    let (listener, address) =
        listened.map_err(|error| Failure::new(format!("{host} port {port}: {error}")))?;
    let name = arguments.alias.clone();
    let (slots, thread) = Slots::new(scheduler, slots + usize::from(arguments.queue))?;
    let state = Arc::new(State {
        slots,
        embedder: Embedder::new(model.clone(), embedding, arguments.pooling.map(Into::into)),
        has_page: !arguments.no_page,
        bodies: Bodies::new(),
        hosts: Hosts::of(host, address),
        keys,
        model,
        template,
        name: name.unwrap_or_else(|| arguments.model.name()),
        sampling: arguments.sampling.clone(),
        created: replies::now(),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(bodies::READERS + embedder::THREADS)
        .build()?;
    let mut out = io::stdout();
    writeln!(out, "{} at http://{address}", state.name).and_then(|()| out.flush())?;
    let grace = Duration::from_secs(arguments.grace.into());
    runtime.block_on(connections::serve(listener, state, grace))?;
    // What still generates has nobody who reads it, and ends at its next token.
    drop(runtime);
    let ended = thread.join();
    ended.map_err(|_| Failure::new("the thread that generates has ended"))
}

/// Tells who runs the server.
fn note(text: &str) {
    // Without standard error there is nobody left to tell.
    let _ = writeln!(io::stderr(), "metal-bridge: {text}");
}
