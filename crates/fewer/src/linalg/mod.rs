//! Dense algebra in `f64`. The only module that names faer.
//!
//! Every product runs in one thread and in an order that depends on sizes alone; threads share
//! work by tiles of fixed size, so results have the same bits for any number of threads.

mod cholesky;
mod matrix;
mod narrow;
mod products;
mod small;

pub use cholesky::{Cholesky, NotPositiveDefinite};
pub use matrix::{Layout, Matrix, Tile};
pub use narrow::{
    add_block_product, add_block_transpose_product, add_multiple_of_product_narrow, axpy_narrow,
    dot_narrow, expect_to_fill, multiply_narrow, narrow_into, weighted_square_narrow,
};
pub use products::{
    Factor, add_combination, add_gram, add_multiple_of_product, add_outer, add_products,
    add_transpose_products, axpy, cross_products, dot, multiply, multiply_upper, product_of_rows,
    products_of, products_with, products_with_each, sparse_dot, sparse_weighted_square, symmetrise,
    weighted_square,
};

/// Clears the upper halves of the vector registers.
///
/// faer's product kernels leave them dirty, after which scalar code on the same thread runs many
/// times slower; call it after every such kernel.
fn clear_vector_registers() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        #[allow(unsafe_code)] // the instruction needs AVX, which the line above has checked
        unsafe {
            std::arch::x86_64::_mm256_zeroupper()
        };
    }
}
