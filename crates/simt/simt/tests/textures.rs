//! Tests of textures and surfaces. Expected values follow the formulas of the "CUDA C++ Programming Guide", "Texture
//! Fetching".

/// Fetches that were recorded on a GPU.
mod recorded;

use simt::memory::texture::{Channels, Filter, Image, Sides, TexelFormat, TextureDescription};
use simt::{Config, Launch, LoadError, Module, Simulator};

const FLOAT: TexelFormat = format(Channels::Float, 32, 1);

const fn format(channels: Channels, bits: u32, count: u32) -> TexelFormat {
    TexelFormat { channels, bits, count }
}

/// Returns a kernel with an instruction on the handle in `%rd1` that leaves its results in `%r4` to `%r7`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.global .u64 other;\n\
         .entry k(.param .u64 handle, .param .u64 out)\n{{\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n\
         .reg .b16 %h<9>;\n.reg .pred %p<2>;\nld.param.u64 %rd1, [handle];\nld.param.u64 %rd2, [out];\n\
         {body}\n\
         st.global.v4.b32 [%rd2], {{%r4, %r5, %r6, %r7}};\nret;\n}}\n"
    )
}

fn run(simulator: &mut Simulator, handle: u64, body: &str) -> Result<[u32; 4], String> {
    let function = Module::from_ptx(kernel(body)).and_then(|module| module.function("k"));
    let function = function.map_err(|error| match error {
        LoadError::Refused { error, .. } => error.message,
        other => other.to_string(),
    })?;
    let out = simulator.zeroed::<[u32; 4]>(1).unwrap();
    let args = [handle.into(), out.into()];
    let launch = Launch::new(&function, [1, 1, 1], [1, 1, 1], &args);
    simulator.launch(&launch).map_err(|error| error.to_string())?;
    Ok(simulator.read(out).unwrap()[0])
}

fn simulator() -> Simulator {
    Simulator::new(Config { threads: 1, ..Config::default() }).unwrap()
}

/// Returns coordinates as PTX numbers.
fn ptx_floats(at: &[f32]) -> String {
    let at = at.iter().map(|coordinate| format!("0f{:08x}", coordinate.to_bits()));
    at.collect::<Vec<_>>().join(", ")
}

/// Returns the instruction `tex`; `coordinates` go between its braces.
fn tex(words: &str, coordinates: &str, more: &str) -> String {
    format!("tex.{words} {{%r4, %r5, %r6, %r7}}, [%rd1, {{{coordinates}}}]{more};")
}

fn floats(found: [u32; 4]) -> [f32; 4] {
    found.map(f32::from_bits)
}

/// Returns an image of 3 rows of 4 texels; the texel at (x, y) has the value 10 y + x.
fn texels(simulator: &mut Simulator) -> Image {
    let data: Vec<f32> = (0..12).map(|at| (at / 4 * 10 + at % 4) as f32).collect();
    let address = simulator.upload(&data).unwrap().address();
    Image::packed(address, FLOAT, Sides::Two([4, 3]))
}

#[test]
fn levels_gradients_and_offsets() {
    let mut simulator = simulator();
    let image = texels(&mut simulator);
    let texture = TextureDescription { filter: Filter::Linear, ..TextureDescription::new(image) };
    let handle = simulator.texture(texture).unwrap();
    for (words, coordinates, more, expected) in [
        ("2d.v4.f32.f32", ptx_floats(&[2.0, 1.25]), "", 9.0),
        ("2d.v4.f32.s32", "3, 2".to_owned(), "", 23.0),
        ("2d.v4.f32.s32", "3, 9".to_owned(), "", 23.0),
        ("2d.v4.f32.f32", ptx_floats(&[1.5, 1.5]), ", {1, -1}", 2.0),
        ("level.2d.v4.f32.f32", ptx_floats(&[1.5, 1.5]), ", 0f40000000", 11.0),
        ("grad.2d.v4.f32.f32", ptx_floats(&[1.5, 1.5]), ", {%f1, %f2}, {%f3, %f4}", 11.0),
    ] {
        let found = run(&mut simulator, handle, &tex(words, &coordinates, more)).unwrap();
        assert_eq!(floats(found), [expected, 0.0, 0.0, 0.0], "{words} {coordinates}{more}");
    }
}

