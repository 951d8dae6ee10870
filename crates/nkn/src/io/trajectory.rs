//! Trajectories: the states of a system at many times in one array, with an axis of times behind the samples.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | an output, `u` | N x T x s …, N x T x M with `points`; x k of a vector; with `offsets` all points x T | its states |
//! | the input that gets it | N x s … | the state to begin with; left out: the first of the T states |
//!
//! Where the first of the T states is the state to begin with, it is at time 0, and the next one is that after one step; else the
//! first one is. All other arrays are those of a data set (`assemble.rs`).

use super::assemble::assemble;
use super::dataset::{check_names, file_arrays, places, write_arrays};
use super::npy::read_npy_folder;
use super::{Array, NamedArray};
use crate::field::{Field, Samples, dimensions};
use crate::model::Feed;
use crate::{Error, Result};
use std::path::Path;

/// Reads trajectories of the outputs of these names: the samples of every step, with the state to begin with among the inputs and
/// the states after that step as outputs.
pub fn read_trajectories(path: &Path, outputs: &[String], feeds: &[Feed], steps: usize) -> Result<Vec<Samples>> {
    let mut arrays = if path.is_dir() { read_npy_folder(path)? } else { file_arrays(path, None)? };
    let mut states: Vec<(String, Vec<Array>)> = Vec::new();
    for name in outputs {
        let Some(place) = arrays.iter().position(|array| array.name == *name) else {
            let found: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
            let problem = format!("has no array `{name}`; it has {found:?}");
            return Err(Error::file(path, problem, "store the states of all times under the output's name"));
        };
        let mut times = split(path, arrays.remove(place))?;
        let feed = feeds.iter().find(|feed| feed.output == *name);
        let has_input = |input: &str| arrays.iter().find(|array| array.name == input);
        match feed.map(|feed| (feed, has_input(&feed.input))) {
            // The first time is the state to begin with.
            Some((_, Some(input))) if input.values == times[0].values => drop(times.remove(0)),
            Some((feed, None)) => arrays.push(Array { name: feed.input.clone(), ..times.remove(0) }),
            _ => {}
        }
        if times.len() < steps {
            let problem = format!("array `{name}` has states after {} steps, not after {steps}", times.len());
            return Err(Error::file(path, problem, "ask for fewer steps"));
        }
        states.push((name.clone(), times));
    }
    let at = |step: usize| {
        let states = states.iter().map(|(_, times)| times[step].clone());
        assemble(path, arrays.iter().cloned().chain(states).collect(), outputs)
    };
    (0..steps).map(at).collect()
}

/// The states of each time: an array without its second axis.
fn split(path: &Path, array: Array) -> Result<Vec<Array>> {
    let Array { name, shape, values } = array;
    let &[rows, times, ref rest @ ..] = shape.as_slice() else {
        return Err(no_times(path, &name, &shape));
    };
    if rows * times == 0 || values.is_empty() {
        return Err(no_times(path, &name, &shape));
    }
    let shape: Vec<usize> = [rows].iter().chain(rest).copied().collect();
    let length = values.len() / rows / times;
    let state = |time: usize| {
        let own = values.chunks_exact(length).skip(time).step_by(times).flatten().copied().collect();
        Array { name: name.clone(), shape: shape.clone(), values: own }
    };
    Ok((0..times).map(state).collect())
}

fn no_times(path: &Path, name: &str, shape: &[usize]) -> Error {
    let problem = format!("array `{name}` has the shape {}; expected samples x times x nodes", dimensions(shape));
    Error::file(path, problem, "with steps, the output has an axis of times behind the samples")
}

/// Writes what a model's `rollout` from these samples gave: the inputs as they were, and every output with an axis of times
/// behind the samples. Where an output is fed back, its first time is the state to begin with.
pub fn write_trajectories(path: &Path, first: &Samples, steps: &[Samples], feeds: &[Feed]) -> Result<()> {
    if path.extension().is_some_and(|extension| extension == "vtu" || extension == "vti") {
        let (expected, hint) = ("a file that ends with .npz or .h5", "a mesh holds one state");
        return Err(Error::invalid("the file for time steps", expected, path.display(), hint));
    }
    let outputs = steps.last().map_or(&[][..], Samples::outputs);
    check_names(first.fields().iter().chain(outputs).map(|field| field.name.as_str()))?;
    let (shape, mut arrays) = places(first)?;
    for field in first.fields() {
        let shape = shape.iter().copied().chain((field.components > 1).then_some(field.components)).collect();
        arrays.push((&field.name, shape, field.values.as_slice().into()));
    }
    for (place, output) in outputs.iter().enumerate() {
        let feed = feeds.iter().find(|feed| feed.output == output.name);
        let before = feed.map(|feed| first.field(&feed.input)).transpose()?;
        let states = before.into_iter().chain(steps.iter().map(|samples| &samples.outputs()[place]));
        arrays.push(joined(&shape, output, &states.map(|field| field.values.as_slice()).collect::<Vec<_>>()));
    }
    write_arrays(path, arrays)
}

