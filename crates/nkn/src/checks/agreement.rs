//! The same numbers however they are computed: fused or plain, within a small memory, on one thread or many.

use super::case::{
    Case, compare_with_plain, every_case, gradients, kernel_mut, on_clouds, relative, samples, tensors, with_vectors,
};
use crate::domain::Quadrature;
use crate::engine::Engine;
use crate::field::{NormaliserKind, Samples};
use crate::model::function::forward;
use crate::model::parameters::ParameterTensors;
use crate::model::{Batch, BatchOptions, Geometry, Kind, Normalisers};
use crate::operator::Order;
use burn::tensor::{DType, Device, Tensor};
use std::sync::Arc;

/// The kernel sees the near image of y: a node's inputs are those of any other, shifted.
#[test]
fn kernels_see_the_near_image() {
    let mut case = Case::new(Kind::Nkn, false, Quadrature::Mean, 1);
    case.samples = case.samples.clone().periodic(&[true, true]).unwrap();
    case.normalisers = Normalisers::fit(&case.config, &case.samples).unwrap();
    case.config.radius = Some(0.45);
    let batch = case.batch(Quadrature::Mean, false, DType::F64);
    let inputs: Vec<f64> = batch.kernel().unwrap().inputs.to_data().iter::<f64>().collect();
    let mut of_nodes: std::collections::BTreeMap<(i64, i64), Vec<(i64, i64)>> = Default::default();
    let tenths = |value: f64| (10.0 * value).round() as i64;
    for row in inputs.chunks(4) {
        assert!((row[2] - row[0]).hypot(row[3] - row[1]) < 0.45, "{row:?}");
        let displacement = (tenths(row[2] - row[0]), tenths(row[3] - row[1]));
        of_nodes.entry((tenths(row[0]), tenths(row[1]))).or_default().push(displacement);
    }
    let mut sets: Vec<_> = of_nodes.into_values().collect();
    sets.iter_mut().for_each(|set| set.sort_unstable());
    assert_eq!(sets.len(), 25);
    assert!(sets.iter().all(|set| *set == sets[0] && set.len() == 20), "{:?}", sets[0]);
}

/// Samples side by side are what each is alone.
#[test]
fn clouds_do_not_see_each_other() {
    let mut case = Case::new(Kind::Nkn, true, Quadrature::Mean, 3);
    case.config.normalise_output = NormaliserKind::Scalar;
    case.config.radius = Some(1.1);
    let case = with_vectors(case, on_clouds());
    let predict = |samples: &Samples| {
        let case = Case {
            samples: samples.clone(),
            config: case.config.clone(),
            normalisers: case.normalisers.clone(),
            ..case
        };
        let batch = case.batch(Quadrature::Mean, false, DType::F64);
        let parameters = tensors(&case.parameters(), &Device::flex(), DType::F64);
        let prediction = forward(&case.config, &parameters, &batch, Engine::Automatic).unwrap();
        prediction.into_data().iter::<f64>().collect::<Vec<f64>>()
    };
    let together = predict(&case.samples);
    let alone: Vec<f64> = (0..3).flat_map(|sample| predict(&case.samples.select(&[sample]))).collect();
    assert_eq!(together.len(), 28 * 3);
    assert!(relative(&together, &alone) < 1e-12);
}

/// The fused operations against the updates as the paper writes them, in single precision.
#[test]
fn fused_equals_plain() {
    every_case(|case, quadrature| {
        let orders = if case.config.kernel_fields.is_empty() {
            vec![Order::Dense, Order::Shared, Order::Blocks, Order::Contracted]
        } else {
            vec![Order::Blocks, Order::Contracted]
        };
        for order in orders {
            let case = Case {
                order: Some(order),
                ..Case::new(case.config.kind, !case.config.kernel_fields.is_empty(), quadrature, case.depth)
            };
            compare_with_plain(&case, quadrature);
        }
    });
}

/// Beyond the memory budget features are evaluated again in every layer: the same numbers.
#[test]
fn a_small_budget_gives_the_same_prediction() {
    for sees in [false, true] {
        let mut case = Case {
            order: Some(Order::Contracted),
            samples: samples(&[12, 12], 3),
            ..Case::new(Kind::Nkn, sees, Quadrature::Mean, 3)
        };
        case.normalisers = Normalisers::fit(&case.config, &case.samples).unwrap();
        let parameters = tensors(&case.parameters(), &Device::flex(), DType::F64);
        let output = |budget: f64, order: Order| -> Vec<f64> {
            let mut batch = case.batch(Quadrature::Mean, false, DType::F64);
            let kernel = kernel_mut(&mut batch).unwrap();
            let mut plan = (*kernel.plan).clone().with_order(order);
            plan.purpose.budget = budget;
            kernel.plan = Arc::new(plan);
            forward(&case.config, &parameters, &batch, Engine::Automatic).unwrap().into_data().iter::<f64>().collect()
        };
        let formed = output(f64::INFINITY, Order::Blocks);
        for budget in [0.0, 1e4, f64::INFINITY] {
            assert!(relative(&output(budget, Order::Contracted), &formed) < 1e-12);
        }
    }
}

