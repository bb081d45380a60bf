//! The example `metal_demo`, and what it prints.

#[allow(dead_code)] // Its `main`.
#[path = "../../examples/metal_demo.rs"]
mod example;

#[test]
fn the_demo_prints_what_it_computes() {
    let mut out = Vec::new();
    example::demo(&mut out).expect("the demo");
    let text = String::from_utf8(out).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let [device, sum, product, widths, doubled, ref table @ ..] = lines[..] else {
        panic!("{text}");
    };
    let name = device.strip_prefix("device: ").expect("a device");
    assert!(!name.is_empty(), "{text}");
    assert_eq!(sum, "a + b = [6.0, 8.0, 10.0, 12.0]");
    assert_eq!(product, "a b = [19.0, 22.0, 43.0, 50.0]");
    assert_eq!(doubled, "2 a b = [38.0, 44.0, 86.0, 100.0]");
    let widths = widths.strip_prefix("threadExecutionWidth: 32, maxTotalThreadsPerThreadgroup: ");
    let most: usize = widths.expect("widths").parse().expect("a number");
    assert!(most >= 32, "{text}");
    for operation in ["| Ops::binary add | f32 | 1 |", "| Ops::matmul | f32 | 1 |"] {
        let rows = table.iter().filter(|row| row.starts_with(operation));
        assert_eq!(rows.count(), 1, "{text}");
    }
    assert_eq!(table.len(), 4, "{text}");
}