/// The states of all times as one array.
fn joined<'a>(shape: &[usize], output: &'a Field, states: &[&[f64]]) -> NamedArray<'a> {
    let length = output.values.len() / shape[0];
    let row = |row: usize| states.iter().flat_map(move |state| &state[row * length..(row + 1) * length]).copied();
    let values: Vec<f64> = (0..shape[0]).flat_map(row).collect();
    let components = (output.components > 1).then_some(output.components);
    let shape = [shape[0], states.len()].into_iter().chain(shape[1..].iter().copied()).chain(components).collect();
    (&output.name, shape, values.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Clouds, Grid, PointCloud};
    use crate::field::Values;

    fn feed() -> Vec<Feed> {
        vec![Feed { input: "u_0".into(), output: "u".into() }]
    }

    fn counted(from: usize, count: usize) -> Vec<f64> {
        (from..from + count).map(|value| value as f64).collect()
    }

    /// What is written is read again, on a grid, with vectors, and on a cloud for each sample.
    #[test]
    fn trajectories_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let clouds = Clouds::new(vec![
            PointCloud::new(1, vec![0.0, 1.0], 1.0).unwrap(),
            PointCloud::new(1, vec![0.0, 0.5, 1.0], 1.0).unwrap(),
        ])
        .unwrap();
        let grid = Grid::unit(&[3, 4]).unwrap().periodic(&[true, false]).unwrap();
        for name in ["u.npz", "u.h5"] {
            let path = folder.path().join(name);
            for (on, numbers, components) in [
                (Samples::on(grid.clone()), 2 * 12, 1),
                (Samples::on(grid.clone()), 2 * 12, 2),
                (Samples::on(clouds.clone()), 5, 2),
            ] {
                let state = |step: usize| Values::vectors(components, counted(100 * step, numbers * components));
                let first = on.input("u_0", state(0)).unwrap().input("z", counted(7, numbers)).unwrap();
                let steps: Vec<Samples> = (1..4).map(|step| first.clone().output("u", state(step)).unwrap()).collect();
                write_trajectories(&path, &first, &steps, &feed()).unwrap();
                let sets = read_trajectories(&path, &["u".into()], &feed(), 2).unwrap();
                assert_eq!(sets, steps[..2]);
            }
        }
    }

    #[test]
    fn the_first_state_may_be_the_first_of_the_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.npz");
        let write = |arrays: Vec<NamedArray>| write_arrays(&path, arrays).unwrap();
        let read = |steps: usize| read_trajectories(&path, &["u".into()], &feed(), steps);
        // Two samples, four times, three nodes.
        let trajectory = || ("u", vec![2, 4, 3], counted(0, 24).into());
        write(vec![trajectory()]);
        let sets = read(3).unwrap();
        assert_eq!(sets[0].field("u_0").unwrap().values, [0.0, 1.0, 2.0, 12.0, 13.0, 14.0]);
        assert_eq!(sets[2].output_values().unwrap(), [9.0, 10.0, 11.0, 21.0, 22.0, 23.0]);
        assert!(read(4).unwrap_err().to_string().contains("after 3 steps, not after 4"));
        // Another state to begin with: the first of the times is that after one step.
        write(vec![trajectory(), ("u_0", vec![2, 3], counted(50, 6).into())]);
        assert_eq!(read(4).unwrap()[0].output_values().unwrap()[..3], [0.0, 1.0, 2.0]);
        write(vec![("u_0", vec![2, 3], counted(0, 6).into())]);
        assert!(read(1).unwrap_err().to_string().contains("has no array `u`"));
        write(vec![("u", vec![6], counted(0, 6).into())]);
        assert!(read(1).unwrap_err().to_string().contains("samples x times x nodes"));
    }
}
