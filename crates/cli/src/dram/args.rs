//! What `ladder dram` can be asked for.

use clap::{Arg, ArgMatches, Args, FromArgMatches};

use crate::report::OutputStyle;
use analysis::dram::trace::{self, Setup};
use analysis::dram::{self, Bus, DramError, Map, Ratio, Tiles, peak};
use engine::Catalog;
use engine::options::{Options, Value};
use engine::size::{parse_block, parse_size};

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Dram {
    /// The figures, as the chapter has them.
    Figures {
        json: bool,
    },
    Map(MapArgs),
    Tiles(TilesArgs),
    Bus(BusArgs),
    Trace(String, Options, TraceArgs),
}

/// The memory of the figures.
#[derive(Args, Debug)]
pub(crate) struct Memory {
    /// Channels
    #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
    channels: u64,
    /// Banks of a channel
    #[arg(long, default_value = "2", value_parser = parse_size, allow_hyphen_values = true)]
    banks: u64,
    /// Bytes of a burst
    #[arg(long, default_value = "8", value_parser = parse_size, allow_hyphen_values = true)]
    burst: u64,
    /// Bytes of an element
    #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
    element: u64,
    /// Print JSON instead of a picture
    #[arg(long)]
    pub(super) json: bool,
}

impl Memory {
    fn dram(&self) -> Result<dram::Dram, DramError> {
        dram::Dram::new(self.channels, self.banks, self.burst)
    }
}

#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(super) memory: Memory,
    /// Elements of the array
    #[arg(long, default_value = "16", value_parser = parse_size, allow_hyphen_values = true)]
    elements: u64,
}

#[derive(Args, Debug)]
pub(crate) struct TilesArgs {
    #[command(flatten)]
    pub(super) memory: Memory,
    /// Rows and columns of a matrix
    #[arg(long, default_value = "4", value_parser = parse_size, allow_hyphen_values = true)]
    n: u64,
    /// Rows and columns of a tile
    #[arg(long, default_value = "2", value_parser = parse_size, allow_hyphen_values = true)]
    tile: u64,
}

#[derive(Args, Debug)]
pub(crate) struct BusArgs {
    /// How long a bank takes to find a burst, to how long the burst is on the bus
    #[arg(long, default_value = "20", allow_hyphen_values = true)]
    ratio: Ratio,
    /// Banks of a channel
    #[arg(long, default_value = "1", value_parser = parse_size, allow_hyphen_values = true)]
    banks: u64,
    /// What the bus moves while a burst is on it, in GB/s [default: of --width and --clock]
    #[arg(long, value_parser = number, allow_hyphen_values = true, conflicts_with_all = ["width", "clock", "one_edge"])]
    peak: Option<f64>,
    /// Bits of the bus
    #[arg(long, default_value = "64", value_parser = parse_size, allow_hyphen_values = true)]
    width: u64,
    /// Its clock in GHz
    #[arg(long, default_value = "1", value_parser = number, allow_hyphen_values = true)]
    clock: f64,
    /// Send once in a clock cycle, and not on both of its edges (DDR)
    #[arg(long)]
    one_edge: bool,
    /// Bandwidths in GB/s, to see how many channels they take
    #[arg(
        long,
        num_args = 1..,
        value_name = "GB/S",
        default_values = ["32", "256"],
        value_parser = number,
        allow_negative_numbers = true
    )]
    pub(super) demand: Vec<f64>,
    /// Print JSON instead of a picture
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// Channels; an H100's
    #[arg(
        long,
        default_value_t = trace::CHANNELS,
        value_parser = parse_size,
        allow_hyphen_values = true
    )]
    channels: u64,
    /// Banks of a channel
    #[arg(
        long,
        default_value_t = trace::BANKS,
        value_parser = parse_size,
        allow_hyphen_values = true
    )]
    banks: u64,
    /// Bytes of a burst
    #[arg(
        long,
        default_value_t = trace::BURST,
        value_parser = parse_size,
        allow_hyphen_values = true
    )]
    burst: u64,
    /// How many windows of time to divide the blocks into
    #[arg(long, default_value = "16", value_parser = parse_size, allow_hyphen_values = true)]
    windows: u64,
    /// Threads of a block [default: the rung's own]
    #[arg(long, value_parser = parse_block, allow_hyphen_values = true)]
    pub(super) block: Option<[u32; 3]>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

/// The widest bus: more than a hundred times a GPU's whole one.
const MOST_WIDTH: u64 = 1 << 20;

/// Options that say nothing without a rung, and those of the ladders.
const OF_A_RUNG: [&str; 5] = ["channels", "banks", "burst", "windows", "block"];

impl Dram {
    pub(crate) fn command(catalog: &'static Catalog, command: clap::Command) -> clap::Command {
        let named = clap::Command::new;
        let rung = Arg::new("rung").value_name("RUNG").required(true);
        let traced = Arg::new("trace")
            .long("trace")
            .value_name("RUNG")
            .help("Run this rung on the SIMT machine, and count its accesses by channel and bank");
        of_a_rung(catalog, command.arg(traced))
            .mut_args(|arg| {
                let name = arg.get_id().as_str();
                if OF_A_RUNG.contains(&name) || ladder_options(catalog).any(|option| option == name) {
                    arg.requires("trace")
                } else {
                    arg
                }
            })
            .about(
                "Bursts, banks and channels of DRAM in pictures, and how evenly a rung's accesses spread over them",
            )
            .args_conflicts_with_subcommands(true)
            .disable_help_subcommand(true)
            .subcommand(
                MapArgs::augment_args(named("map"))
                    .about("Which channel and which bank an array's elements are in"),
            )
            .subcommand(
                TilesArgs::augment_args(named("tiles"))
                    .about("Which channels and banks the phases of a tiled product of two matrices need"),
            )
            .subcommand(
                BusArgs::augment_args(named("bus"))
                    .about("How many banks it takes to keep a channel's bus busy"),
            )
            .subcommand(of_a_rung(catalog, named("trace").arg(rung)).about("The same as --trace RUNG"))
    }

