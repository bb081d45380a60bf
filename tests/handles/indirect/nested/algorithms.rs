//! Quicksort, a quadtree and breadth-first search.

use std::collections::VecDeque;

use super::*;

#[test]
fn quicksort_sorts() {
    let kernels = kernels("quicksort", 2048, 40);
    for (seed, (length, distinct)) in [(1, 5), (33, 9), (700, 3), (3000, 1 << 30)]
        .iter()
        .enumerate()
    {
        let mut state = seed as u64;
        let values: Vec<i32> = (0..*length)
            .map(|_| random(&mut state, *distinct) as i32 - 7)
            .collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        for by_gpu in [true, false] {
            let sorted = filled(&values);
            let root = NestedLaunch::new(0, 1, 1, &[0, *length]).unwrap();
            let run = run_from(&kernels, by_gpu, &[root], &[&sorted]).unwrap();
            assert_eq!(*sorted.wait_read::<i32>().unwrap(), *expected);
            assert!(run.launches >= run.levels && run.levels >= 1);
            assert_eq!(run.levels == 1, *length <= 32, "{run:?}");
            assert!(run.elapsed >= run.cpu_time && run.gpu_time > std::time::Duration::ZERO);
        }
    }
}

const SIDE: f32 = 1024.0;

/// The depth of each point's leaf.
fn quadtree(
    points: &[[f32; 2]],
    corner: [f32; 2],
    side: f32,
    depth: u32,
    leaves: &mut Vec<([u32; 2], u32)>,
) {
    if points.len() <= 8 {
        leaves.extend(points.iter().map(|point| (point.map(f32::to_bits), depth)));
        return;
    }
    let half = side / 2.0;
    for quarter in 0..4 {
        let is_right = |point: &[f32; 2]| point[0] >= corner[0] + half;
        let is_upper = |point: &[f32; 2]| point[1] >= corner[1] + half;
        let own =
            |point: &[f32; 2]| (is_right(point) as u32 + 2 * is_upper(point) as u32) == quarter;
        let part: Vec<[f32; 2]> = points.iter().copied().filter(own).collect();
        let moved = [
            corner[0] + (quarter % 2) as f32 * half,
            corner[1] + (quarter / 2) as f32 * half,
        ];
        quadtree(&part, moved, half, depth + 1, leaves);
    }
}

#[test]
fn a_quadtree_finds_the_depth_of_each_point() {
    let kernels = kernels("quadtree", 4096, 24);
    for (seed, count) in [4, 60, 900].into_iter().enumerate() {
        let mut state = seed as u64;
        // Many in one corner, so that branches differ.
        let mut coordinate = || random(&mut state, 1 << 18) as f32 / 256.0;
        let points: Vec<[f32; 2]> = (0..count)
            .map(|i| [coordinate(), coordinate()].map(|x| if i % 2 == 0 { x / 64.0 } else { x }))
            .collect();
        let mut expected = Vec::new();
        quadtree(&points, [0.0; 2], SIDE, 0, &mut expected);
        expected.sort_unstable();
        for by_gpu in [true, false] {
            let (sorted, scratch) = (filled(&points), filled(&points));
            let depths = filled(&vec![u32::MAX; count]);
            let corner = [0, count as u32, 0, 0, SIDE.to_bits()];
            let root = NestedLaunch::new(0, 32, 32, &corner).unwrap();
            let run = run_from(&kernels, by_gpu, &[root], &[&sorted, &scratch, &depths]).unwrap();
            let found = depths.wait_read::<u32>().unwrap();
            let mut found: Vec<([u32; 2], u32)> = sorted
                .wait_read::<[f32; 2]>()
                .unwrap()
                .iter()
                .map(|point| point.map(f32::to_bits))
                .zip(found.iter().copied())
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{run:?}");
            let deepest = expected.iter().map(|(_, depth)| *depth).max().unwrap();
            assert_eq!(run.levels, deepest as usize + 1);
        }
    }
}

/// Where the edges of each node begin, and where they lead.
fn random_graph(state: &mut u64, nodes: usize, most_edges: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut starts, mut edges) = (vec![0], Vec::new());
    for _ in 0..nodes {
        let degree = random(state, most_edges + 1);
        edges.extend((0..degree).map(|_| random(state, nodes) as u32));
        starts.push(edges.len() as u32);
    }
    // No buffer is empty.
    edges.push(0);
    (starts, edges)
}

fn distances_from(node: usize, starts: &[u32], edges: &[u32]) -> Vec<u32> {
    let mut distances = vec![u32::MAX; starts.len() - 1];
    distances[node] = 0;
    let mut waiting = VecDeque::from([node]);
    while let Some(node) = waiting.pop_front() {
        for &next in &edges[starts[node] as usize..starts[node + 1] as usize] {
            if distances[next as usize] == u32::MAX {
                distances[next as usize] = distances[node] + 1;
                waiting.push_back(next as usize);
            }
        }
    }
    distances
}

#[test]
fn breadth_first_search_finds_the_distances() {
    let kernels = kernels("search", 1000, 64);
    for (seed, (nodes, most_edges)) in [(5, 1), (300, 2), (300, 80), (1000, 3)]
        .into_iter()
        .enumerate()
    {
        let mut state = 7 + seed as u64;
        let (starts, edges) = random_graph(&mut state, nodes, most_edges);
        let first = (0..nodes)
            .find(|&node| starts[node] < starts[node + 1])
            .unwrap();
        let expected = distances_from(first, &starts, &edges);
        let (given_starts, given_edges) = (filled(&starts), filled(&edges));
        for by_gpu in [true, false] {
            let mut unreached = vec![u32::MAX; nodes];
            unreached[first] = 0;
            let distances = filled(&unreached);
            let degree = (starts[first + 1] - starts[first]) as usize;
            let root = NestedLaunch::new(0, degree, 32, &[first as u32]).unwrap();
            let buffers = [&given_starts, &given_edges, &distances];
            let run = run_from(&kernels, by_gpu, &[root], &buffers).unwrap();
            assert_eq!(*distances.wait_read::<u32>().unwrap(), *expected, "{run:?}");
            let reached =
                |node: &usize| expected[*node] != u32::MAX && starts[*node] < starts[node + 1];
            assert_eq!(run.launches, (0..nodes).filter(reached).count());
        }
    }
}
