//! Grids whose threads wait for each other: in one dispatch, and by dispatches one after another.

use metal_bridge::groups::{
    GridSync, GridSyncSupport, Phase, WhyPhases, dispatch_phases, with_header,
};
use metal_bridge::{
    Buffer, CommandQueue, CompileOptions, ComputeEncoder, ComputePipeline, DispatchType, Error,
    LanguageVersion, Library, Result, Size, StorageMode,
};
#[cfg(software_metal)]
use metal_bridge::{ComputePipelineDescriptor, ForwardProgressUsage};
use metal_bridge_test_support::{device, queue};

const THREADS: usize = 40;
const ROUNDS: u32 = 7;

fn library() -> Library {
    let options = CompileOptions::new().language_version(LanguageVersion::new(3, 2));
    let source = with_header("grid.metal", include_str!("grid.metal"));
    device().new_library_with_source(&source, &options).unwrap()
}

fn pipelines() -> [ComputePipeline; 3] {
    let library = library();
    ["around", "even_round", "odd_round"].map(|name| {
        let function = library.new_function(name).unwrap();
        device().new_compute_pipeline_state(&function).unwrap()
    })
}

/// The numbers 0, 3, 6, ... before and after the rounds.
struct Numbers {
    count: usize,
    even: Buffer,
    odd: Buffer,
    facts: Buffer,
}

impl Numbers {
    fn new(groups: usize) -> Numbers {
        let count = groups * THREADS;
        let values: Vec<u32> = (0..count as u32).map(|i| 3 * i).collect();
        let buffer = |values: &[u32]| {
            let shared = StorageMode::Shared;
            device().new_buffer_with_data(values, shared).unwrap()
        };
        Numbers {
            count,
            even: buffer(&values),
            odd: buffer(&vec![0; count]),
            facts: buffer(&vec![0; count]),
        }
    }

    /// Runs what `encode` encodes, with the numbers bound.
    fn run(
        &self,
        queue: &CommandQueue,
        encode: impl FnOnce(&mut ComputeEncoder<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Concurrent)?;
        encoder.set_buffer(&self.even, 0, 0)?;
        encoder.set_buffer(&self.odd, 0, 1)?;
        encoder.set_value(&ROUNDS, 2)?;
        encoder.set_buffer(&self.facts, 0, 4)?;
        encode(&mut encoder)?;
        encoder.end_encoding()?;
        commands.commit()?.wait()
    }

    fn assert_went_around(&self) {
        let wanted = |i: usize| 3 * ((i + ROUNDS as usize) % self.count) as u32 + ROUNDS;
        let wanted: Vec<u32> = (0..self.count).map(wanted).collect();
        assert_eq!(*self.odd.wait_read::<u32>().unwrap(), *wanted);
    }
}

/// The most threadgroups that a probe finds together; there are always too many for it.
fn resident(sync: &GridSync, pipeline: &ComputePipeline) -> usize {
    match sync.supports_grid_sync(pipeline, 5000, THREADS, 0).unwrap() {
        GridSyncSupport::Phases(WhyPhases::Residency { resident }) => resident,
        other => panic!("5000 threadgroups: {other:?}"),
    }
}

#[test]
fn grids_that_are_resident_wait_in_one_dispatch() {
    let queue = queue();
    let sync = GridSync::new(&queue).unwrap();
    let [around, ..] = pipelines();
    let most = resident(&sync, &around);
    assert!(most > 0);
    for groups in [1, most.div_ceil(2), most] {
        let support = sync.supports_grid_sync(&around, groups, THREADS, 0);
        assert_eq!(
            support.unwrap(),
            GridSyncSupport::Barrier {
                resident: most,
                forward_progress: around.forward_progress_usage(),
            }
        );
        let numbers = Numbers::new(groups);
        let size = Size::from(THREADS);
        // SAFETY: the kernel has a number of each buffer for each thread, and its barrier at index 3.
        let dispatch = |encoder: &mut ComputeEncoder<'_>| unsafe {
            sync.dispatch(encoder, &around, groups, size, 0, 3)
        };
        numbers.run(&queue, dispatch).unwrap();
        numbers.assert_went_around();
        let facts = numbers.facts.wait_read::<u32>().unwrap();
        for (thread, fact) in facts.iter().enumerate() {
            assert_eq!(*fact as usize, thread / THREADS * 1000 + groups * 10 + 1);
        }
    }
}

