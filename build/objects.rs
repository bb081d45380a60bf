//! Compiles the sources of a folder, in parallel and only if something changed, into one static library.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::SystemTime;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    ObjectiveC,
    C,
    Cxx,
}

/// Flags of each language; Objective-C has those of C too.
pub struct Flags {
    /// For all of them.
    pub native: Vec<String>,
    pub c: Vec<String>,
    pub objective_c: Vec<String>,
    pub cxx: Vec<String>,
}

impl Flags {
    fn of(&self, language: Language) -> Vec<String> {
        let none = Vec::new();
        let (first, second) = match language {
            Language::ObjectiveC => (&self.c, &self.objective_c),
            Language::C => (&self.c, &none),
            Language::Cxx => (&self.cxx, &none),
        };
        [first.as_slice(), second, &self.native].concat()
    }
}

impl Language {
    fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "m" => Some(Language::ObjectiveC),
            "c" => Some(Language::C),
            "cpp" => Some(Language::Cxx),
            _ => None,
        }
    }
}

/// One compiler run and its result.
struct Job {
    command: Command,
    object: PathBuf,
}

pub struct Objects {
    compiler: Option<PathBuf>,
    tools: BTreeMap<Language, cc::Tool>,
    out: PathBuf,
    /// What the sources of a language begin with.
    precompiled: BTreeMap<Language, PathBuf>,
    jobs: Vec<Job>,
}

impl Objects {
    /// `compiler`: `None` for the one that `cc` picks for the target. `products`: the folder that receives `objects`.
    pub fn new(compiler: Option<&Path>, products: &Path) -> Objects {
        Objects {
            compiler: compiler.map(Path::to_owned),
            tools: BTreeMap::new(),
            out: products.join("objects"),
            precompiled: BTreeMap::new(),
            jobs: Vec::new(),
        }
    }

    /// Compiles a header that sources of the language which are added later include, so that it is parsed once.
    pub fn precompile(
        &mut self,
        header: &Path,
        language: Language,
        flags: &Flags,
        includes: &[PathBuf],
    ) -> Result<(), String> {
        let mut flags = flags.of(language);
        let kind = match language {
            Language::ObjectiveC => ["-x", "objective-c-header"].as_slice(),
            Language::C => &["-x", "c-header"],
            Language::Cxx => &["-fpch-instantiate-templates", "-x", "c++-header"],
        };
        flags.extend(kind.iter().map(|word| (*word).to_owned()));
        let mut job = self.job(header, language, &flags, includes)?;
        self.make_folder()?;
        if !job.is_fresh() {
            job.run()?;
        }
        self.precompiled.insert(language, job.object);
        Ok(())
    }

    fn make_folder(&self) -> Result<(), String> {
        fs::create_dir_all(&self.out)
            .map_err(|error| format!("cannot make {}: {error}", self.out.display()))
    }

    /// Adds a source, or every one below a folder, folders named `build`, `tests`, `tools`, `include` and
    /// `platform` excepted.
    pub fn add(&mut self, path: &Path, flags: &Flags, includes: &[PathBuf]) -> Result<(), String> {
        let mut sources = Vec::new();
        collect(path, &mut sources)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        sources.sort();
        for (source, language) in sources {
            let job = self.job(&source, language, &flags.of(language), includes)?;
            self.jobs.push(job);
        }
        Ok(())
    }

    /// The compiler of a language. `cc` runs it to learn what it is, so it is asked for once.
    fn tool(&mut self, language: Language) -> Result<&cc::Tool, String> {
        match self.tools.entry(language) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(entry) => {
                let mut build = cc::Build::new();
                // -O2 in every profile: the software Metal's speed is what a debug build of an engine waits for.
                build
                    .cargo_metadata(false)
                    .cpp(language == Language::Cxx)
                    .opt_level(2)
                    .debug(false);
                if let Some(compiler) = &self.compiler {
                    build.compiler(compiler);
                }
                let tool = build.try_get_compiler();
                Ok(entry.insert(tool.map_err(|error| format!("no compiler: {error}"))?))
            }
        }
    }

    fn job(
        &mut self,
        source: &Path,
        language: Language,
        flags: &[String],
        includes: &[PathBuf],
    ) -> Result<Job, String> {
        let name: String = source
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let object = self.out.join(format!("{name}.o"));
        let mut command = self.tool(language)?.to_command();
        if language == Language::Cxx && self.compiler.is_some() {
            command.arg("--driver-mode=g++");
        }
        command.args(flags).args(
            includes
                .iter()
                .map(|folder| format!("-I{}", folder.display())),
        );
        if let Some(header) = self.precompiled.get(&language) {
            command.arg("-include-pch").arg(header);
        }
        command
            .arg("-MD")
            .arg("-MF")
            .arg(object.with_extension("d"));
        command.arg("-c").arg("-o").arg(&object).arg(source);
        Ok(Job { command, object })
    }

    /// Compiles what is out of date and links all of it as the static library `name`.
    pub fn archive(mut self, name: &str) -> Result<(), String> {
        self.make_folder()?;
        let stale: Vec<&mut Job> = self.jobs.iter_mut().filter(|job| !job.is_fresh()).collect();
        let threads = env::var("NUM_JOBS")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(1);
        let queue = Mutex::new(stale.into_iter());
        let failures = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().expect("no worker panics").next();
                        let Some(job) = next else { break };
                        if let Err(message) = job.run() {
                            failures.lock().expect("no worker panics").push(message);
                        }
                    }
                });
            }
        });
        if let Some(message) = failures
            .into_inner()
            .expect("no worker panics")
            .into_iter()
            .next()
        {
            return Err(message);
        }
        let mut build = cc::Build::new();
        for job in &self.jobs {
            build.object(&job.object);
        }
        // Classes register themselves from constructors that no symbol refers to, so every object has to be linked.
        build.link_lib_modifier("+whole-archive");
        build
            .try_compile(name)
            .map_err(|error| format!("cannot archive {name}: {error}"))
    }
}

impl Job {
    fn is_fresh(&self) -> bool {
        let recorded = fs::read_to_string(self.object.with_extension("command"));
        if !recorded.is_ok_and(|text| text == self.record()) {
            return false;
        }
        let Some(built) = modified(&self.object) else {
            return false;
        };
        let Ok(rules) = fs::read_to_string(self.object.with_extension("d")) else {
            return false;
        };
        let Some((_, prerequisites)) = rules.split_once(": ") else {
            return false;
        };
        prerequisites
            .replace("\\\n", " ")
            .split_whitespace()
            .all(|path| modified(Path::new(path)).is_some_and(|time| time <= built))
    }

    fn run(&mut self) -> Result<(), String> {
        let record = self.record();
        let output = self
            .command
            .output()
            .map_err(|error| format!("cannot run {record}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            // The compiler's own words go to stderr, where cargo shows them under the one-line error.
            eprint!("{text}");
            return Err(format!("{record} ({})", output.status));
        }
        for line in text.lines() {
            println!("cargo::warning={line}");
        }
        let path = self.object.with_extension("command");
        fs::write(&path, record)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// The command line, as it is compared and reported.
    fn record(&self) -> String {
        let program = [self.command.get_program()].into_iter();
        let words = program.chain(self.command.get_args());
        words
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn collect(path: &Path, sources: &mut Vec<(PathBuf, Language)>) -> std::io::Result<()> {
    if !path.is_dir() {
        sources.extend(Language::of(path).map(|language| (path.to_owned(), language)));
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !["build", "tests", "tools", "include", "platform"].contains(&name.as_ref()) {
            collect(&path, sources)?;
        }
    }
    Ok(())
}
