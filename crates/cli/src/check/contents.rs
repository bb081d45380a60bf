//! What is in a source, as tables.

use std::io::{self, Write};

use metal_bridge::software::{
    Access, Argument, ArgumentKind, FunctionConstant, Kernel, SourceCheck,
};

use crate::table::Table;

/// Prints what a source has in it, if anything.
pub fn print(out: &mut impl Write, name: &str, check: &SourceCheck) -> io::Result<()> {
    if !check.succeeded {
        return Ok(());
    }
    let plural = if check.kernels.len() == 1 { "" } else { "s" };
    writeln!(out, "{name}: {} kernel{plural}", check.kernels.len())?;
    for kernel in &check.kernels {
        print_kernel(out, kernel)?;
    }
    print_constants(out, &check.function_constants)
}

fn print_kernel(out: &mut impl Write, kernel: &Kernel) -> io::Result<()> {
    let limit = match kernel.max_total_threads_per_threadgroup {
        0 => String::new(),
        threads => format!(" (at most {threads} threads a threadgroup)"),
    };
    writeln!(out, "\n  kernel {}{limit}", kernel.name)?;
    if !kernel.arguments.is_empty() {
        print_arguments(out, &kernel.arguments)?;
    }
    match kernel.threadgroup_memory {
        None | Some(0) => Ok(()),
        Some(bytes) => writeln!(out, "    declares {bytes} bytes of threadgroup memory"),
    }
}

fn print_arguments(out: &mut impl Write, arguments: &[Argument]) -> io::Result<()> {
    let mut table = Table::new(["index", "name", "type", "access", "bytes", ""]);
    for argument in arguments {
        table.push(argument_row(argument));
        for member in &argument.members {
            table.push([
                String::new(),
                format!("  .{}", member.name),
                member.type_name.clone(),
                format!("at {}", member.offset),
                member.size.to_string(),
                String::new(),
            ]);
        }
    }
    table.print(out)
}

fn argument_row(argument: &Argument) -> [String; 6] {
    let kind = match argument.kind {
        ArgumentKind::Buffer => "buffer",
        ArgumentKind::Threadgroup => "threadgroup",
    };
    let access = match argument.access {
        Access::Read => "read",
        Access::ReadWrite => "read, write",
    };
    let bytes = match argument.size {
        0 => "?".to_owned(),
        size => size.to_string(),
    };
    let condition = if argument.conditional {
        "if a function constant says so"
    } else {
        ""
    };
    [
        format!("{kind}({})", argument.index),
        argument.name.clone(),
        argument.type_name.clone(),
        access.to_owned(),
        bytes,
        condition.to_owned(),
    ]
}

fn print_constants(out: &mut impl Write, constants: &[FunctionConstant]) -> io::Result<()> {
    if constants.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  function constants")?;
    let mut table = Table::new(["index", "name", "type", "value"]);
    for constant in constants {
        let value = if constant.required {
            "required"
        } else {
            "optional"
        };
        let row = [
            &constant.index.to_string(),
            &constant.name,
            &constant.type_name,
            value,
        ];
        table.push(row.map(str::to_owned));
    }
    table.print(out)
}
