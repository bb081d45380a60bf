//! The rules that the handles leave to the compiler: each case breaks one, and has to be refused for it.

#[test]
fn what_breaks_the_rules_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("cases/within_the_rules.rs");
    cases.compile_fail("cases/refused_*.rs");
}
