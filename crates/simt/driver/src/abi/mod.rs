//! What the driver's interface is made of: functions with C's calling convention, result codes, handles, and messages
//! to the person in front of the program.

pub(crate) mod call;
pub(crate) mod error;
pub(crate) mod handles;
pub(crate) mod platform;
pub(crate) mod report;
pub(crate) mod watch;
