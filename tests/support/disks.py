"""A disk of a test: an ext4 in a file, on a loop device, which can lose its power and be full.  Only root can mount.

    disk = Disk(folder, "m1", 1024)     # below an ending.Folder, with which it ends
    disk.lose_power()                   # what ran there is killed, and what was not synced is gone
    disk.mount()                        # power is back
    disk.fill(); disk.empty()

The kernel's own shutdown of a file system (FS_IOC_SHUTDOWN without a flush of its log) drops what is in memory alone, as a power
failure does.  What the kernel has written back by then stays.
"""
import fcntl
import os
import struct
import subprocess

import ending

FS_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
MIB = 1 << 20


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.stderr.strip()}")


def lacking():
    """Why there can be no disks; "" where there can."""
    if os.geteuid() != 0:
        return "mounts are root's to make"
    return "" if os.path.exists("/dev/loop-control") else "the kernel has no loop devices"


class Disk:
    """`path` is where it is mounted: a folder of ending.account()."""

    def __init__(self, folder, name, size):
        """`size` in MiB, of which the file takes what is used."""
        self.path, self.image = os.path.join(folder.path, name), os.path.join(folder.path, name + ".ext4")
        os.mkdir(self.path)
        with open(self.image, "wb") as image:
            image.truncate(size * MIB)
        run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1", self.image)
        self.mount()
        ending.own(self.path)

    def mount(self):
        run("mount", "-o", "loop", self.image, self.path)

    def sync(self):
        run("sync", "--file-system", self.path)

    def lose_power(self):
        ending.kill_below(self.path)
        ending.forget_memory(self.path)
        where = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(where, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(where)
        ending.eventually(self.unmount, f"{self.path} is unmounted")

    def unmount(self):
        return subprocess.run(["umount", self.path], capture_output=True, check=False).returncode == 0

    def fill(self):
        """Takes all that is free."""
        with open(os.path.join(self.path, "full"), "wb") as full:
            for piece in (64 * MIB, MIB, 4096):
                try:
                    while True:
                        os.posix_fallocate(full.fileno(), os.fstat(full.fileno()).st_size, piece)
                except OSError:
                    pass

    def empty(self):
        os.unlink(os.path.join(self.path, "full"))
