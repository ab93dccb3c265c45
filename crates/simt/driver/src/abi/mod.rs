//! The building blocks of the driver's interface: functions with C's calling convention, result codes, handles, and
//! messages to the user.

pub(crate) mod call;
pub(crate) mod error;
pub(crate) mod handles;
pub(crate) mod platform;
pub(crate) mod report;
pub(crate) mod watch;
