//! groups 2 1 1
//! fill values random -20 20
// Every way through a function that the language has.
@group(0) @binding(0) var<storage, read> values: array<i32, 128>;
@group(0) @binding(1) var<storage, read_write> result: array<vec4<i32>, 128>;

const TABLE = array<i32, 5>(3, 1, 4, 1, 5);
override scale: i32 = 3;
var<private> calls: i32 = 2;

fn switched(value: i32) -> i32 {
    switch value {
        case -3, -2, -1: {
            return 10;
        }
        case 0: {
            if calls > 100 {
                break;
            }
            return 20;
        }
        case 1, default: {
            calls += 1;
        }
        case 2: {
            var n = 0;
            loop {
                n += 1;
                switch n {
                    case 4: {
                        continue;
                    }
                    case 9: {
                        return n * 100;
                    }
                    default: {
                    }
                }
                if n > 20 {
                    break;
                }
            }
        }
    }
    return value * calls;
}

fn collatz(start: i32) -> i32 {
    var n = abs(start) + 1;
    var steps = 0;
    while n != 1 {
        if (n & 1) == 0 {
            n /= 2;
            continue;
        }
        n = 3 * n + 1;
        steps++;
    }
    return steps;
}

fn nested(limit: i32) -> i32 {
    var sum = 0;
    for (var i = 0; i < 12; i++) {
        if i == 7 {
            continue;
        }
        for (var j = i; ; j += 2) {
            if j > limit {
                break;
            }
            sum += j * i;
            if sum > 5000 {
                return -sum;
            }
        }
    }
    var k = 0;
    loop {
        sum ^= k;
        continuing {
            k += 3;
            break if k > 30;
        }
    }
    return sum;
}

fn bump(target_value: ptr<function, i32>, by: i32) -> bool {
    *target_value += by;
    return *target_value > 4;
}

fn shadowed(value: i32) -> i32 {
    var x = value;
    var calls_copy = value / 3;
    {
        let x = x * 2;
        if bump(&calls_copy, x) || bump(&calls_copy, 1) {
            calls_copy -= 3;
        }
        if bump(&calls_copy, 2) && bump(&calls_copy, -x) {
            return calls_copy;
        }
    }
    x--;
    return x - calls_copy;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let value = values[id.x];
    var table = TABLE;
    table[u32(abs(value)) % 5u] *= scale;
    var chosen = array<vec2<i32>, 2>(vec2<i32>(value, table[1]), vec2<i32>(table[3], -value));
    chosen[id.x & 1u][id.x >> 6u] = table[2];
    let first = switched(value % 6);
    let second = collatz(value) + nested(value);
    let third = shadowed(value) + calls;
    let fourth = select(chosen[0].x, chosen[1].y, any(chosen[0] < chosen[1]) && !all(chosen[0] == chosen[1]));
    result[id.x] = vec4<i32>(first, second, third, fourth * TABLE[id.x % 5u]);
}
