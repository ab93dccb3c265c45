//! Tests of the states of a run, forward and backward.

use playground::Playground;
use serde_json::{Value, json};

/// Each thread counts to its index, at least to 1, and stores the count in global and shared memory. The lanes leave
/// the loop one after another.
pub(crate) const LOOP: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry count_to_index(.param .u64 out)\n{\n\
    .reg .pred %p;\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n.shared .align 4 .b32 tile[64];\nmov.u32 %r1, 0;\nmov.u32 %r2, %tid.x;\n\
    again:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, %r2;\n@%p bra again;\nld.param.u64 %rd1, [out];\n\
    mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r1;\nshl.b32 %r2, %r2, 2;\n\
    st.shared.u32 [%r2], %r1;\nbar.sync 0;\nret;\n}\n";

/// The lanes reach one shuffle from two branches, odd lanes from one and even lanes from the other, and wait for each
/// other.
const MEETING: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry meeting()\n{\n.reg .pred %p;\n\
    .reg .b32 %r<4>;\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p, %r2, 0;\n@%p bra even;\n\
    shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nbra done;\neven:\nshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\ndone:\n\
    add.u32 %r3, %r3, 100;\nret;\n}\n";

fn ask(playground: &mut Playground, request: &Value) -> Value {
    let mut answer: Value = serde_json::from_str(&playground.answer(&request.to_string())).expect("an answer is JSON");
    assert!(answer["problem"].is_null(), "{request}: {answer}");
    answer["ok"].take()
}

fn problem(playground: &mut Playground, request: &Value) -> Value {
    let mut answer: Value = serde_json::from_str(&playground.answer(&request.to_string())).expect("an answer is JSON");
    assert!(answer["ok"].is_null(), "{request}: {answer}");
    answer["problem"].take()
}

/// Returns a playground that has run one block of a kernel, and its answer.
fn run(ptx: &str, threads: u32, arguments: &Value) -> (Playground, Value) {
    let mut playground = Playground::default();
    let request =
        json!({ "ask": "pasted", "ptx": ptx, "grid": [1, 1, 1], "block": [threads, 1, 1], "arguments": arguments });
    let done = ask(&mut playground, &request);
    (playground, done)
}

fn view(playground: &mut Playground, step: u64, warp: u32) -> Value {
    ask(playground, &json!({ "ask": "view", "step": step, "warp": warp }))
}

/// Returns the number of a register in the views of a run.
fn register(done: &Value, name: &str) -> usize {
    let all = done["listing"]["functions"][0]["registers"].as_array().expect("a list");
    all.iter().position(|register| register["name"] == name).expect("the kernel has this register")
}

fn go(playground: &mut Playground, step: u64, back: bool, to: &Value) -> u64 {
    let found = ask(playground, &json!({ "ask": "go", "step": step, "warp": 0, "back": back, "to": to }));
    found.as_u64().expect("there is such a step")
}

fn looped() -> (Playground, Value) {
    run(LOOP, 64, &json!([{ "type": "u32", "buffer": 64, "value": "unset" }]))
}

