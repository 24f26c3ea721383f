"""List the numbers of the system calls that the filter names, by architecture.

Source: the kernel's ``arch/x86/entry/syscalls/syscall_64.tbl`` and, for aarch64,
``include/uapi/asm-generic/unistd.h``. By name: (x86_64, aarch64); None where an architecture has no
such call.
"""

from __future__ import annotations

Numbers = dict[str, tuple[int | None, int | None]]

REFUSED: Numbers = {
    # Other processes, and the kernel's keys, programs and measurements.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "process_mrelease": (448, 448),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Mounts and namespaces.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "sysfs": (139, None),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "lookup_dcookie": (212, 18),
    # The machine itself.
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "nfsservctl": (180, 42),
    "syslog": (103, 116),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    # Memory that belongs to no process: System V's and POSIX message queues.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # Whose turn it is on which core.
    "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
"""Answered by EPERM: ways out, also of a container."""

CHANNELS: Numbers = {
    # What another process does with a file or the machine: bots share the system's files, and
    # each of these would tell one of them what another does.
    "flock": (73, 32),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "mincore": (27, 232),
    "cachestat": (451, 451),
    "process_madvise": (440, 440),
    "sysinfo": (99, 179),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "ustat": (136, None),
    # Sessions, each of which gets a core's share of its own, and priorities.
    "setsid": (112, 157),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
"""Answered by EPERM: what an ordinary program may do, but not a bot that has siblings."""

ABSENT: Numbers = {
    "clone3": (435, 435),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "futex_waitv": (449, 449),
    "futex_wake": (454, 454),
    "futex_wait": (455, 455),
    "futex_requeue": (456, 456),
}
"""Answered by ENOSYS: clone3 and the newer futex calls hide their flags from a filter, the files of
the others are in no process's account."""

IDLE: Numbers = {
    "sync": (162, 81),
    "syncfs": (306, 267),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "sync_file_range": (277, 84),
    "msync": (26, 227),
    "readahead": (187, 213),
    "fadvise64": (221, 223),
}
"""Answered by success, and not done: a bot's files are in memory, and the disk and the page cache
are everybody's."""

NUMBERS: Numbers = {
    **REFUSED,
    **CHANNELS,
    **ABSENT,
    **IDLE,
    # Refused with some arguments.
    "clone": (56, 220),
    "fcntl": (72, 25),
    "futex": (202, 98),
    "ioctl": (16, 29),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mmap": (9, 222),
    "preadv2": (327, 286),
    "prctl": (157, 167),
    "setsockopt": (54, 208),
    "socket": (41, 198),
    "socketpair": (53, 199),
}
