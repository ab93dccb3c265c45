//! Tests of the output of `printf`: the same text as the C library's, and the buffer.

use simt::{Arg, Buffer, Config, Launch, LaunchError, Module, Simulator};

/// Each block prints with the same arguments and a format 8 bytes after the previous block's. The block `faulty` then
/// faults.
const PRINT: &str = ".version 8.5\n.target sm_90\n.address_size 64\n\
    .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
    .entry k(.param .u64 format, .param .u64 arguments, .param .u64 out, .param .u32 faulty)\n{\n\
    .reg .b32 %r<3>;\n.reg .b64 %rd<5>;\n.reg .pred %p;\n.param .b64 p;\n.param .b64 q;\n.param .b32 w;\n\
    ld.param.u64 %rd1, [format];\nld.param.u64 %rd2, [arguments];\nld.param.u64 %rd3, [out];\n\
    mov.u32 %r0, %ctaid.x;\nmad.wide.u32 %rd1, %r0, 8, %rd1;\nst.param.b64 [p], %rd1;\nst.param.b64 [q], %rd2;\n\
    call (w), vprintf, (p, q);\nld.param.b32 %r1, [w];\nst.global.u32 [%rd3], %r1;\n\
    ld.param.u32 %r2, [faulty];\nsetp.eq.u32 %p, %r0, %r2;\n@%p trap;\nret;\n}\n";

struct Printer {
    simulator: Simulator,
    kernel: simt::Function,
    count: Buffer<u32>,
    /// `text0` and so on, 8 bytes each.
    texts: Buffer<u8>,
}

impl Printer {
    fn new(printf_bytes: u64) -> Self {
        let mut simulator = Simulator::new(Config { threads: 2, printf_bytes, ..Config::default() }).unwrap();
        let texts: Vec<u8> = (0..8).flat_map(|at| format!("text{at}\0\0\0").into_bytes()).collect();
        let kernel = Module::from_ptx(PRINT).unwrap().function("k").unwrap();
        Self { count: simulator.zeroed(1).unwrap(), texts: simulator.upload(&texts).unwrap(), simulator, kernel }
    }

    fn launch(&mut self, formats: &[u8], arguments: &[u8], blocks: u32, faulty: u32) -> Result<(), LaunchError> {
        let buffers = [formats, arguments].map(|bytes| self.simulator.upload(bytes).unwrap());
        let args = [buffers[0].into(), buffers[1].into(), self.count.into(), Arg::U32(faulty)];
        let result = self.simulator.launch(&Launch::new(&self.kernel, [blocks, 1, 1], [1; 3], &args));
        for buffer in buffers {
            self.simulator.free(buffer).unwrap();
        }
        result
    }

    /// Returns the text of a call, and the number of arguments that it used.
    fn text(&mut self, form: &str, arguments: &[u8]) -> (String, u32) {
        self.launch(format!("{form}\0").as_bytes(), arguments, 1, u32::MAX).unwrap();
        let text = String::from_utf8(self.simulator.take_printed()).unwrap();
        (text, self.simulator.read(self.count).unwrap()[0])
    }
}

/// The rows are the output of `tests/fixtures/printf/c.c` with glibc 2.36.
#[test]
fn numbers_match_c() {
    let rows = include_str!("fixtures/printf/c.txt").lines();
    let mut printer = Printer::new(1 << 20);
    for row in rows.clone() {
        let [form, value, expected] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let value = u64::from_str_radix(value, 16).unwrap();
        let found = printer.text(&form[2..], &value.to_le_bytes());
        assert_eq!((found.0 + "|", found.1), (expected.to_owned(), 1), "{row}");
    }
    assert!(rows.count() > 700);
}

#[test]
fn strings_stars_and_invalid_conversions() {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut printer = Printer::new(1 << 20);
    let address = |at: u64| printer.texts.address() + 8 * at;
    for (form, arguments, expected, count) in [
        ("100%% %s!", words(&[address(7)]), "100% text7!", 1),
        ("%8s|%-8s|%.2s", words(&[1, 2, 3].map(address)), "   text1|text2   |te", 3),
        ("%s", words(&[0]), "(null)", 1),
        ("%p %20p", words(&[0x1f00, 0]), "0x1f00                (nil)", 2),
        ("%*d|", words(&[5 | 42 << 32]), "   42|", 2),
        ("%*d|", words(&[0xffff_fffb | 42 << 32]), "42   |", 2),
        ("%.*f", words(&[2, 2.5f64.to_bits()]), "2.50", 2),
        // Arguments lie at multiples of their size.
        ("%d %lld %d", words(&[1, 2, 3]), "1 2 3", 3),
        ("%y %", words(&[]), "%y %", 0),
        ("%n", words(&[]), "%n", 0),
        ("", words(&[]), "", 0),
    ] {
        let (found, taken) = printer.text(form, &arguments);
        assert_eq!((&*found, taken), (expected, count), "{form}");
    }
    for form in ["%#.99999g", "%99999d", "%#.99999f", "%.99999a", "%99999.99999e", "%.99999d"] {
        let (found, _) = printer.text(form, &words(&[1e-4f64.to_bits()]));
        assert!((1 << 15..1 << 16).contains(&found.len()), "{form}");
    }
    let many = "%d".repeat(33);
    let (found, taken) = printer.text(&many, &[0; 256]);
    assert_eq!((&*found, taken), (&*("0".repeat(32) + "%d"), 32));
}

#[test]
fn the_buffer_keeps_the_last_messages_in_the_order_of_blocks() {
    let mut printer = Printer::new(1 << 20);
    assert!(printer.launch(b"0 \0.....1 \0.....2 \0", &[0], 3, 1).is_err());
    printer.launch(b"next\0", &[0], 1, u32::MAX).unwrap();
    assert_eq!(printer.simulator.take_printed(), b"0 1 next");
    let mut printer = Printer::new(60);
    let formats: Vec<u8> = (0..10).flat_map(|at| [[b'0' + at; 4], [0; 4]].concat()).collect();
    printer.launch(&formats, &[0], 10, u32::MAX).unwrap();
    assert_eq!(printer.simulator.take_printed(), b"777788889999");
    assert_eq!(printer.text(&"x".repeat(100), &[0]).0, "");
}