#[test]
fn states_match_the_simulator_forward_and_backward() {
    let (mut playground, done) = looped();
    let (last, counter) = (done["steps"].as_u64().expect("a number") - 1, register(&done, "%r1"));
    let end = view(&mut playground, last, 1);
    assert_eq!(end["registers"][counter], json!((32..64).collect::<Vec<u32>>()));
    assert_eq!(end["warps"][0]["activity"], "has ended");
    assert_eq!(end["exited"], u32::MAX);

    // In the third round, lanes 0 to 2 of warp 0 have left the loop. The other lanes run with a separate entry of the
    // stack.
    let adds = json!({ "at": [0, 2] });
    let mut rounds = vec![0];
    for _ in 0..3 {
        let next = go(&mut playground, rounds[rounds.len() - 1], false, &adds);
        rounds.push(next);
    }
    let third = view(&mut playground, rounds[3], 0);
    assert_eq!(third["active"], !0b111_u32);
    let stack = third["stack"].as_array().expect("a list");
    assert_eq!((&stack[0]["lanes"], &stack[stack.len() - 1]["lanes"]), (&json!(u32::MAX), &json!(!0b111_u32)));
    assert!(stack.len() > 1 && stack[0]["until"].is_null() && stack[1]["until"] == 5, "{stack:?}");
    let values = |view: &Value| [0, 1, 2, 5].map(|lane| view["registers"][counter][lane].clone());
    assert_eq!(values(&third), [1, 1, 2, 3].map(Value::from));
    assert_eq!(third["writes"], json!([counter]));

    // After going back, the values are those of the earlier steps, also before the first round.
    assert_eq!(go(&mut playground, rounds[3], true, &adds), rounds[2]);
    let second = view(&mut playground, rounds[2], 0);
    assert_eq!(values(&second), [1, 1, 2, 2].map(Value::from));
    assert_eq!(view(&mut playground, 0, 0)["registers"][counter], 0);
    assert_eq!(go(&mut playground, last, true, &json!("end")), 0);

    // Shared memory holds zeros before the stores, and the counts after them. The first warp waits for the second.
    let words = |playground: &Playground, step: u64| {
        let mut words = Vec::new();
        playground.shared(step as u32, &mut words);
        words
    };
    assert_eq!(words(&playground, last), (0..64).map(|number| number.max(1)).collect::<Vec<u32>>());
    assert_eq!(words(&playground, rounds[3]), [0; 64]);
    let stored = go(&mut playground, 0, false, &json!("shared"));
    assert_eq!(words(&playground, stored)[31], 31);
    assert_eq!(view(&mut playground, stored, 0)["requests"][0]["wavefronts"].as_array().map(Vec::len), Some(1));
    let barrier = go(&mut playground, stored, false, &json!("barrier"));
    assert_eq!(view(&mut playground, barrier + 1, 0)["warps"][0]["activity"], "waits at barrier 0");
    assert_eq!(view(&mut playground, last, 0)["warps"][0]["activity"], "has ended");
    let overview = playground.overview(10);
    // Lanes leave the loop one by one. The second warp starts after the first.
    assert!(overview.len() == 20 && overview[0] > overview[2] && overview[10] == 0, "{overview:?}");

    let out = done["buffers"][0]["after"].as_str().expect("digits");
    assert_eq!(&out[..24], "010000000100000002000000");
    assert_eq!(done["counters"][0]["value"], 1.0);
    assert_eq!(ask(&mut playground, &json!({ "ask": "check" }))["findings"], json!([]));
}

#[test]
fn waiting_lanes_get_their_values_when_all_lanes_have_arrived() {
    let (mut playground, done) = run(MEETING, 32, &json!([]));
    let (last, result) = (done["steps"].as_u64().expect("a number") - 1, register(&done, "%r3"));
    let mut shuffles = Vec::new();
    for step in 0..=last {
        let view = view(&mut playground, step, 0);
        let is_shuffle = view["writes"] == json!([result]) && view["active"] != json!(u32::MAX);
        if is_shuffle {
            shuffles.push((step, view["registers"][result].clone()));
        }
    }
    let [(_, first), (_, second)] = &shuffles[..] else { panic!("{shuffles:?}") };
    let exchanged: Vec<u32> = (0..32).map(|lane| lane ^ 1).collect();
    assert_ne!(*first, json!(exchanged), "the first lanes wait");
    assert_eq!(*second, json!(exchanged));
    let added: Vec<u32> = exchanged.iter().map(|value| value + 100).collect();
    assert_eq!(view(&mut playground, last, 0)["registers"][result], json!(added));
}

