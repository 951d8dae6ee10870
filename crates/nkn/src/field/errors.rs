//! How far a prediction is from the truth.

/// ||prediction - truth||_2 / ||truth||_2 of each sample, both samples x nodes.
///
/// ```
/// let errors = nkn::field::relative_l2(&[1.0, 1.0, 0.0, 3.0], &[1.0, 0.0, 0.0, 2.0], 2);
/// assert_eq!(errors, [1.0, 0.5]);
/// ```
pub fn relative_l2(prediction: &[f64], truth: &[f64], nodes: usize) -> Vec<f64> {
    assert_eq!(prediction.len(), truth.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    prediction
        .chunks_exact(nodes)
        .zip(truth.chunks_exact(nodes))
        .map(|(p, t)| {
            let difference = norm(&mut p.iter().zip(t).map(|(p, t)| p - t));
            difference / norm(&mut t.iter().copied())
        })
        .collect()
}

/// The mean of some numbers.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
