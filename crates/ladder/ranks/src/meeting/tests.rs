use super::*;

/// Returns the results of `act` on each of `ranks` ranks that meet. The `missing` ranks do not connect.
pub(crate) fn meet(
    ranks: usize,
    missing: &[usize],
    limit: Duration,
    act: impl Fn(Meeting) -> Result<Vec<Vec<u8>>, Error> + Sync,
) -> Vec<Result<Vec<Vec<u8>>, String>> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let mut listener = Some(listener);
    thread::scope(|scope| {
        let come: Vec<_> = (0..ranks)
            .filter(|rank| !missing.contains(rank))
            .map(|rank| {
                let listener = if rank == 0 { listener.take() } else { None };
                let (act, address) = (&act, &address);
                scope.spawn(move || {
                    let met = Meeting::new(Share { index: rank, count: ranks }, address, listener, limit);
                    met.and_then(act).map_err(|error| error.to_string())
                })
            })
            .collect();
        come.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
    })
}

pub(crate) const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);

#[test]
fn every_rank_gets_what_each_has() {
    for ranks in [1, 2, 5] {
        let all: Vec<Vec<u8>> = (0..ranks).map(|rank| vec![rank as u8; rank * 100_000]).collect();
        let each = meet(ranks, &[], LONG, |mut meeting| {
            let own = vec![meeting.rank.index as u8; meeting.rank.index * 100_000];
            meeting.exchange(Ok(Vec::new()))?;
            meeting.exchange(Ok(own))
        });
        assert_eq!(each, vec![Ok(all); ranks]);
    }
}

#[test]
fn a_rank_that_fails_tells_all_and_once_and_for_all() {
    let each = meet(4, &[], LONG, |mut meeting| {
        let own = if meeting.rank.index == 2 { Err("no memory".to_owned()) } else { Ok(vec![1]) };
        let first = meeting.exchange(own);
        assert_eq!(first.map_err(|error| error.to_string()), Err("rank 2: no memory".to_owned()));
        meeting.exchange(Ok(vec![2]))
    });
    assert_eq!(each, vec![Err("rank 2: no memory".to_owned()); 4]);
}

#[test]
fn ranks_that_fail_alike_are_all_named() {
    for (failing, says) in
        [(&[0, 1][..], "rank 0: fault; rank 1 says the same"), (&[1, 2, 3], "rank 1: fault; ranks 2, 3 say the same")]
    {
        let each = meet(4, &[], LONG, |mut meeting| match meeting.rank.index {
            // Each a moment later than the one before.
            rank if failing.contains(&rank) => {
                thread::sleep(PAUSE * rank as u32);
                meeting.exchange(Err("fault".to_owned()))
            }
            _ => meeting.exchange(Ok(Vec::new())),
        });
        assert_eq!(each, vec![Err(says.to_owned()); 4]);
    }
}

#[test]
fn a_rank_that_never_comes_is_named_to_all_who_have() {
    let each = meet(4, &[2], SHORT, |mut meeting| meeting.exchange(Ok(Vec::new())));
    assert_eq!(each.len(), 3);
    for own in each {
        let why = own.expect_err("a rank is missing");
        assert!(why.starts_with("rank 2: did not come to 127.0.0.1:") && why.ends_with("within 150ms"), "{why}");
    }
    let alone =
        Meeting::new(Share { index: 1, count: 2 }, "127.0.0.1:1", None, SHORT).err().map(|error| error.to_string());
    assert!(alone.as_ref().is_some_and(|why| why.starts_with("rank 0: was not at 127.0.0.1:1 within")), "{alone:?}");
}

#[test]
fn a_rank_that_ends_or_is_silent_is_named() {
    for (is_silent, says) in [(false, "rank 1: has ended"), (true, "rank 1: did not answer within 150ms")] {
        let each = meet(3, &[], SHORT, |mut meeting| {
            if meeting.rank.index == 1 {
                thread::sleep(if is_silent { 2 * SHORT } else { Duration::ZERO });
                return Ok(Vec::new());
            }
            meeting.exchange(Ok(Vec::new()))
        });
        assert_eq!([&each[0], &each[2]], [&Err(says.to_owned()); 2]);
    }
    let each = meet(3, &[], LONG, |mut meeting| match meeting.rank.index {
        0 => Ok(Vec::new()),
        _ => meeting.exchange(Ok(Vec::new())),
    });
    assert_eq!(each[1..], vec![Err("rank 0: has ended".to_owned()); 2]);
}

#[test]
fn ranks_that_count_differently_and_strangers_do_not_meet() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::scope(|scope| {
        // Somebody else's connection does no harm.
        let stranger = TcpStream::connect(&address).and_then(|mut stream| stream.write_all(&[0x16; 24]));
        stranger.expect("rank 0 listens");
        let other = scope.spawn(|| Meeting::new(Share { index: 1, count: 3 }, &address, None, LONG).err());
        let first = Meeting::new(Share { index: 0, count: 2 }, &address, Some(listener), LONG).err();
        let other = other.join().expect("no rank panics");
        for error in [first, other] {
            let why = error.map(|error| error.to_string());
            assert_eq!(why.as_deref(), Some("rank 1: counts 3 ranks, and rank 0 counts 2"));
        }
    });
}

#[test]
fn a_rank_that_waits_for_something_else_is_told_by_its_watch() {
    // Rank 0 waits for rank 1, which waits for the work of rank 2, which fails: by an error, or by its end.
    for (is_error, says) in [(true, "rank 2: no memory"), (false, "rank 2: has ended")] {
        let begin = Instant::now();
        let each = meet(4, &[], LONG, |mut meeting| {
            meeting.barrier()?;
            let own = match meeting.rank.index {
                2 if is_error => Err("no memory".to_owned()),
                2 => return Ok(Vec::new()),
                1 | 3 => {
                    let mut watch = meeting.watch();
                    Err(std::iter::repeat_with(|| {
                        thread::sleep(PAUSE);
                        watch()
                    })
                    .find_map(|why| why)
                    .map_or_else(String::new, |why| format!("a kernel failed: {why}")))
                }
                _ => Ok(Vec::new()),
            };
            meeting.exchange(own)
        });
        let all = each.into_iter().enumerate().filter(|(rank, _)| is_error || *rank != 2).map(|(_, own)| own);
        assert_eq!(all.collect::<Vec<_>>(), vec![Err(says.to_owned()); if is_error { 4 } else { 3 }]);
        assert!(begin.elapsed() < LONG / 2, "{:?}", begin.elapsed());
    }
}

#[test]
fn a_watch_has_nothing_to_say_while_all_is_well() {
    let each = meet(2, &[], LONG, |mut meeting| {
        let mut watch = meeting.watch();
        if meeting.rank.index == 1 {
            meeting.exchange(Ok(vec![1]))?;
        } else {
            // The other rank's message has come, and is no failure; it stays there for the exchange.
            thread::sleep(2 * PAUSE);
            assert_eq!(watch(), None);
            assert_eq!(meeting.exchange(Ok(vec![0]))?, [[0], [1]]);
        }
        meeting.barrier()?;
        assert_eq!(watch(), None);
        meeting.barrier().map(|()| Vec::new())
    });
    assert!(each.iter().all(Result::is_ok), "{each:?}");
}