#[test]
fn formats() {
    use Channels::{Float, Signed, Unsigned};
    let mut simulator = simulator();
    let bytes: [u8; 16] = [0x80, 0xff, 0x7f, 0x01, 0, 0x3c, 0, 0xc0, 1, 0, 0, 0, 0, 0, 0x80, 0x3f];
    let texels = simulator.upload(&bytes).unwrap();
    let f = |value: f32| value.to_bits();
    let one = f(1.0);
    for (channels, bits, count, x, normalized, expected) in [
        (Unsigned, 8, 4, 0, false, [0x80, 0xff, 0x7f, 1]),
        (Signed, 8, 4, 0, false, [-128i32 as u32, u32::MAX, 0x7f, 1]),
        (Unsigned, 8, 4, 0, true, [f(128.0 / 255.0), one, f(127.0 / 255.0), f(1.0 / 255.0)]),
        (Signed, 8, 2, 0, true, [f(-1.0), f(-1.0 / 127.0), 0, 0]),
        (Unsigned, 16, 2, 0, true, [f(65408.0 / 65535.0), f(383.0 / 65535.0), 0, 0]),
        (Signed, 16, 1, 0, false, [-128i32 as u32, 0, 0, 0]),
        (Float, 16, 2, 1, false, [one, f(-2.0), 0, 0]),
        (Signed, 32, 2, 1, false, [1, 0x3f80_0000, 0, 0]),
        (Float, 32, 4, 0, false, [0x017f_ff80, 0xc000_3c00, 1, one]),
    ] {
        let format = format(channels, bits, count);
        let side = 16 / format.bytes();
        let texture = TextureDescription {
            normalized_values: normalized,
            ..TextureDescription::new(Image::packed(texels.address(), format, Sides::Linear(side)))
        };
        let handle = simulator.texture(texture).unwrap();
        let ty = match (channels, normalized) {
            (Float, _) | (_, true) => "f32",
            (Signed, _) => "s32",
            _ => "u32",
        };
        let body = |x| tex(&format!("1d.v4.{ty}.s32"), &format!("{x}"), "");
        let found = run(&mut simulator, handle, &body(x)).unwrap();
        assert_eq!(found, expected, "{channels:?} {bits} {count}");
        // A fetch past the end of linear memory returns zeros.
        let found = run(&mut simulator, handle, &body(100)).unwrap();
        assert_eq!(found[0], 0);
    }
    let half = Image::packed(texels.address(), format(Float, 16, 2), Sides::One(4));
    let handle = simulator.texture(TextureDescription::new(half)).unwrap();
    let body = "tex.1d.v2.f16x2.s32 {%r4, %r5}, [%rd1, {1}];\n\
                tex.1d.v4.f16.s32 {%h1, %h2, _, %h3}, [%rd1, 1]; mov.b32 %r6, {%h1, %h2}; cvt.u32.u16 %r7, %h3;";
    let found = run(&mut simulator, handle, body).unwrap();
    assert_eq!(found, [0xc000_3c00, 0, 0xc000_3c00, 0]);
}

#[test]
fn gathers_and_queries() {
    let mut simulator = simulator();
    let image = texels(&mut simulator);
    let handle = simulator.texture(TextureDescription::new(image)).unwrap();
    let surface = simulator.surface(image).unwrap();
    let gather = |more: &str| {
        let at = ptx_floats(&[2.0, 1.0]);
        format!("tld4.r.2d.v4.f32.f32 {{%r4, %r5, %r6, %r7}}, [%rd1, {{{at}}}]{more};")
    };
    let found = run(&mut simulator, handle, &gather("")).unwrap();
    assert_eq!(floats(found), [11.0, 12.0, 2.0, 1.0]);
    let found = run(&mut simulator, handle, &gather(", {1, 1}")).unwrap();
    assert_eq!(floats(found), [22.0, 23.0, 13.0, 12.0]);
    let at = ptx_floats(&[2.5, 1.0]);
    let body = format!(
        "tex.2d.v4.f32.f32 {{%r4, _, _, _}}|%p1, [%rd1, {{{at}}}]; selp.u32 %r5, 7, 8, %p1; mov.u32 %r6, 0; mov.u32 %r7, 0;"
    );
    let found = run(&mut simulator, handle, &body).unwrap();
    assert_eq!(found, [12f32.to_bits(), 7, 0, 0]);
    let queries = "txq.width.b32 %r4, [%rd1]; txq.height.b32 %r5, [%rd1]; txq.depth.b32 %r6, [%rd1];\n\
                   txq.level.width.b32 %r7, [%rd1], 1;";
    let found = run(&mut simulator, handle, queries).unwrap();
    assert_eq!(found, [4, 3, 0, 0]);
    let queries =
        "suq.width.b32 %r4, [%rd1]; suq.height.b32 %r5, [%rd1]; suq.array_size.b32 %r6, [%rd1]; mov.u32 %r7, 0;";
    let found = run(&mut simulator, surface, queries).unwrap();
    assert_eq!(found, [4, 3, 0, 0]);
}