    pub(crate) fn from_matches(
        catalog: &Catalog,
        matches: &ArgMatches,
    ) -> Result<Self, clap::Error> {
        let trace = |name: &str, matches: &ArgMatches| -> Result<Self, clap::Error> {
            let args = TraceArgs::from_arg_matches(matches)?;
            Ok(Self::Trace(name.to_owned(), given(catalog, matches), args))
        };
        match matches.subcommand() {
            Some(("map", map)) => Ok(Self::Map(MapArgs::from_arg_matches(map)?)),
            Some(("tiles", tiles)) => Ok(Self::Tiles(TilesArgs::from_arg_matches(tiles)?)),
            Some(("bus", bus)) => Ok(Self::Bus(BusArgs::from_arg_matches(bus)?)),
            Some((_, matches)) => {
                let name: &String = matches.get_one("rung").expect("it is required");
                trace(name, matches)
            }
            None => match matches.get_one::<String>("trace") {
                Some(name) => trace(name, matches),
                None => Ok(Self::Figures {
                    json: matches.get_flag("json"),
                }),
            },
        }
    }
}

/// Adds what a trace takes: a memory, and the options of every ladder, of which the rung's will do.
fn of_a_rung(catalog: &'static Catalog, command: clap::Command) -> clap::Command {
    TraceArgs::augment_args(command)
        .next_help_heading("What to compute")
        .args(ladder_options(catalog).map(|name| {
            let of: Vec<&str> = catalog
                .ladders
                .iter()
                .filter(|ladder| ladder.options.iter().any(|option| option.name == name))
                .map(|ladder| ladder.name)
                .collect();
            Arg::new(name)
                .long(name)
                .value_name("VALUE")
                .allow_hyphen_values(true)
                .help(format!("As `ladder run` has it, for {}", of.join(", ")))
        }))
        .next_help_heading(None::<&str>)
}

/// The names of all ladders' options, each once.
fn ladder_options(catalog: &Catalog) -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for option in catalog.ladders.iter().flat_map(|ladder| ladder.options) {
        if !names.contains(&option.name) {
            names.push(option.name);
        }
    }
    names.into_iter()
}

/// Those that were given. What they have to be is the ladder's to say.
fn given(catalog: &Catalog, matches: &ArgMatches) -> Options {
    let mut options = Options::default();
    for name in ladder_options(catalog) {
        if let Some(value) = matches.get_one::<String>(name) {
            options.set(name, Value::Text(value.clone()));
        }
    }
    options
}

impl MapArgs {
    pub(super) fn map(&self) -> Result<Map, DramError> {
        Map::new(self.memory.dram()?, self.memory.element, self.elements)
    }
}

impl TilesArgs {
    pub(super) fn tiles(&self) -> Result<Tiles, DramError> {
        Tiles::new(self.memory.dram()?, self.memory.element, self.n, self.tile)
    }
}

impl BusArgs {
    pub(super) fn bus(&self) -> Result<Bus, DramError> {
        if self.width == 0 {
            return Err(DramError::Zero { option: "width" });
        }
        if self.width > MOST_WIDTH {
            return Err(DramError::TooMuch {
                what: format!("a bus of {} bits", self.width),
                limit: format!("--width takes up to {MOST_WIDTH}"),
            });
        }
        let peak = self
            .peak
            .unwrap_or_else(|| peak(self.width, self.clock, !self.one_edge));
        Bus::new(self.ratio, self.banks, peak)
    }

    /// How the peak comes about, where it is not given, and the rest.
    pub(super) fn text(&self, style: OutputStyle) -> Result<String, DramError> {
        let bus = self.bus()?;
        let mut text = String::new();
        if self.peak.is_none() {
            let (width, clock) = (self.width, self.clock);
            let (kind, edges) = if self.one_edge {
                ("", "")
            } else {
                ("DDR ", " × 2")
            };
            text = format!(
                "a {kind}bus of {width} bits at {clock} GHz: {} B{edges} × {clock} GHz = {} GB/s\n",
                width as f64 / 8.0,
                bus.peak()
            );
        }
        Ok(text + &super::show::bus_text(&bus, &self.demand, style))
    }
}

impl TraceArgs {
    pub(super) fn setup(&self) -> Result<Setup, DramError> {
        let dram = dram::Dram::new(self.channels, self.banks, self.burst)?;
        Setup::new(dram, self.windows)
    }
}

/// Arguments of which none is given.
pub(super) fn by_default<A: Args>() -> A {
    let command = A::augment_args(clap::Command::new("default"));
    command
        .try_get_matches_from(["default"])
        .and_then(|matches| A::from_arg_matches(&matches))
        .expect("nothing is required and the defaults can be read, as a test sees")
}

fn number(text: &str) -> Result<f64, DramError> {
    match text.parse() {
        Ok(number) if (1e-9..=1e9).contains(&number) => Ok(number),
        _ => Err(DramError::BadNumber {
            given: text.to_owned(),
        }),
    }
}
