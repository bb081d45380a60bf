/// Runs `scenario` while the process gets no new file descriptors; for a test with a process of its own.
pub fn without_descriptors<T>(scenario: impl FnOnce() -> T) -> T {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is there to be written.
    assert_eq!(
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) },
        0
    );
    set_limit(&libc::rlimit {
        rlim_cur: 0,
        ..limit
    });
    let result = scenario();
    set_limit(&limit);
    result
}

fn set_limit(limit: &libc::rlimit) {
    // SAFETY: the structure is there to be read, and open files stay open.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) }, 0);
}
