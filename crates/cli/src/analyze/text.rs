//! The report as text.

use std::io::{self, Write};

use metal_bridge::analysis::{
    AccessProfile, CoreLimits, KernelProfile, MeetingProfile, Recommendation, Space,
};

use super::Report;
use super::computed;
use super::names::{access_name, line_name, object_name, pattern_name, percent};
use crate::table::Table;

pub fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if report.profile.kernels.is_empty() {
        writeln!(out, "no kernel ran")?;
    }
    for kernel in &report.profile.kernels {
        print_kernel(out, kernel, &report.core)?;
    }
    print_advice(out, &report.recommendations)
}

/// What ran, in a sentence.
pub fn headline(kernel: &KernelProfile) -> String {
    let counted = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let launches = match kernel.launches {
        1 => "1 launch".to_owned(),
        many => format!("{many} launches"),
    };
    let [x, y, z] = kernel.threads_per_threadgroup;
    format!(
        "{launches}, {} in {} of up to {x} x {y} x {z}, {} of threadgroup memory",
        counted(kernel.threads, "thread"),
        counted(kernel.threadgroups, "threadgroup"),
        counted(kernel.threadgroup_memory, "byte"),
    )
}

fn print_kernel(out: &mut impl Write, kernel: &KernelProfile, core: &CoreLimits) -> io::Result<()> {
    writeln!(out, "kernel {}: {}", kernel.name, headline(kernel))?;
    if let Some(occupancy) = kernel.occupancy(core) {
        writeln!(
            out,
            "  occupancy (estimated, of {} cores like those of M1): {} threads a core, {:.0} %, limited by {}",
            core.cores,
            occupancy.threads,
            100.0 * occupancy.share,
            occupancy.limit.name()
        )?;
    }
    let accesses = kernel.accesses_by_line();
    let is_threadgroup = |access: &&AccessProfile| access.object.space == Space::Threadgroup;
    let (shared, other): (Vec<_>, Vec<_>) = accesses.iter().partition(is_threadgroup);
    print_lines(out, &other)?;
    print_turns(out, &shared)?;
    print_objects(out, kernel)?;
    computed::print(out, kernel)?;
    print_meetings(out, "barrier", &kernel.barriers)?;
    print_meetings(out, "SIMD-group function", &kernel.simd_functions)?;
    let accesses = kernel.accesses.iter().map(|access| access.unmatched);
    let branches = kernel.branches.iter().map(|branch| branch.unmatched);
    let unmatched: u64 = accesses.chain(branches).sum();
    if unmatched > 0 {
        writeln!(
            out,
            "  {unmatched} accesses and branches of single lanes are in no figure: too many were waiting for other lanes"
        )?;
    }
    writeln!(out)
}

/// Device and constant memory.
fn print_lines(out: &mut impl Write, accesses: &[&AccessProfile]) -> io::Result<()> {
    let head = [
        "line",
        "access",
        "times",
        "lanes",
        "pattern",
        "asked",
        "lines",
        "least",
        "used",
        "misaligned",
    ];
    let mut table = Table::new(head);
    for access in accesses {
        table.push([
            line_name(&access.at),
            access_name(access),
            access.executions.to_string(),
            percent(access.lanes, access.all_lanes),
            pattern_name(access),
            format!("{} B", access.bytes),
            access.lines_of_128.to_string(),
            access.least_lines_of_128.to_string(),
            format!("{:.0} %", 100.0 * access.coalescing().efficiency()),
            percent(access.misaligned, access.executions),
        ]);
    }
    table.print_section(out)
}

/// Threadgroup memory.
fn print_turns(out: &mut impl Write, accesses: &[&AccessProfile]) -> io::Result<()> {
    let mut table = Table::new([
        "line",
        "access",
        "times",
        "lanes",
        "pattern",
        "turns",
        "least",
        "conflicts",
    ]);
    for access in accesses {
        table.push([
            line_name(&access.at),
            access_name(access),
            access.executions.to_string(),
            percent(access.lanes, access.all_lanes),
            pattern_name(access),
            access.turns.to_string(),
            access.least_turns.to_string(),
            format!("{:.1} x", access.bank_conflicts().degree()),
        ]);
    }
    table.print_section(out)
}

fn print_objects(out: &mut impl Write, kernel: &KernelProfile) -> io::Result<()> {
    let mut table = Table::new([
        "object",
        "bytes",
        "read",
        "times each",
        "unread of its lines",
        "written",
    ]);
    for object in &kernel.objects {
        let incomplete = if object.complete { "" } else { "at least " };
        table.push([
            object_name(&object.object),
            object.length.to_string(),
            format!("{incomplete}{} B", object.read),
            object
                .reuse()
                .map_or("-".to_owned(), |times| format!("{times:.1}")),
            format!("{} B", object.unread()),
            format!("{incomplete}{} B", object.written),
        ]);
    }
    table.print_section(out)
}

fn print_meetings(out: &mut impl Write, what: &str, meetings: &[MeetingProfile]) -> io::Result<()> {
    let mut table = Table::new([what, "times", "lanes", "balance of work before"]);
    for meeting in meetings {
        table.push([
            line_name(&meeting.at),
            meeting.executions.to_string(),
            percent(meeting.lanes, meeting.all_lanes),
            percent(meeting.work, meeting.full_work),
        ]);
    }
    table.print_section(out)
}

fn print_advice(out: &mut impl Write, recommendations: &[Recommendation]) -> io::Result<()> {
    if recommendations.is_empty() {
        return writeln!(out, "no advice");
    }
    writeln!(out, "advice, by estimated gain:")?;
    for recommendation in recommendations {
        writeln!(out, "  {recommendation}")?;
    }
    Ok(())
}