#[test]
fn errors_have_messages_and_lines() {
    let mut playground = Playground::default();
    let kernels = |ptx: &str| json!({ "ask": "kernels", "ptx": ptx });
    let found = problem(&mut playground, &kernels(&LOOP.replace(".reg .b32 %r<3>;", ".reg .b32 r%<3>;")));
    assert_eq!(found["line"], 7, "{found}");
    let listed = ask(&mut playground, &kernels(&LOOP.replace("setp.lt.u32", "setp.lst.u32")));
    assert_eq!(listed[0]["problem"]["line"], 14, "{listed}");
    assert!(problem(&mut playground, &kernels(""))["text"].is_string());

    let pasted = |change: (&str, Value)| {
        let mut request = json!({
            "ask": "pasted", "ptx": LOOP, "grid": [1, 1, 1], "block": [64, 1, 1],
            "arguments": [{ "type": "u32", "buffer": 64, "value": "zeros" }],
        });
        request[change.0] = change.1;
        request
    };
    let buffer = |kind: &str, count: u64, value: &str| json!([{ "type": kind, "buffer": count, "value": value }]);
    for (change, words) in [
        (("arguments", json!([])), "the kernel has 1 parameters, but 0 arguments are given"),
        (("arguments", json!([{ "type": "u32", "value": "1" }])), "argument 0 has 4 bytes"),
        (("arguments", json!([{ "type": "u64", "value": "-x" }])), "`-x` is not a number of type u64"),
        (("arguments", json!([{ "type": "u8", "value": "bytes:0g" }])), "`bytes:0g` is not a number of type u8"),
        (("arguments", json!([{ "type": "u8", "value": "256" }])), "`256` is not a number of type u8"),
        (("arguments", buffer("f16", 3, "zeros")), "`f16` is not a supported type"),
        (("arguments", buffer("u32", 1 << 40, "zeros")), "the limit is 4194304 elements"),
        (("arguments", buffer("u32", 2, "1 2 3")), "3 numbers are too many for 2 elements"),
        (("grid", json!([0, 1, 1])), "grid"),
        (("grid", json!([u32::MAX, u32::MAX, u32::MAX])), "grid"),
        (("block", json!([2048, 1, 1])), "1024"),
        (("shared", json!(1 << 30)), "shared memory"),
        (("record", json!(1)), "no block 1"),
        (("kernel", json!("other")), "no kernel `other`"),
    ] {
        let answer = problem(&mut playground, &pasted(change.clone()));
        assert!(answer["text"].as_str().is_some_and(|text| text.contains(words)), "{change:?}: {answer}");
    }
    assert!(problem(&mut playground, &json!({ "ask": "view", "step": 0, "warp": 0 }))["text"].is_string());
    assert!(problem(&mut playground, &json!({ "ask": "dance" }))["text"].is_string());
    ask(&mut playground, &pasted(("kernel", json!(""))));
    let answer = problem(&mut playground, &json!({ "ask": "view", "step": 0, "warp": 7 }));
    assert_eq!(answer["text"], "there is no warp 7: the block has warps 0 to 1");
}

#[test]
fn failed_launches_keep_their_recording() {
    let arguments = json!([{ "type": "u32", "buffer": 64, "value": "zeros" }]);
    let (mut playground, done) = run(&LOOP.replace("[%rd1], %r1", "[%rd1+4096], %r1"), 64, &arguments);
    let text = done["fault"]["text"].as_str().expect("a fault");
    assert!(text.contains("out of bounds write of 4 bytes"), "{text}");
    let last = view(&mut playground, done["steps"].as_u64().expect("a number") - 1, 0);
    let at = last["site"][1].as_u64().expect("a program counter") as usize;
    assert_eq!(done["listing"]["functions"][0]["code"][at]["ptx"], done["fault"]["line"]);
    let findings = ask(&mut playground, &json!({ "ask": "check" }));
    assert_eq!(findings["findings"][0]["check"], "memory");

    let endless = LOOP.replace("@%p bra again", "bra again");
    let (_, done) = run(&endless, 32, &arguments);
    assert!(
        done["fault"]["text"].as_str().is_some_and(|text| text.contains("8388608 instructions")),
        "{}",
        done["fault"]
    );
    assert_eq!((&done["steps"], &done["cut"]), (&json!(1 << 20), &json!(true)));
}
