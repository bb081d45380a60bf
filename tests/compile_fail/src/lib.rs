//! Holds the test `borrow_rules` and its cases: programs that the compiler has to refuse.

pub mod within_the_rules;
