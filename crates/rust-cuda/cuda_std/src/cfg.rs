//! The GPU that a kernel is compiled for.

use crate::gpu_only;

macro_rules! capabilities {
    ($($name:ident = $number:literal;)*) => {
        /// A compute capability. Upstream's type ends with 8.0. This crate adds the newer capabilities.
        ///
        /// For whole items, use `#[cfg(target_feature = "sm_80")]` instead.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ComputeCapability {
            $(
                #[doc = concat!("The capability with the number ", stringify!($number), " in `CUDA_ARCH`.")]
                $name,
            )*
        }

        impl ComputeCapability {
            /// Returns the capability that this crate is compiled for. The value is a constant, so branching on it
            /// costs nothing. `cuda_builder` sets `CUDA_ARCH` to this capability.
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub fn from_cuda_arch_env() -> Self {
                const {
                    let number = option_env!("CUDA_ARCH").expect("CUDA_ARCH is not set: build with cuda_builder, which sets it");
                    match u32::from_str_radix(number, 10) {
                        $(Ok($number) => Self::$name,)*
                        _ => panic!("CUDA_ARCH has no variant in ComputeCapability"),
                    }
                }
            }
        }
    };
}

capabilities! {
    Compute35 = 350; Compute37 = 370; Compute50 = 500; Compute52 = 520; Compute53 = 530;
    Compute60 = 600; Compute61 = 610; Compute62 = 620; Compute70 = 700; Compute72 = 720;
    Compute75 = 750; Compute80 = 800; Compute86 = 860; Compute87 = 870; Compute89 = 890;
    Compute90 = 900; Compute100 = 1000; Compute101 = 1010; Compute103 = 1030; Compute120 = 1200;
    Compute121 = 1210;
}
