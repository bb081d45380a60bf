//! The filters, tests and functions that templates have. All count what they read and make, also where another filter calls them
//! for each element of a list (`map`, `select`).

use minijinja::value::{Rest, Value};
use minijinja::{Environment, Error, State, filters, functions, tests};

use super::budget::Budget;
use super::limits;
use super::reads::Reads;

/// Puts all that templates may call into an environment without anything.
pub(super) fn add(environment: &mut Environment<'static>, budget: &Budget) {
    add_filters(environment, budget);
    add_tests(environment, budget);
    environment.add_function("range", functions::range);
    environment.add_function("dict", functions::dict);
    environment.add_function("namespace", functions::namespace);
}

/// Adds a filter that counts.
pub(super) fn add_filter(
    environment: &mut Environment<'static>,
    budget: &Budget,
    name: &'static str,
    reads: Reads,
    filter: Value,
) {
    let budget = budget.clone();
    environment.add_filter(
        name,
        move |state: &State<'_, '_>, arguments: Rest<Value>| -> Result<Value, Error> {
            budget.read(reads, &arguments)?;
            budget.made(filter.call(state, &arguments)?)
        },
    );
}

/// A filter or a test with its name, and what it reads.
macro_rules! named {
    ($(($name:literal, $reads:ident, $function:expr),)*) => {
        [$(($name, Reads::$reads, Value::from_function($function)),)*]
    };
}

/// There are no `chain`, of which each use makes a list that looks into all before it, and which Jinja2 does not have, and no `pprint`,
/// whose text grows with the product of a list's length and its depth. No template of a model needs them.
fn add_filters(environment: &mut Environment<'static>, budget: &Budget) {
    for (name, reads, filter) in named![
        ("abs", Nothing, filters::abs),
        ("attr", Item, filters::attr),
        ("batch", Elements, limits::batch),
        ("bool", Nothing, filters::bool),
        ("capitalize", All, filters::capitalize),
        ("count", Characters, filters::length),
        ("d", Nothing, filters::default),
        ("default", Nothing, filters::default),
        ("dictsort", Sorted, filters::dictsort),
        ("e", All, filters::escape),
        ("escape", All, filters::escape),
        ("first", Nothing, filters::first),
        ("float", All, filters::float),
        ("format", All, limits::format),
        ("groupby", Sorted, filters::groupby),
        ("indent", All, limits::indent),
        ("int", All, filters::int),
        ("items", Elements, filters::items),
        ("join", All, limits::join),
        ("last", Characters, filters::last),
        ("length", Characters, filters::length),
        ("lines", All, filters::lines),
        ("list", Elements, filters::list),
        ("lower", All, filters::lower),
        ("map", Elements, filters::map),
        ("max", Sorted, filters::max),
        ("min", Sorted, filters::min),
        ("reject", Elements, filters::reject),
        ("rejectattr", Elements, filters::rejectattr),
        ("replace", All, limits::replace),
        ("reverse", Elements, filters::reverse),
        ("round", Nothing, filters::round),
        ("safe", All, filters::safe),
        ("select", Elements, filters::select),
        ("selectattr", Elements, filters::selectattr),
        ("slice", Elements, limits::slice),
        ("sort", Sorted, filters::sort),
        ("split", All, filters::split),
        ("sum", Elements, filters::sum),
        ("title", All, filters::title),
        ("tojson", All, super::environment::to_json),
        ("trim", Pairs, filters::trim),
        ("unique", Sorted, filters::unique),
        ("upper", All, filters::upper),
        ("zip", Elements, filters::zip),
    ] {
        add_filter(environment, budget, name, reads, filter);
    }
}

fn add_tests(environment: &mut Environment<'static>, budget: &Budget) {
    for (name, reads, test) in named![
        ("!=", Both, tests::is_ne),
        ("<", Both, tests::is_lt),
        ("<=", Both, tests::is_le),
        ("==", Both, tests::is_eq),
        (">", Both, tests::is_gt),
        (">=", Both, tests::is_ge),
        ("boolean", Nothing, tests::is_boolean),
        ("defined", Nothing, tests::is_defined),
        ("divisibleby", Nothing, tests::is_divisibleby),
        ("endingwith", All, tests::is_endingwith),
        ("eq", Both, tests::is_eq),
        ("equalto", Both, tests::is_eq),
        ("escaped", Nothing, tests::is_safe),
        ("even", Nothing, tests::is_even),
        ("false", Nothing, tests::is_false),
        ("filter", All, tests::is_filter),
        ("float", Nothing, tests::is_float),
        ("ge", Both, tests::is_ge),
        ("greaterthan", Both, tests::is_gt),
        ("gt", Both, tests::is_gt),
        ("in", In, tests::is_in),
        ("int", Nothing, tests::is_integer),
        ("integer", Nothing, tests::is_integer),
        ("iterable", Nothing, tests::is_iterable),
        ("le", Both, tests::is_le),
        ("lessthan", Both, tests::is_lt),
        ("lower", All, tests::is_lower),
        ("lt", Both, tests::is_lt),
        ("mapping", Nothing, tests::is_mapping),
        ("ne", Both, tests::is_ne),
        ("none", Nothing, tests::is_none),
        ("number", Nothing, tests::is_number),
        ("odd", Nothing, tests::is_odd),
        ("safe", Nothing, tests::is_safe),
        ("sameas", Both, tests::is_sameas),
        ("sequence", Nothing, tests::is_sequence),
        ("startingwith", All, tests::is_startingwith),
        ("string", Nothing, tests::is_string),
        ("test", All, tests::is_test),
        ("true", Nothing, tests::is_true),
        ("undefined", Nothing, tests::is_undefined),
        ("upper", All, tests::is_upper),
    ] {
        let budget = budget.clone();
        environment.add_test(
            name,
            move |state: &State<'_, '_>, arguments: Rest<Value>| -> Result<bool, Error> {
                budget.read(reads, &arguments)?;
                Ok(test.call(state, &arguments)?.is_true())
            },
        );
    }
}
