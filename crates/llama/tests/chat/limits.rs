//! Templates that would take all memory, or no end, and what stops each.

use metal_bridge_llama::chat::{ChatError, ChatOptions, ChatTemplate};

use super::{fails, template, tokenizer};

#[test]
fn templates_that_loop_or_write_without_end_are_stopped() {
    let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% set x = a * b %}{% endfor %}{% endfor %}";
    assert!(matches!(fails(loops), ChatError::TooManySteps));
    let calls = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
    assert!(matches!(fails(calls), ChatError::Failed { .. }));
    let writes = "{% for a in range(9999) %}{{ 'long' * 9999 }}{% endfor %}";
    assert!(matches!(fails(writes), ChatError::TooLong));
    let huge = "{{ 'x' * 99999999999999 }}";
    assert!(matches!(fails(huge), ChatError::TooLong));
}

/// Each would end the program: for want of memory, or because a capacity overflows.
#[test]
fn templates_do_not_make_memory_of_a_number() {
    for expression in [
        "[1]|slice(99999999999999999)",
        "[1]|slice(18446744073709551615)",
        "[1]|batch(99999999999999999.0)",
        "'a'|indent(99999999999999999)",
        "'a'|indent(width=99999999999999999)",
        "'%099999999999d'|format(1)",
        "'%.70000f'|format(1.5)",
        "'%(a%b)099999999999d'|format({'a%b': 1})",
        "'{:>99999999999}'.format('a')",
    ] {
        let error = fails(&format!("{{{{ {expression} }}}}"));
        let text = error.to_string();
        assert!(text.contains("exceeds 9999"), "{expression}: {text}");
    }
    let source = "{{ [1, 2, 3]|slice(2) }} {{ [1, 2, 3]|batch(2) }} {{ 'a\nb'|indent(width=3) }} \
        {{ '12345 %03d'|format(7) }} {{ '12345 {:>3}'.format('a') }}";
    let text = template(source).render(&tokenizer(false), &[], &ChatOptions::default());
    let expected = "[[1, 2], [3]] [[1, 2], [3]] a\n   b 12345 007 12345   a";
    assert_eq!(text.unwrap(), expected);
}

#[test]
fn single_instructions_make_no_text_without_bound() {
    let long = "{% set a = 'a' * 1000000 %}{% set n = '\n' * 100000 %}";
    for expression in [
        "a|replace('a', a)",
        "a|replace('', a)",
        "a.replace('a', a)",
        "a.replace('', a, 1000000)",
        "a|join(a)",
        "range(10000)|join(a)",
        "a.join(range(10000))",
        "([a] * 12)|join",
        "n|indent(9999)",
        "n|indent(width=9999)",
        "('%(a)9999d' * 100000)|format({'a': 1})",
        "('%(a)s' * 100000)|format({'a': a})",
        "('%(a)s' * 100000)|format(a=a)",
        "('{0}' * 100000).format(a)",
        "('{a}' * 100000).format(a=a)",
    ] {
        let error = fails(&format!("{long}{{{{ ({expression})|length }}}}"));
        let text = error.to_string();
        assert!(text.contains("longer than 8 MiB"), "{expression}: {text}");
    }
    let source = "{{ 'aé'.count('') }} {{ 'abab'.count('ab') }} {{ 'ab'.replace('', '-') }} {{ 'ab'|replace('b', '') }} \
        {{ ['a', 'b']|join(', ') }} {{ '-'.join(['a', 'b']) }} {{ 'ab'|join('-') }} {{ '{a}{a}'.format(a='x') }}";
    let text = template(source).render(&tokenizer(false), &[], &ChatOptions::default());
    assert_eq!(text.unwrap(), "3 2 -a-b- a a, b a-b a-b xx");
}

