//! Derivatives of whole networks against central differences in double precision.

use super::case::{
    Case, QUADRATURES, check_input, check_parameters, compare_with_plain, every_case, fourier_cases, numbers,
    on_clouds, tensors, with_vectors,
};
use crate::domain::{Enclosure, PointCloud, Quadrature};
use crate::engine::Engine;
use crate::field::{NormaliserKind, Samples};
use crate::model::function::forward;
use crate::model::{Guarantee, Kind, ModelConfig, Normalisers};
use crate::operator::{Integrator, Order};
use crate::seed::Seed;
use burn::tensor::{DType, Device};

/// Dissipative networks with every rule, order and engine; kernels that see b and that do not.
#[test]
fn gradients_of_dissipative_networks() {
    for sees in [false, true] {
        let orders = if sees { vec![Order::Blocks] } else { vec![Order::Dense, Order::Shared, Order::Blocks] };
        for quadrature in QUADRATURES {
            for order in &orders {
                for width in [1, 3] {
                    let mut case = Case { order: Some(*order), ..Case::new(Kind::Nkn, sees, quadrature, 3) };
                    case.config.stability = Guarantee::Dissipative;
                    case.config.width = width;
                    check_parameters(&case, quadrature);
                    check_input(&case, quadrature);
                    compare_with_plain(&case, quadrature);
                }
            }
        }
    }
    // Clouds of their own, side by side, with neighbours by their number.
    let mut case = Case::new(Kind::Nkn, true, Quadrature::Mean, 3);
    case.config.stability = Guarantee::Dissipative;
    case.config.normalise_output = NormaliserKind::Scalar;
    (case.config.radius, case.config.neighbours) = (None, Some(3));
    let case = with_vectors(case, on_clouds());
    check_parameters(&case, Quadrature::Mean);
    check_input(&case, Quadrature::Mean);
    compare_with_plain(&case, Quadrature::Mean);
}

/// Every integrator, free and dissipative, in each of its orders.
#[test]
fn gradients_of_integrators() {
    for integrator in [Integrator::Heun, Integrator::Rk4, Integrator::Implicit, Integrator::Exponential] {
        for stability in [Guarantee::Free, Guarantee::Dissipative] {
            for (sees, order) in [(false, Order::Dense), (false, Order::Blocks), (true, Order::Blocks)] {
                let mut case = Case { order: Some(order), ..Case::new(Kind::Nkn, sees, Quadrature::Overlap, 2) };
                (case.config.integrator, case.config.stability) = (integrator, stability);
                check_parameters(&case, Quadrature::Overlap);
                check_input(&case, Quadrature::Overlap);
                // The solver of the implicit rule is fused alone, and the plain one says so.
                if integrator == Integrator::Implicit {
                    let batch = case.batch(Quadrature::Overlap, false, DType::F32);
                    let parameters = tensors(&case.parameters(), &Device::flex(), DType::F32);
                    let message = forward(&case.config, &parameters, &batch, Engine::Portable).unwrap_err().to_string();
                    assert!(message.contains("the device cpu"), "{message}");
                } else {
                    compare_with_plain(&case, Quadrature::Overlap);
                }
            }
        }
    }
}

#[test]
fn gradients_of_the_parameters() {
    every_case(|case, quadrature| check_parameters(&case, quadrature));
}

#[test]
fn gradients_of_fourier_layers() {
    for case in fourier_cases() {
        check_parameters(&case, Quadrature::Mean);
        check_input(&case, Quadrature::Mean);
        compare_with_plain(&case, Quadrature::Mean);
    }
}

#[test]
fn gradients_of_vector_fields() {
    for (kind, quadrature) in [(Kind::Nkn, Quadrature::Overlap), (Kind::Gkn, Quadrature::Mean)] {
        for sees in [false, true] {
            let case = Case::new(kind, sees, quadrature, 3);
            let samples = case.samples.clone();
            let case = with_vectors(case, samples);
            check_parameters(&case, quadrature);
            check_input(&case, quadrature);
            compare_with_plain(&case, quadrature);
        }
    }
    for case in fourier_cases() {
        let samples = case.samples.clone();
        let mut case = with_vectors(case, samples);
        // A Fourier network has no kernel to see them.
        case.config.kernel_fields.clear();
        check_parameters(&case, Quadrature::Mean);
        check_input(&case, Quadrature::Mean);
        compare_with_plain(&case, Quadrature::Mean);
    }
}

