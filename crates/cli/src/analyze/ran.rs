//! One launch of a kernel of a file, in this process.

use std::env;
use std::path::PathBuf;

use metal_bridge::Device;
use metal_bridge::analysis::Profile;
use metal_bridge::software::{CheckOptions, Severity, SourceCheck, check_source};

use crate::check::diagnostics::position;
use crate::failure::Failure;
use crate::include_folders::expose;
use crate::launch::Launch;
use crate::source::{SourceOptions, display_name, read, with_name};

#[derive(clap::Args)]
pub struct Run {
    /// The source of the kernel to launch; `-` is standard input
    #[arg(value_name = "FILE", requires = "grid")]
    file: Option<PathBuf>,

    #[command(flatten)]
    source: SourceOptions,

    #[command(flatten)]
    launch: Launch,
}

impl Run {
    /// The file of the kernel, and the folders of its headers.
    pub fn sources(&self) -> Vec<PathBuf> {
        let file = self.file.iter();
        let folders = file
            .clone()
            .flat_map(|file| self.source.include_paths(file));
        folders.chain(file.cloned()).collect()
    }

    /// Launches the kernel once, and gives what was counted.
    pub fn profile(&self) -> Result<Profile, Failure> {
        let Some(path) = &self.file else {
            return Err(Failure::WrongArguments("analyze needs a FILE or --profile"));
        };
        let include_paths = self.source.include_paths(path);
        expose(&include_paths)?;
        prepare();
        let name = display_name(path);
        let bytes = read(path).map_err(|error| Failure::new(format!("{name}: {error}")))?;
        let options = CheckOptions {
            name: name.clone(),
            compile: self.source.compile_options(),
            include_paths,
            strict: false,
        };
        let check = check_source(&bytes, &options)?;
        if !check.succeeded {
            return Err(Failure::new(first_error(&name, &check)));
        }
        let Some(kernel) = self.launch.kernel(&check.kernels)? else {
            return Err(Failure::WrongArguments("analyze FILE needs --grid"));
        };
        let device = Device::system_default()?;
        let text = String::from_utf8_lossy(&bytes);
        let library = device.new_library_with_source(&with_name(&name, &text), &options.compile)?;
        let constants = self.launch.constant_values(&check)?;
        let function = library.new_function_with_constants(&kernel.name, &constants)?;
        self.launch
            .run(&device.new_compute_pipeline_state(&function)?)?;
        let profile = Profile::of_process()?;
        profile.ok_or_else(|| Failure::new("the software Metal counts nothing in this process"))
    }
}

/// Switches the counting on, before anything has used Metal. This process reads what was counted, and needs no file.
fn prepare() {
    // SAFETY: the program has not started a thread yet.
    unsafe {
        env::remove_var("SOFTWARE_METAL_SANITIZE");
        if env::var_os("SOFTWARE_METAL_PROFILE").is_none_or(|file| file.is_empty()) {
            env::set_var("SOFTWARE_METAL_PROFILE", "/dev/null");
        }
    }
}

fn first_error(name: &str, check: &SourceCheck) -> String {
    let mut errors = check.diagnostics.iter();
    match errors.find(|diagnostic| diagnostic.severity == Severity::Error) {
        Some(error) => format!("{}: {}", position(name, error), error.message),
        None => format!("{name}: the source does not compile"),
    }
}
