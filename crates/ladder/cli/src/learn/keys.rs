//! Reads single keys from a terminal.

use std::time::Duration;

#[cfg(unix)]
pub(super) use unix::Keys;

/// The maximum time that [`Keys::read`] waits for a key.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

#[cfg(unix)]
mod unix {
    use std::io::{Error, IsTerminal};

    use rustix::io::read;
    use rustix::stdio::stdin;
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

    use super::INTERVAL;

    /// The terminal in a mode in which each key is read at once and not echoed. Dropping this value restores the
    /// previous mode, even after a panic. Exercises are checked in the previous mode, where a second Ctrl-C ends the
    /// process at once.
    pub(in crate::learn) struct Keys(Termios);

    impl Keys {
        /// Returns whether standard input is a terminal, from which keys can be read.
        pub(in crate::learn) fn exist() -> bool {
            std::io::stdin().is_terminal()
        }

        /// Changes the terminal's mode.
        ///
        /// # Errors
        /// Returns an error when the terminal refuses the mode.
        pub(in crate::learn) fn open() -> Result<Self, Error> {
            let before = tcgetattr(stdin())?;
            let mut mode = before.clone();
            mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
            // A read returns as soon as a key is pressed, or after `INTERVAL` without a key.
            mode.special_codes[SpecialCodeIndex::VMIN] = 0;
            mode.special_codes[SpecialCodeIndex::VTIME] = (INTERVAL.as_millis() / 100) as u8;
            tcsetattr(stdin(), OptionalActions::Now, &mode)?;
            Ok(Self(before))
        }

        /// Waits for a key, up to [`INTERVAL`].
        pub(in crate::learn) fn read(&self) -> Option<u8> {
            let mut key = [0];
            read(stdin(), &mut key).is_ok_and(|bytes| bytes > 0).then_some(key[0])
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
        }
    }
}

/// Keys are not supported on other systems.
#[cfg(not(unix))]
pub(super) enum Keys {}

#[cfg(not(unix))]
impl Keys {
    pub(super) fn exist() -> bool {
        false
    }

    pub(super) fn open() -> Result<Self, std::io::Error> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(super) fn read(&self) -> Option<u8> {
        match *self {}
    }
}
