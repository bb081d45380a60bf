//! Templates that would read for hours, or compute before their first step, and honest ones for many messages.

use std::fs;

use metal_bridge_llama::chat::{ChatError, ChatOptions, ChatTemplate, Message};

use super::{fails, template, tokenizer};

#[test]
fn literals_make_no_more_than_a_text_may_have() {
    for expression in [
        "'a' * 99999999",
        "99999999 * 'a'",
        "'a' * (9999 * 9999)",
        "'a' * 9 ** 9",
        "[0] * 9999999",
        "[] * 99999999999999999",
        "(([0] * 999999) ~ 'x')",
        "['a' * 999999 * 9]",
        "{'a': 1, 'b': ('a' * 999999) * 9}",
        "('a' * 99999999) == 'b'",
        "'a' in ['a', 'b'] * 9999999",
        "x or 'a' * 99999999",
        "x ~ 'a' * 99999999",
        "x[1:'a' * 99999999]",
        "x['a' * 99999999]",
        "x('a' * 99999999, a='b')",
        "x.y(*'a' * 99999999)",
        "x|f(a='a' * 99999999)",
        "x is f('a' * 99999999)",
        "('a' * 99999999 if x else 1)",
        "-('a' * 99999999)",
        "not 'a' * 99999999",
        "1 < 2 < 'a' * 99999999",
    ] {
        for source in [
            format!("{{{{ {expression} }}}}"),
            format!("{{% set x = {expression} %}}"),
            format!("{{% for a in b if {expression} %}}{{% else %}}{{% endfor %}}"),
            format!("{{% macro m(a={expression}) %}}{{% endmacro %}}"),
            format!("{{% if a %}}{{% elif {expression} %}}{{% endif %}}"),
            format!("{{% block b %}}{{% with a={expression} %}}{{% endwith %}}{{% endblock %}}"),
            format!("{{% call(a) m({expression}) %}}{{% endcall %}}"),
            format!("{{% set x | f({expression}) %}}{{% endset %}}"),
            format!("{{% filter f({expression}) %}}{{% endfilter %}}"),
        ] {
            let refused = ChatTemplate::new(source.clone()).map(drop);
            assert!(
                matches!(refused, Err(ChatError::TooLong)),
                "{source}: {refused:?}"
            );
        }
    }
    // Each is small enough, but all are computed for each of the signs around them.
    let again = format!("{{{{ x{} }}}}", " ~ ('a' * 99999)".repeat(90));
    assert!(matches!(ChatTemplate::new(again), Err(ChatError::TooLong)));
    let honest = "{{ '-' * 3 }}{{ [0] * (6 // 2) }}{{ 'a' ~ 1 ~ [1] }}{{ (x or 'ab') * 2 }}{{ -1 < 2 < 3 and not 0 }}";
    let text = template(honest).render(&tokenizer(false), &[], &ChatOptions::default());
    assert_eq!(text.unwrap(), "---[0, 0, 0]a1[1]ababTrue");
}

/// Each step reads some megabytes, and no number of steps says how many.
#[test]
fn steps_read_no_more_than_a_budget_together() {
    let makes = "{% set a = 'ab' * 4000000 %}{% set b = 'ab' * 4000000 %}{% set list = range(99999)|list %}";
    for step in [
        "{% set x = a == b %}",
        "{% set x = a <= b <= a %}",
        "{% set x = 'no' in a %}",
        "{% set x = a|length %}",
        "{% set x = a[3] %}",
        "{% set x = a[3:4] %}",
        "{% set x = a.endswith(b) %}",
        "{% set x = a is eq b %}",
        "{% for c in a %}{% break %}{% endfor %}",
        "{% set x = {a: 1} %}",
        "{% set x = {}[a] %}",
        "{% set x = {}.get(a) %}",
        "{% set x = list == list %}",
        "{% set x = list|sort|first %}",
        "{% set x = [a]|select('eq', b)|first %}",
        "{% set x = [1]|map(attribute=a, default=1)|first %}",
        "{% set x = 'a'|default(*[a]) %}",
        "{% for c in [1] recursive %}{% set l = loop %}{% if c == 1 %}{% set x = l(a) %}{% else %}{% break %}{% endif %}{% endfor %}",
    ] {
        let source = format!("{makes}{{% for i in range(400) %}}{step}{{% endfor %}}");
        let error = fails(&source);
        assert!(matches!(error, ChatError::TooManySteps), "{step}: {error}");
    }
    let strips = "{% set a = 'ab' * 4000000 %}{{ a.strip(('c' * 4000) ~ 'ab')|length }}";
    assert!(matches!(fails(strips), ChatError::TooManySteps));
    let name = format!(
        "{{% for i in range(9) %}}{{{{ {} }}}}{{% endfor %}}",
        "n".repeat(1000)
    );
    assert!(matches!(fails(&name), ChatError::Syntax { .. }));
}

/// One step of each would take more memory than there is.
#[test]
fn filters_count_what_they_make_of_each_element() {
    let list = "{% set l = ['a' * 8000000] * 7 %}";
    for (expression, part) in [
        (
            "range(60000)|map('replace', '1', 'b' * 2000)|list",
            "makes texts",
        ),
        ("('{0}' * 100000).format(l)", "longer than"),
        ("('%(a)s' * 100000)|format(a=l)", "longer than"),
        ("[]|list * 99999999999999999", "makes texts"),
        ("('a'|list)[1:] * 99999999999999999", "makes texts"),
        ("strftime_now(('%Y' * 999)[1:])", "format of a date"),
        ("[1]|chain([1])", "unknown filter"),
    ] {
        let error = fails(&format!("{list}{{{{ ({expression})|length }}}}")).to_string();
        assert!(error.contains(part), "{expression}: {error}");
    }
}

#[test]
fn honest_templates_render_two_thousand_messages() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/chat/templates");
    let sources = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (
            path.display().to_string(),
            fs::read_to_string(&path).unwrap(),
        )
    });
    let mut sources: Vec<(String, String)> = sources.collect();
    assert_eq!(sources.len(), 7);
    for source in [
        "{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [m] %}{% endfor %}{% for m in ns.l %}{{ m.role }}{% endfor %}",
        "{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [{'role': m.role, 'content': m.content}] %}{% endfor %}{{ ns.l }}",
        "{% for m in messages %}{% if m == messages|last or loop.index0 == messages|length - 1 or m.role == messages[-1]['role'] %}{{ m.content }}{% endif %}{% endfor %}",
        "{% for m in messages|reverse %}{% if m.content is string and 'you?' in m.content and m.content|trim|length > 3 %}{{ m.content.split('?')[0].strip() }}{% endif %}{% endfor %}",
    ] {
        sources.push((source.to_owned(), source.to_owned()));
    }
    let tokenizer = tokenizer(false);
    let messages: Vec<Message> = ["user", "assistant"]
        .into_iter()
        .cycle()
        .take(2000)
        .map(|role| Message::new(role, "Hello there, how are you? ".repeat(20)))
        .collect();
    for (name, source) in sources {
        let text = template(&source).render(&tokenizer, &messages, &ChatOptions::default());
        // One of the templates reads what these messages do not have.
        let is_limit = matches!(text, Err(ChatError::TooManySteps | ChatError::TooLong));
        assert!(!is_limit, "{name}: {text:?}");
    }
}
