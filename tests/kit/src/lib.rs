//! What bbkit's tests, benches and fuzz targets share: programs of any size, random programs, and the laws of the
//! design as functions that check one program.

pub mod anything;
pub mod carriers;
pub mod checkpoints;
pub mod compact;
pub mod compaction;
pub mod dual;
pub mod dynamic;
pub mod file_tests;
pub mod in_place;
pub mod independent_rounds;
pub mod kernels;
pub mod laws;
pub mod library;
pub mod linearization;
pub mod memory;
pub mod memory_gradient;
pub mod mutation;
pub mod mutation_programs;
pub mod native;
pub mod nested_sums;
pub mod numeric;
pub mod one_block;
pub mod programs;
pub mod savings;
pub mod seeds;
pub mod shapes;
pub mod straight;
pub mod sums;
pub mod surgery;
pub mod swift;
pub mod tables;
pub mod targets;
pub mod untyped;