#[test]
fn surfaces() {
    let mut simulator = simulator();
    let data: Vec<u32> = (0..24).collect();
    let memory = simulator.upload(&data).unwrap();
    let format = format(Channels::Signed, 32, 2);
    let image = Image { layers: Some(2), ..Image::packed(memory.address(), format, Sides::Two([2, 3])) };
    let handle = simulator.surface(image).unwrap();
    let plain = Image::packed(memory.address(), format, Sides::Two([2, 3]));
    let plain = simulator.surface(plain).unwrap();
    let one = TexelFormat { count: 1, ..format };
    let one = Image::packed(memory.address(), one, Sides::Two([4, 3]));
    let one = simulator.surface(one).unwrap();
    let load = |words: &str, at: &str| {
        format!("suld.b.{words} {{%r4, %r5}}, [%rd1, {{{at}}}]; mov.u32 %r6, 0; mov.u32 %r7, 0;")
    };
    for (words, at, expected) in [
        ("a2d.v2.b32.trap", "1, 8, 2, 0", [22, 23]),
        ("a2d.v2.b32.clamp", "7, -8, 9, 0", [20, 21]),
        ("a2d.v2.b32.clamp", "0, 800, -9, 0", [2, 3]),
        ("a2d.v2.b32.zero", "0, 16, 0, 0", [0, 0]),
        ("a2d.cg.v2.b8.trap", "0, 12, 0, 0", [3, 0]),
    ] {
        let found = run(&mut simulator, handle, &load(words, at)).unwrap();
        assert_eq!(found[..2], expected, "{words} {at}");
    }
    let wide = "suld.b.a2d.b64.trap %rd3, [%rd1, {1, 8, 2, 0}]; mov.b64 {%r4, %r5}, %rd3;\n\
                mov.u32 %r6, 0; mov.u32 %r7, 0;";
    assert_eq!(run(&mut simulator, handle, wide).unwrap()[..2], [22, 23]);

    let rest = "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;";
    for (handle, body, changed, value) in [
        (handle, "sust.b.a2d.b32.trap [%rd1, {1, 4, 2, 0}], 77;", 21, 77),
        (plain, "sust.b.2d.b16.clamp [%rd1, {-2, 1}], -1;", 4, 0xffff),
        (plain, "sust.b.2d.b32.zero [%rd1, {-4, 1}], 1;", 4, 0xffff),
        (plain, "sust.p.2d.v2.b32.trap [%rd1, {1, 1}], {66, 65};", 7, 65),
        (plain, "sured.b.add.2d.u32.trap [%rd1, {4, 2}], 10;", 9, 19),
        (plain, "sured.b.min.2d.s32.trap [%rd1, {4, 2}], -1;", 9, u32::MAX),
        (plain, "sured.b.max.2d.s32.trap [%rd1, {4, 2}], 5;", 9, 5),
        (one, "sured.p.max.2d.b32.trap [%rd1, {1, 2}], -3;", 9, 5),
        (plain, "sured.b.or.2d.b32.clamp [%rd1, {4, 2}], 8;", 9, 13),
        (plain, "sured.b.max.2d.u64.trap [%rd1, {8, 2}], 0x7700000001;", 11, 0x77),
    ] {
        run(&mut simulator, handle, &format!("{body}{rest}")).unwrap();
        assert_eq!(simulator.read(memory).unwrap()[changed], value, "{body}");
    }
}

#[test]
fn invalid_uses_are_faults() {
    let mut simulator = simulator();
    let memory = simulator.upload(&[0u32; 64]).unwrap();
    let image = Image::packed(memory.address(), FLOAT, Sides::Two([4, 3]));
    let texture = simulator.texture(TextureDescription::new(image)).unwrap();
    let surface = simulator.surface(image).unwrap();
    let at = ptx_floats(&[0.0, 0.0]);
    let flat = tex("2d.v4.f32.f32", &at, "");
    let load = "suld.b.2d.b32.trap %r4, [%rd1, {2, 0}];".to_owned();
    for (handle, body, problem) in [
        (
            0,
            &flat,
            "0x0 is not the handle of a texture in kernel `k`, block (0, 0, 0), thread (0, 0, 0), PTX line 14: tex.2d",
        ),
        (surface, &flat, "is not one of a texture"),
        (texture, &load, "is not one of a surface"),
        (surface, &load, "byte 2 of a row of the surface is misaligned for 4 bytes"),
        (texture, &tex("1d.v4.f32.f32", "0f00000000", ""), "an image of Two([4, 3]) texels and None layers"),
        (texture, &tex("a2d.v4.f32.f32", &format!("0, {at}, 0f00000000"), ""), "does not fit texture"),
        (texture, &tex("2d.v4.s32.f32", &at, ""), "the texture returns floating-point numbers"),
        (surface, &load.replace("{2, 0}", "{4, 3}"), "byte 4, row 3, slice 0, layer 0 is outside the surface"),
    ] {
        let found = run(&mut simulator, handle, body).unwrap_err();
        assert!(found.contains(problem), "{found}");
    }
    let huge = Image { pitch: 1 << 63, ..image };
    assert!(simulator.surface(huge).is_err());
    simulator.free(memory).unwrap();
    let found = run(&mut simulator, texture, &flat).unwrap_err();
    assert!(found.contains(" was freed in kernel"), "{found}");
    assert!(simulator.surface(image).is_err());
    let image = Image { pitch: 8, ..image };
    let error = simulator.surface(image).unwrap_err().to_string();
    assert!(error.ends_with("a pitch of 8 bytes for rows of 16"), "{error}");
}