#[test]
fn grids_that_are_not_known_to_be_resident_are_refused() {
    let queue = queue();
    let sync = GridSync::new(&queue).unwrap();
    let [around, ..] = pipelines();
    let refused = |groups: usize, threads: usize| {
        let numbers = Numbers::new(1);
        // SAFETY: nothing is dispatched.
        let error = numbers.run(&queue, |encoder| unsafe {
            sync.dispatch(encoder, &around, groups, threads, 0, 3)
        });
        let error = error.unwrap_err();
        assert!(matches!(error, Error::OutOfRange(_)), "{error}");
        error.to_string()
    };
    let message = refused(1, THREADS);
    assert!(
        message.contains("has found 0 resident together"),
        "{message}"
    );
    let most = resident(&sync, &around);
    let message = refused(most + 1, THREADS);
    assert!(
        message.contains(&format!("found {most} resident")),
        "{message}"
    );
    refused(1, 100_000);
    refused(usize::MAX, THREADS);
    let none = sync.supports_grid_sync(&around, 1, 0, 0).unwrap_err();
    assert!(matches!(none, Error::OutOfRange(_)), "{none}");
    let memory = sync.supports_grid_sync(&around, 1, THREADS, 1 << 30);
    assert!(memory.is_err(), "{memory:?}");
}

/// What macOS 27 lets a program choose, and says.
#[test]
#[cfg(software_metal)]
fn weak_forward_progress_is_a_reason_for_phases() {
    let queue = queue();
    let sync = GridSync::new(&queue).unwrap();
    let around = library().new_function("around").unwrap();
    let pipeline = |usage| {
        let descriptor = ComputePipelineDescriptor::new(&around).forward_progress_usage(usage);
        let made = device().new_compute_pipeline_state_with_descriptor(&descriptor);
        made.unwrap()
    };
    let support = |pipeline: &ComputePipeline| sync.supports_grid_sync(pipeline, 1, THREADS, 0);

    let parallel = ForwardProgressUsage::SimdGroupParallel;
    for usage in [parallel, ForwardProgressUsage::Automatic] {
        let found = support(&pipeline(usage)).unwrap();
        assert!(
            matches!(found, GridSyncSupport::Barrier { resident, forward_progress }
                if resident >= 1 && forward_progress == parallel),
            "{found:?}"
        );
    }

    let weak = pipeline(ForwardProgressUsage::Weak);
    let why = WhyPhases::ForwardProgress;
    assert_eq!(support(&weak).unwrap(), GridSyncSupport::Phases(why));
    // SAFETY: nothing is dispatched.
    let refused = Numbers::new(1).run(&queue, |encoder| unsafe {
        sync.dispatch(encoder, &weak, 1, THREADS, 0, 3)
    });
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    assert!(error.to_string().contains(&why.to_string()), "{error}");
}

#[test]
fn phases_serve_grids_of_any_size() {
    let queue = queue();
    let [_, even, odd] = pipelines();
    let numbers = Numbers::new(200);
    let phases: Vec<Phase<'_>> = (0..ROUNDS)
        .map(|round| Phase {
            pipeline: if round % 2 == 0 { &even } else { &odd },
            threadgroups: 200.into(),
            threads_per_threadgroup: THREADS.into(),
        })
        .collect();
    // SAFETY: the kernels have a number of each buffer for each thread.
    let dispatch = |encoder: &mut ComputeEncoder<'_>| unsafe { dispatch_phases(encoder, &phases) };
    numbers.run(&queue, dispatch).unwrap();
    numbers.assert_went_around();
}

#[cfg(software_metal)]
#[test]
fn a_probe_that_does_not_compile_is_an_error() {
    let name = "grid::a_probe_that_does_not_compile_is_an_error";
    metal_bridge_test_support::in_child(name, || {
        let queue = queue();
        metal_bridge_test_support::failures::fail_compile(1);
        let made = GridSync::new(&queue);
        assert!(matches!(made, Err(Error::Compile(_))), "{made:?}");
        let sync = GridSync::new(&queue).unwrap();
        let [around, ..] = pipelines();
        let support = sync.supports_grid_sync(&around, 1, THREADS, 0).unwrap();
        assert!(matches!(support, GridSyncSupport::Barrier { .. }));
    });
}