/// Each would take all memory, or hours, within the limit of steps.
#[test]
fn steps_make_no_more_than_a_budget_together() {
    let loops = |step: &str| {
        format!(
            "{{% set ns = namespace(x='abcdefgh' * 8, l=[]) %}}{{% for i in range(9999) %}}{step}{{% endfor %}}"
        )
    };
    let long = "{% set a = 'a' * 8000000 %}";
    let list = "{% set list = range(9999)|list %}";
    let raw = "text ".repeat(2000);
    let tokenizer = tokenizer(false);
    for source in [
        loops("{% set ns.x = ns.x ~ ns.x %}"),
        loops("{% set ns.x = ns.x + ns.x %}"),
        loops("{% set ns.x = ns.x * 2 %}"),
        loops("{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"),
        loops("{% set ns.l = (ns.l + [1]) * 99 %}"),
        format!("{list}{}", loops("{% set x = list[1:] %}")),
        format!("{long}{}", loops("{% set x = a.upper() %}")),
        format!(
            "{{% macro m(x) %}}{{{{ x }}}}{{{{ x }}}}{{% endmacro %}}{}",
            loops("{% set ns.x = m(ns.x) %}")
        ),
        format!("{long}{{% set x = a{} %}}", "~a".repeat(2000)),
        format!(
            "{{% set x %}}{}{{% endset %}}",
            loops(&format!("{raw}{{{{ 1 }}}}")).repeat(4)
        ),
        format!(
            "{{% block b %}}{}{{% endblock %}}",
            loops("{% set ns.x = ns.x ~ ns.x %}")
        ),
    ] {
        let rendered = template(&source).render(&tokenizer, &[], &ChatOptions::default());
        let shown = &source[..source.len().min(200)];
        // What makes a text may read one as long.
        let is_refused = matches!(rendered, Err(ChatError::TooLong | ChatError::TooManySteps));
        assert!(is_refused, "{shown}: {:?}", rendered.map(|text| text.len()));
    }
}

/// What recurses into lists would overflow the stack, or go on for hours: the same list is in each list twice.
#[test]
fn lists_hold_neither_themselves_nor_too_many() {
    let make = |step: &str| {
        format!(
            "{{% set ns = namespace(x=1) %}}{{% for i in range(9999) %}}{{% set {step} %}}{{% endfor %}}{{{{ ns.x ~ '' }}}}"
        )
    };
    let tokenizer = tokenizer(false);
    for step in [
        "ns.x = ns",
        "ns.x = [ns]",
        "ns.x = namespace(a=ns)",
        "ns.x = [ns.x]",
        "ns.x = {'a': ns.x}",
        "ns.x = namespace(a=ns.x)",
        "ns.x = [ns.x]|batch(1)",
        "ns.x = [ns.x, ns.x]",
        "ns.x = ([0] * 99999999)|list",
    ] {
        let error = fails(&make(step)).to_string();
        let is_named = [
            " in each other",
            "a namespace is in",
            "makes texts and lists",
        ];
        let is_named = is_named.iter().any(|part| error.contains(part));
        assert!(is_named, "{step}: {error}");
    }
    let indented = "{% set x = [[[[[[[[0] * 9999]]]]]]]|tojson(indent=64) %}";
    assert!(
        fails(&indented.replace("9999", "99999"))
            .to_string()
            .contains("file too large")
    );
    let fine = "{% set ns = namespace(l=[], n=0) %}{% for i in range(3) %}{% set ns.l = ns.l + [[i]] %}\
        {% set ns.n = ns.n + ns.l|length %}{% endfor %}{{ ns.l }}{{ ns.n }}{{ [1] ~ 'a' }}{{ ['b', ns.n] ~ '' }}";
    let text = template(fine).render(&tokenizer, &[], &ChatOptions::default());
    assert_eq!(text.unwrap(), "[[0], [1], [2]]6[1]a['b', 6]");
}

#[test]
fn deep_templates_are_rendered_or_refused() {
    // The template engine takes a time for some that grows with the square of their length.
    for (first, again, count) in [
        ("a", ".b", 9_900),
        ("1", "+1", 9_900),
        ("'a'", "~a", 2_000),
        ("a", " and a", 2_000),
        ("a", "|f", 9_900),
        ("a", "[0]", 6_600),
        ("a", "()", 9_900),
        ("a", " is b", 9_900),
        ("a", "**a", 2_000),
        ("a", " if a else a", 4_900),
    ] {
        let source = format!("{{{{ {first}{} }}}}", again.repeat(count));
        // Some fail, since there is no such filter, function or test: without an abort.
        if let Ok(template) = ChatTemplate::new(source) {
            let _ = template.render(&tokenizer(false), &[], &ChatOptions::default());
        }
    }
    let prefixes = ["- ", "not "].map(|sign| format!("{{{{ {}1 }}}}", sign.repeat(19_000)));
    let branches = "{% elif a %}".repeat(4_000);
    let branches = format!("{{% if a %}}{branches}{{% endif %}}");
    for source in prefixes.into_iter().chain([branches]) {
        let _ = ChatTemplate::new(source)
            .map(|template| template.render(&tokenizer(false), &[], &ChatOptions::default()));
    }

    let long = format!("{{{{ a }}}}\n{{{{ a{} }}}}", ".b".repeat(10_000));
    let refused = ChatTemplate::new(long).unwrap_err();
    assert!(
        matches!(refused, ChatError::Syntax { line: 2, .. }),
        "{refused}"
    );
    // Numbers that the template engine does not compute with.
    assert!(matches!(
        fails("{{ 'abc'[::-9223372036854775808] }}"),
        ChatError::Failed { .. }
    ));
}
