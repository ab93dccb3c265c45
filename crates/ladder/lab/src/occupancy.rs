//! `lab occupancy`: compares the calculated occupancy with the driver's, for every block of rungs.

use clap::{ArgMatches, Args};

use analysis::occupancy::check::{self, Comparison, LadderComparison};
use cli::Env;
use cli::Error;
use cli::command::{Command, CommandArgs, Output, WRONG};
use cli::output::{self, Document, Format, Printer};
use engine::device::Choice;
use engine::size::dims;

pub(crate) const OCCUPANCY: Command = Command {
    name: "occupancy",
    about: "Compare the calculated occupancy with the driver's for every block of rungs; exit code 1 if they differ",
    arguments: |command, scope| Arguments::augment_args(scope.names(command)),
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// Device whose driver to query
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let selected = targets.select(env.catalog)?;
    let mut device = (env.open)(args.device)?;
    let mut printer = Printer::new(args.format, env.style(), to.out);
    let mut code = 0;
    for selection in &selected {
        let LadderComparison { comparisons, left_out } =
            check::check(&mut *device, selection.ladder, &selection.rungs())?;
        let different: Vec<&Comparison> = comparisons.iter().filter(|comparison| !comparison.agrees()).collect();
        let mut document = Document::default();
        let result = match different.len() {
            0 => "all match the driver".to_owned(),
            count => format!("{count} do NOT match the driver"),
        };
        document.note(format!("{}: {} entries and blocks, {result}", selection.ladder.name, comparisons.len()));
        for one in different {
            code = WRONG;
            document.note(format!("  {}", difference(one)));
        }
        for why in left_out {
            // The JSON output has no field for the reason.
            match args.format.json {
                true => writeln!(to.err, "{}", output::left_out(why))?,
                false => document.note(output::left_out(why)),
            }
        }
        for one in &comparisons {
            document.record(one);
        }
        printer.show(&document)?;
    }
    let mut place = Document::default();
    place.note(format!("on {}", device.info()));
    printer.show(&place)?;
    printer.finish()?;
    Ok(code)
}

fn difference(one: &Comparison) -> String {
    let (entry, block, driver) = (&one.entry, dims(one.block), &one.driver);
    format!(
        "{entry} with blocks of {block}: {} blocks an SM calculated, {} by the driver ({} registers, {} bytes static and \
         {} dynamic)",
        one.calculated, driver.blocks, driver.registers, driver.static_shared, one.dynamic_shared
    )
}
