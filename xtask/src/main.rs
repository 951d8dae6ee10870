//! nkn
fn main() {}
