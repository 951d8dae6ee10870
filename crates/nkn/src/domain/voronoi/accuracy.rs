use super::*;
use crate::seed::{Seed, uniform};

/// Points in the unit cube, uniform or crowded towards the origin.
fn cloud(dim: usize, count: usize, seed: u64, power: f64) -> Vec<f64> {
    let mut rng = Seed::new(seed).derive("cloud", count as u64).rng();
    (0..dim * count).map(|_| uniform(&mut rng, 0.0, 1.0).powf(power)).collect()
}

#[test]
fn print_orders() {
    for power in [1.0, 2.0] {
        for dim in 1..=3usize {
            let bx = Enclosure::new(vec![0.0; dim], vec![1.0; dim], vec![false; dim]).unwrap();
            let f = |p: &[f64]| p.iter().map(|x| (1.5 * x).exp()).product::<f64>() ;
            let exact = (((1.5f64).exp() - 1.0) / 1.5).powi(dim as i32);
            for n in [100, 400, 1600, 6400] {
                let mut e = [0.0; 4];
                let mut secs = 0.0;
                let mut cut = 0;
                let seeds = if n > 2000 { 4 } else { 12 };
                for s in 0..seeds {
                    let c = cloud(dim, n, s, power);
                    let vals: Vec<f64> = c.chunks(dim).map(f).collect();
                    let mean = vals.iter().sum::<f64>() / n as f64;
                    let t = std::time::Instant::now();
                    let v = Voronoi::new(dim, &c, None).unwrap();
                    secs += t.elapsed().as_secs_f64();
                    cut += v.limits.iter().filter(|l| l.is_finite()).count();
                    let hull = v.measures.clone();
                    let b = cell_measures(dim, &c, Some(&bx)).unwrap();
                    let int = |w: &[f64]| w.iter().zip(&vals).map(|(a, b)| a * b).sum::<f64>();
                    let total: f64 = hull.iter().sum();
                    for (e, v) in e.iter_mut().zip([mean, int(&hull), int(&hull) / total, int(&b)]) {
                        *e += (v / exact - 1.0).powi(2);
                    }
                }
                let e = e.map(|e| (e / seeds as f64).sqrt());
                println!("power {power} dim {dim} n {n}: mean {:.2e} hull {:.2e} hull-normalised {:.2e} box {:.2e}  {:.1} us/pt cut {cut}", e[0], e[1], e[2], e[3], secs / seeds as f64 / n as f64 * 1e6);
            }
        }
    }
}
