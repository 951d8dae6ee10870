//! The frame of operations with a derivative by hand: any number of inputs of any rank, in both precisions, with data of its own.

use crate::linalg::Real;
use crate::operation::{Operation, Seen, operate};
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::sync::{Arc, Mutex};

/// The sum of i x_i² over the inputs x_1 … x_N, number by number.
#[derive(Debug)]
struct Squares {
    /// What the passes were asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl<const N: usize> Operation<N> for Squares {
    /// 2 i x_i.
    type Saved<T: Real> = Vec<Vec<T>>;
    type Double = f64;

    fn shape(&self, inputs: [&[usize]; N]) -> Vec<usize> {
        inputs[0].to_vec()
    }

    fn forward<T: Real>(&self, inputs: [&[T]; N], keep: bool) -> (Vec<T>, Vec<Vec<T>>) {
        self.asked.lock().unwrap().push(format!("keep {keep}"));
        let mut sum = vec![T::ZERO; inputs[0].len()];
        for (i, input) in inputs.iter().enumerate() {
            sum.iter_mut().zip(*input).for_each(|(s, &x)| *s += T::of((i + 1) as f64) * x * x);
        }
        let slope = |(i, input): (usize, &&[T])| input.iter().map(|&x| T::of(2.0 * (i + 1) as f64) * x).collect();
        (sum, if keep { inputs.iter().enumerate().map(slope).collect() } else { Vec::new() })
    }

    fn backward<T: Real>(&self, seen: Seen<T, Vec<Vec<T>>, N>) -> [Option<Vec<T>>; N] {
        let Seen { inputs, output, saved, gradient, wanted } = seen;
        self.asked.lock().unwrap().push(format!("wanted {wanted:?}"));
        assert!(output.len() == gradient.len() && inputs.iter().all(|input| input.len() == output.len()));
        let mut derivatives = saved.into_iter().map(|slopes| slopes.into_iter().zip(gradient).map(|(s, &g)| s * g));
        wanted.map(|wanted| derivatives.next().filter(|_| wanted).map(Iterator::collect))
    }
}

const LENGTH: usize = 6;

fn input(index: usize, device: &Device, dtype: DType) -> Tensor<1> {
    let values: Vec<f64> = (0..LENGTH).map(|k| (index * LENGTH + k + 1) as f64 / 4.0).collect();
    Tensor::from_data(TensorData::new(values, [LENGTH]), (device, dtype))
}

fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.to_data().iter::<f64>().collect()
}

/// N inputs, of ranks one to three in turn; those with an odd number are constants.
fn check<const N: usize>(dtype: DType) {
    let device = Device::flex().autodiff();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let leaves: Vec<Tensor<1>> = (0..N).map(|i| input(i, &device, dtype)).collect();
    let leaves: Vec<Tensor<1>> =
        leaves.into_iter().enumerate().map(|(i, x)| if i % 2 == 0 { x.require_grad() } else { x }).collect();
    let inputs = std::array::from_fn::<_, N, _>(|i| match i % 3 {
        0 => leaves[i].clone().reshape([2, 3]).into_dispatch(),
        1 => leaves[i].clone().into_dispatch(),
        // Not in row-major order: the operation gets it so all the same.
        _ => leaves[i].clone().reshape([1, 2, 3]).swap_dims(1, 2).into_dispatch(),
    });
    let output: Tensor<2> = operate(inputs, Squares { asked: asked.clone() });
    assert_eq!(output.dims(), [2, 3]);
    let turned = |i: usize, k: usize| if i % 3 == 2 { k % 2 * 3 + k / 2 } else { k };
    let at = |i: usize, k: usize| (i * LENGTH + turned(i, k) + 1) as f64 / 4.0;
    let expected: Vec<f64> = (0..LENGTH).map(|k| (0..N).map(|i| (i + 1) as f64 * at(i, k).powi(2)).sum()).collect();
    assert_eq!(numbers(&output), expected);
    // The k-th number counts k + 1 times.
    let weights: Vec<f64> = (0..LENGTH).map(|k| (k + 1) as f64).collect();
    let weights = Tensor::<2>::from_data(TensorData::new(weights, [2, 3]), (&device, dtype));
    let gradients = (output * weights).sum().backward();
    for (i, leaf) in leaves.iter().enumerate() {
        let gradient = leaf.grad(&gradients);
        assert_eq!(gradient.is_some(), i % 2 == 0, "input {i} of {N}");
        for (k, got) in gradient.iter().flat_map(numbers).enumerate() {
            // Number k of the leaf is number `place` of what the operation has seen.
            let place = (0..LENGTH).find(|&place| turned(i, place) == k).unwrap();
            assert_eq!(got, 2.0 * (i + 1) as f64 * at(i, place) * (place + 1) as f64, "input {i} of {N}, number {k}");
        }
    }
    let wanted: Vec<bool> = (0..N).map(|i| i % 2 == 0).collect();
    assert_eq!(*asked.lock().unwrap(), ["keep true".to_string(), format!("wanted {wanted:?}")]);
}

#[test]
fn any_number_of_inputs() {
    for dtype in [DType::F32, DType::F64] {
        check::<1>(dtype);
        check::<2>(dtype);
        check::<5>(dtype);
        check::<9>(dtype);
    }
}

/// Predictions leave nothing behind, on a device with derivatives and on one without.
#[test]
fn nothing_is_kept_that_nobody_asks_for() {
    for device in [Device::flex(), Device::flex().autodiff()] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let inputs = [0, 1].map(|i| input(i, &device, DType::F32).into_dispatch());
        let output: Tensor<1> = operate(inputs, Squares { asked: asked.clone() });
        assert_eq!(output.dims(), [LENGTH]);
        assert_eq!(*asked.lock().unwrap(), ["keep false"]);
    }
}

/// Constants made without derivatives meet parameters made with them.
#[test]
fn devices_may_differ_in_whether_they_derive() {
    let constant = input(0, &Device::flex(), DType::F64);
    let parameter = input(1, &Device::flex().autodiff(), DType::F64).require_grad();
    let squares = || Squares { asked: Arc::default() };
    let inputs = [constant.clone().into_dispatch(), parameter.clone().into_dispatch()];
    let output: Tensor<1> = operate(inputs, squares());
    let gradient = parameter.grad(&output.sum().backward()).unwrap();
    let expected: Vec<f64> = numbers(&parameter).into_iter().map(|x| 4.0 * x).collect();
    assert_eq!(numbers(&gradient), expected);
    // The same tensor in two places: its derivatives add up.
    let output: Tensor<1> = operate([parameter.clone(), parameter.clone()].map(Tensor::into_dispatch), squares());
    let gradient = parameter.grad(&output.sum().backward()).unwrap();
    let expected: Vec<f64> = numbers(&parameter).into_iter().map(|x| 6.0 * x).collect();
    assert_eq!(numbers(&gradient), expected);
}
