use super::*;

/// Runs `act` on each of `ranks` ranks that meet, and returns the results. The `missing` ranks do not connect.
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
        let threads: Vec<_> = (0..ranks)
            .filter(|rank| !missing.contains(rank))
            .map(|rank| {
                let listener = if rank == 0 { listener.take() } else { None };
                let (act, address) = (&act, &address);
                scope.spawn(move || {
                    let meeting = Meeting::new(Share { index: rank, count: ranks }, address, listener, limit);
                    meeting.and_then(act).map_err(|error| error.to_string())
                })
            })
            .collect();
        threads.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
    })
}

pub(crate) const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);

#[test]
fn every_rank_receives_all_messages() {
    for ranks in [1, 2, 5] {
        let all: Vec<Vec<u8>> = (0..ranks).map(|rank| vec![rank as u8; rank * 100_000]).collect();
        let results = meet(ranks, &[], LONG, |mut meeting| {
            let message = vec![meeting.rank.index as u8; meeting.rank.index * 100_000];
            meeting.exchange(Ok(Vec::new()))?;
            meeting.exchange(Ok(message))
        });
        assert_eq!(results, vec![Ok(all); ranks]);
    }
}

#[test]
fn a_failure_reaches_all_ranks_and_later_exchanges() {
    let results = meet(4, &[], LONG, |mut meeting| {
        let message = if meeting.rank.index == 2 { Err("no memory".to_owned()) } else { Ok(vec![1]) };
        let first = meeting.exchange(message);
        assert_eq!(first.map_err(|error| error.to_string()), Err("rank 2: no memory".to_owned()));
        meeting.exchange(Ok(vec![2]))
    });
    assert_eq!(results, vec![Err("rank 2: no memory".to_owned()); 4]);
}

#[test]
fn ranks_with_the_same_error_are_all_named() {
    for (failing, says) in [
        (&[0, 1][..], "rank 0: fault; rank 1 reports the same error"),
        (&[1, 2, 3], "rank 1: fault; ranks 2, 3 report the same error"),
    ] {
        let results = meet(4, &[], LONG, |mut meeting| match meeting.rank.index {
            // The ranks fail one after another.
            rank if failing.contains(&rank) => {
                thread::sleep(PAUSE * rank as u32);
                meeting.exchange(Err("fault".to_owned()))
            }
            _ => meeting.exchange(Ok(Vec::new())),
        });
        assert_eq!(results, vec![Err(says.to_owned()); 4]);
    }
}

#[test]
fn a_rank_that_does_not_connect_is_reported_to_all() {
    let results = meet(4, &[2], SHORT, |mut meeting| meeting.exchange(Ok(Vec::new())));
    assert_eq!(results.len(), 3);
    for result in results {
        let why = result.expect_err("a rank is missing");
        assert!(why.starts_with("rank 2: did not connect to 127.0.0.1:") && why.ends_with("within 150ms"), "{why}");
    }
    let error =
        Meeting::new(Share { index: 1, count: 2 }, "127.0.0.1:1", None, SHORT).err().map(|error| error.to_string());
    assert!(
        error.as_ref().is_some_and(|why| why.starts_with("rank 0: was not reachable at 127.0.0.1:1 within")),
        "{error:?}"
    );
}

#[test]
fn a_rank_that_ends_or_does_not_answer_is_reported() {
    for (is_silent, says) in [(false, "rank 1: has ended"), (true, "rank 1: did not answer within 150ms")] {
        let results = meet(3, &[], SHORT, |mut meeting| {
            if meeting.rank.index == 1 {
                thread::sleep(if is_silent { 2 * SHORT } else { Duration::ZERO });
                return Ok(Vec::new());
            }
            meeting.exchange(Ok(Vec::new()))
        });
        assert_eq!([&results[0], &results[2]], [&Err(says.to_owned()); 2]);
    }
    let results = meet(3, &[], LONG, |mut meeting| match meeting.rank.index {
        0 => Ok(Vec::new()),
        _ => meeting.exchange(Ok(Vec::new())),
    });
    assert_eq!(results[1..], vec![Err("rank 0: has ended".to_owned()); 2]);
}

#[test]
fn different_rank_counts_are_rejected_and_strangers_ignored() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::scope(|scope| {
        // A connection from another program has no effect.
        let stranger = TcpStream::connect(&address).and_then(|mut stream| stream.write_all(&[0x16; 24]));
        stranger.expect("rank 0 listens");
        let other = scope.spawn(|| Meeting::new(Share { index: 1, count: 3 }, &address, None, LONG).err());
        let first = Meeting::new(Share { index: 0, count: 2 }, &address, Some(listener), LONG).err();
        let other = other.join().expect("no rank panics");
        for error in [first, other] {
            let why = error.map(|error| error.to_string());
            assert_eq!(why.as_deref(), Some("rank 1: expects 3 ranks, and rank 0 expects 2"));
        }
    });
}

#[test]
fn a_watch_reports_a_failed_rank_during_another_wait() {
    // Rank 0 waits for rank 1, which waits for the work of rank 2. Rank 2 either returns an error or exits.
    for (is_error, says) in [(true, "rank 2: no memory"), (false, "rank 2: has ended")] {
        let begin = Instant::now();
        let results = meet(4, &[], LONG, |mut meeting| {
            meeting.barrier()?;
            let message = match meeting.rank.index {
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
            meeting.exchange(message)
        });
        let all = results.into_iter().enumerate().filter(|(rank, _)| is_error || *rank != 2).map(|(_, result)| result);
        assert_eq!(all.collect::<Vec<_>>(), vec![Err(says.to_owned()); if is_error { 4 } else { 3 }]);
        assert!(begin.elapsed() < LONG / 2, "{:?}", begin.elapsed());
    }
}

#[test]
fn a_watch_reports_nothing_without_a_failure() {
    let results = meet(2, &[], LONG, |mut meeting| {
        let mut watch = meeting.watch();
        if meeting.rank.index == 1 {
            meeting.exchange(Ok(vec![1]))?;
        } else {
            // The other rank's message has arrived. This message does not report a failure, and it stays in the
            // connection for the exchange.
            thread::sleep(2 * PAUSE);
            assert_eq!(watch(), None);
            assert_eq!(meeting.exchange(Ok(vec![0]))?, [[0], [1]]);
        }
        meeting.barrier()?;
        assert_eq!(watch(), None);
        meeting.barrier().map(|()| Vec::new())
    });
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}