/// In the midst of derivatives a streamed prediction is the same numbers, and what went into it gets no derivative.
#[test]
fn a_streamed_prediction_ends_the_graph() {
    let case = Case::new(Kind::Nkn, true, Quadrature::Mean, 2);
    let predict = |device: &Device, parameters: &ParameterTensors| {
        let quadrature = Some(Quadrature::Mean);
        let options = BatchOptions { dtype: DType::F64, quadrature, ..BatchOptions::new(case.depth, device) };
        let mut batch = Batch::new(&case.config, &case.normalisers, &case.samples, &options).unwrap();
        let kernel = kernel_mut(&mut batch).unwrap();
        kernel.plan = Arc::new((*kernel.plan).clone().with_order(Order::Contracted));
        assert!(kernel.plan.streams());
        forward(&case.config, parameters, &batch, Engine::Automatic).unwrap()
    };
    let (plain, autodiff) = (Device::flex(), Device::flex().autodiff());
    let constant = tensors(&case.parameters(), &plain, DType::F64);
    let tracked = tensors(&case.parameters(), &autodiff, DType::F64).require_grad();
    let output = predict(&autodiff, &tracked);
    let values = |tensor: &Tensor<2>| tensor.to_data().iter::<f64>().collect::<Vec<f64>>();
    assert_eq!(values(&output), values(&predict(&plain, &constant)));
    let gradients = output.sum().backward();
    assert!(tracked.get("project").grad(&gradients).is_some());
    assert!(["lift", "kernel", "reaction", "source"].iter().all(|name| tracked.get(name).grad(&gradients).is_none()));
}

/// A geometry serves many batches: each is what it would be with a geometry of its own, to the bit, on the training's domain and elsewhere.
#[test]
fn a_geometry_is_made_once() {
    for kind in [Kind::Nkn, Kind::Gkn, Kind::Fno] {
        let mut case = Case::new(kind, true, Quadrature::Overlap, 2);
        case.config.quadrature = Quadrature::Overlap;
        let parameters = tensors(&case.parameters(), &Device::flex(), DType::F32);
        let options = BatchOptions::new(case.depth, &Device::flex());
        for shape in [[5, 5], [9, 9]] {
            let all = samples(&shape, 4);
            let geometry = Geometry::new(&case.config, &case.normalisers, all.domain(), None).unwrap();
            for which in [vec![0, 1, 2, 3], vec![2], vec![3, 0]] {
                let some = all.select(&which);
                let fresh = Batch::new(&case.config, &case.normalisers, &some, &options).unwrap();
                let shared = Batch::on(&geometry, &case.config, &some, &options).unwrap();
                let output = |batch: &Batch| -> Vec<f64> {
                    let output = forward(&case.config, &parameters, batch, Engine::Automatic).unwrap();
                    output.into_data().iter::<f64>().collect()
                };
                assert!(output(&fresh) == output(&shared), "{kind} {shape:?} {which:?}");
            }
            let others = samples(&[6, 5], 1);
            assert!(Batch::on(&geometry, &case.config, &others, &options).is_err());
            assert!(Batch::on(&geometry, &case.config, &all, &BatchOptions { depth: 0, ..options.clone() }).is_err());
        }
    }
}

/// With one layer the shared blocks are made where they are used, some nodes at a time: an odd number of nodes, many times what is made together,
/// has the gradients of the other orders.
#[test]
fn blocks_made_in_passing_give_the_same_gradients() {
    for kind in [Kind::Nkn, Kind::Gkn] {
        for width in [1, 3, 16] {
            let run = |order: Order| {
                let mut case = Case {
                    order: Some(order),
                    samples: samples(&[13, 11], 5),
                    ..Case::new(kind, false, Quadrature::Mean, 1)
                };
                case.config.width = width;
                case.config.radius = Some(0.2);
                case.normalisers = Normalisers::fit(&case.config, &case.samples).unwrap();
                gradients(&case, Quadrature::Mean, DType::F64, Engine::Automatic)
            };
            let expected = run(Order::Blocks);
            for order in [Order::Dense, Order::Shared, Order::Contracted] {
                for ((name, computed), (_, expected)) in run(order).iter().zip(&expected) {
                    assert!(relative(computed, expected) < 1e-10, "{kind} {order:?}, width {width}: {name}");
                }
            }
        }
    }
}

/// One thread and two give the same bits, in all orders.
#[test]
fn threads_do_not_change_a_bit() {
    for sees in [false, true] {
        for order in [Order::Dense, Order::Shared, Order::Blocks, Order::Contracted] {
            if sees && matches!(order, Order::Dense | Order::Shared) {
                continue;
            }
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    [1, 3].map(|depth| {
                        let mut case = Case {
                            order: Some(order),
                            samples: samples(&[12, 12], 40),
                            ..Case::new(Kind::Nkn, sees, Quadrature::Mean, depth)
                        };
                        case.normalisers = Normalisers::fit(&case.config, &case.samples).unwrap();
                        case.config.radius = Some(0.2);
                        gradients(&case, Quadrature::Mean, DType::F32, Engine::Automatic)
                    })
                })
            };
            assert!(run(1) == run(2), "{order:?}, kernel sees b: {sees}");
        }
    }
}