#[test]
fn gradients_on_a_cloud_for_each_sample() {
    for kind in [Kind::Nkn, Kind::Gkn] {
        for sees in [false, true] {
            for quadrature in [Quadrature::Mean, Quadrature::Uniform] {
                let mut case = Case::new(kind, sees, quadrature, 3);
                case.config.normalise_output = NormaliserKind::Scalar;
                case.config.radius = Some(1.1);
                let case = with_vectors(case, on_clouds());
                check_parameters(&case, quadrature);
                check_input(&case, quadrature);
                compare_with_plain(&case, quadrature);
            }
        }
    }
}

/// A tube and a torus of nodes, and points in a periodic box; on grids the Fourier network too.
#[test]
fn gradients_around_periodic_axes() {
    for (kind, quadrature) in [
        (Kind::Nkn, Quadrature::Overlap),
        (Kind::Gkn, Quadrature::Mean),
        (Kind::Nkn, Quadrature::Trapezoid),
        (Kind::Fno, Quadrature::Mean),
    ] {
        for axes in [[true, false], [true, true]] {
            let mut case = Case::new(kind, true, quadrature, 3);
            case.config.modes = 2;
            case.config.normalise_output = NormaliserKind::Scalar;
            let box_ = Enclosure::new(vec![-1.0; 2], vec![1.0; 2], axes.to_vec()).unwrap();
            let points = PointCloud::new(2, numbers(20, Seed::new(41)), 4.0).unwrap().within(box_).unwrap();
            let inputs = [("a", numbers(20, Seed::new(42))), ("b", numbers(20, Seed::new(43)))];
            let scattered = Samples::on(points).inputs(inputs).unwrap();
            let scattered = scattered.output("u", numbers(20, Seed::new(44))).unwrap();
            let grid = case.samples.clone().periodic(&axes).unwrap();
            for samples in [grid, scattered].into_iter().take(if kind == Kind::Fno { 1 } else { 2 }) {
                let config =
                    ModelConfig { radius: case.config.radius.map(|radius| 1.5 * radius), ..case.config.clone() };
                let normalisers = Normalisers::fit(&config, &samples).unwrap();
                let case = Case { config, samples, normalisers, ..case };
                check_parameters(&case, quadrature);
                check_input(&case, quadrature);
                compare_with_plain(&case, quadrature);
            }
        }
    }
}

#[test]
fn gradients_of_the_input() {
    every_case(|case, quadrature| check_input(&case, quadrature));
}

/// As wide as the vectors of the machine: the small products take their fast path.
#[test]
fn gradients_of_wide_states() {
    for kind in [Kind::Nkn, Kind::Gkn] {
        for (order, sees, depth) in [(Order::Blocks, true, 2), (Order::Shared, false, 2), (Order::Shared, false, 1)] {
            let mut case = Case { order: Some(order), ..Case::new(kind, sees, Quadrature::Mean, depth) };
            case.config.width = 16;
            check_parameters(&case, Quadrature::Mean);
            check_input(&case, Quadrature::Mean);
            compare_with_plain(&case, Quadrature::Mean);
        }
    }
}

/// All orders of the products have the same derivatives, and each is checked on its own.
#[test]
fn gradients_in_every_order() {
    for kind in [Kind::Nkn, Kind::Gkn] {
        for (sees, orders) in [
            (false, vec![Order::Dense, Order::Shared, Order::Blocks, Order::Contracted]),
            (true, vec![Order::Blocks, Order::Contracted]),
        ] {
            for order in orders {
                let case = Case { order: Some(order), ..Case::new(kind, sees, Quadrature::Mean, 3) };
                check_parameters(&case, Quadrature::Mean);
                check_input(&case, Quadrature::Mean);
            }
        }
    }
}
