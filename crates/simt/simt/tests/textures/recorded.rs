//! Compares simt's results for the fetches of fetch.cu with those of a GPU.

use super::format;
use simt::memory::texture::{Addressing, Channels, Filter, Image, Sides, TextureDescription};
use simt::{Config, Launch, Module, Simulator};

const KERNELS: &str = include_str!("fetch.ptx");
/// The number of fetches of a case.
const COUNT: usize = 64;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        let state = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = state.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    fn share(&mut self) -> f64 {
        f64::from(self.next() >> 8) / f64::from(1 << 24)
    }
}

/// The setup in a line, and the values that a GPU returned.
struct Case<'a> {
    kind: &'a str,
    lengths: [u32; 3],
    layers: u32,
    texture: TextureDescription,
    ty: &'a str,
    seed: u64,
    expected: Vec<[u32; 4]>,
}

impl<'a> Case<'a> {
    fn parse(line: &'a str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u32>().unwrap();
        let lengths = [number(1), number(2), number(3)];
        let channels = match words[5] {
            "float" => Channels::Float,
            "signed" => Channels::Signed,
            _ => Channels::Unsigned,
        };
        let [x, y, z] = lengths;
        let sides = match words[0] {
            "one" | "ones" => Sides::One(x),
            "three" => Sides::Three([x, y, z]),
            "cube" | "cubes" => Sides::Cube(x),
            "linear" => Sides::Linear(x),
            _ => Sides::Two([x, y]),
        };
        let addressing = match words[9] {
            "wrap" => Addressing::Wrap,
            "mirror" => Addressing::Mirror,
            "border" => Addressing::Border,
            _ => Addressing::Clamp,
        };
        let mut image = Image::packed(0, format(channels, number(6), number(7)), sides);
        image.layers = (number(4) > 0).then_some(number(4));
        let values = words[13..].iter().map(|four| {
            let mut found = four.split(',').map(|hex| u32::from_str_radix(hex, 16).unwrap());
            [(); 4].map(|()| found.next().unwrap())
        });
        Self {
            kind: words[0],
            lengths,
            layers: number(4),
            texture: TextureDescription {
                image,
                addressing: [addressing; 3],
                filter: [Filter::Point, Filter::Linear][usize::from(words[10] == "linear")],
                normalized_coordinates: words[11] == "1",
                normalized_values: words[8] == "1",
                border: [0.25, 0.5, 0.75, 1.0],
            },
            ty: if words[8] == "1" { "float" } else { words[5] },
            seed: words[12].parse().unwrap(),
            expected: values.collect(),
        }
    }

    /// Returns the texels.
    fn data(&self, random: &mut Random) -> Vec<u8> {
        let format = self.texture.image.format;
        let faces = if self.kind.starts_with("cube") { 6 } else { 1 };
        let texels = self.lengths.iter().product::<u32>() * self.layers.max(1) * faces;
        let mut data = Vec::new();
        for _ in 0..texels * format.count {
            let mut bits = random.next();
            if format.channels == Channels::Float && format.bits == 32 {
                let value = f64::from((bits >> 8).cast_signed() - (1 << 23)) / f64::from(1 << 23);
                bits = (value as f32).to_bits();
            } else if format.channels == Channels::Float {
                bits &= 0xbbff;
            }
            data.extend_from_slice(&bits.to_le_bytes()[..format.bits as usize / 8]);
        }
        data
    }

    /// Returns the coordinates, as floating-point numbers and as integers.
    fn coordinates(&self, random: &mut Random) -> (Vec<[f32; 4]>, Vec<[i32; 2]>) {
        let [x, y, z] = self.lengths.map(f64::from);
        let is_normalized = self.texture.normalized_coordinates;
        let (mut points, mut numbers) = (Vec::new(), Vec::new());
        for i in 0..COUNT {
            points.push([x, y, z, 1.0].map(|length| {
                let mut at = random.share() * 2.5 - 0.75;
                if self.kind.starts_with("cube") {
                    at = at * 1.5 - 0.75;
                } else if !is_normalized {
                    at *= length;
                }
                if i % 4 == 3 && !is_normalized {
                    at = (at * 512.0).trunc() / 512.0;
                }
                at as f32
            }));
            let mut number = [(); 2].map(|()| (random.next() % 70) as i32 - 10);
            if self.layers > 0 {
                number[0] = (number[0] + 10) % (self.layers as i32 + 2) - 1;
            }
            numbers.push(number);
        }
        (points, numbers)
    }

    /// Returns the number of fetches that differ, and describes the first one.
    fn differences(&self, module: &Module) -> (usize, Option<String>) {
        let mut random = Random(self.seed);
        let mut simulator = Simulator::new(Config { threads: 1, ..Config::default() }).unwrap();
        let data = simulator.upload(&self.data(&mut random)).unwrap();
        let (points, numbers) = self.coordinates(&mut random);
        let mut texture = self.texture;
        texture.image.address = data.address();
        let is_surface = matches!(self.kind, "clamp" | "zero");
        let handle = match is_surface {
            true => simulator.surface(texture.image),
            false => simulator.texture(texture),
        };
        let name = match is_surface {
            true => self.kind.to_owned(),
            false => format!("{}_{}", self.kind, self.ty),
        };
        let kernel = module.function(&name).unwrap();
        let out = simulator.zeroed::<[u32; 4]>(COUNT).unwrap();
        let inputs = (simulator.upload(&points).unwrap(), simulator.upload(&numbers).unwrap());
        let args = [handle.unwrap().into(), inputs.0.into(), inputs.1.into(), out.into()];
        let launch = Launch::new(&kernel, [1, 1, 1], [COUNT as u32, 1, 1], &args);
        simulator.launch(&launch).unwrap();
        let found = simulator.read(out).unwrap();
        let pairs = found.iter().zip(&self.expected).enumerate();
        let mut wrong = pairs.filter(|(_, (found, expected))| found != expected);
        let first = wrong.next().map(|(at, (found, expected))| {
            let (point, number) = (points[at], numbers[at]);
            format!("at {point:?} {number:?}: {found:x?}, on the GPU {expected:x?}")
        });
        (usize::from(first.is_some()) + wrong.count(), first)
    }
}

#[test]
fn fetches() {
    let module = Module::from_ptx(KERNELS).unwrap();
    assert_eq!(module.kernels().count(), 29);
    for name in module.kernels() {
        module.function(name).unwrap();
    }
    let text = match std::env::var_os("TEXTURES") {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => include_str!("h200.txt").to_owned(),
    };
    let (mut filtered, mut wrong) = (0, 0);
    for line in text.lines() {
        let case = Case::parse(line);
        let (differ, first) = case.differences(&module);
        let setup: Vec<&str> = line.split(' ').take(13).collect();
        if let Some(first) = &first {
            println!("{}: {differ} differ; {first}", setup.join(" "));
        }
        if setup[10] == "linear" {
            (filtered, wrong) = (filtered + case.expected.len(), wrong + differ);
        } else if setup[0] != "gather" {
            assert_eq!(differ, 0, "{}", first.unwrap_or_default());
        }
    }
    // For halves, signed bytes and three dimensions, the last bit of a filtered value can differ from an H200's.
    assert!(wrong * 25 <= filtered, "{wrong} of {filtered} filtered fetches differ");
}
